#include "discovery.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "drover/config.h"
#include "plugin_file.h"

namespace drover::plugin_programs {
namespace {

namespace fs = std::filesystem;

}  // namespace

Discovered discover(const std::vector<std::string>& folders, const ConfigBlock& configuration) {
  Discovered out;
  std::map<std::string, std::string> files;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string path = fs::absolute(entry.path(), ignored).string();
      const std::string name = entry.path().filename().string();
      struct stat found {};
      if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode) || (found.st_mode & S_IXUSR) == 0) continue;
      if (name.starts_with('.') || name.ends_with(".so")) continue;
      if (Status status = check_file(path); !status.ok()) {
        out.problems.push_back(std::move(status));
      } else {
        files.try_emplace(name, path);
      }
    }
  }
  for (auto& [name, path] : files) {
    const ConfigBlock* block = configuration.block("plugin", name);
    if (const std::string kind = block ? block->string("kind") : std::string(); !kind.empty()) {
      out.problems.push_back(failed_precondition(path + ": plugin \"" + name + "\" at " + block->place.to_string() +
                                                 " is of the kind " + kind + ": give one of them another name"));
      continue;
    }
    if (block && !block->boolean("enabled", true)) continue;
    out.programs.push_back({.file = path, .settings = settings_of(configuration, name)});
  }
  return out;
}

}  // namespace drover::plugin_programs
