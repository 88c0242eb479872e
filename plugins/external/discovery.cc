#include "discovery.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "drover/config.h"

namespace drover::external {
namespace {

namespace fs = std::filesystem;

Status check_file(const std::string& path, const struct stat& found) {
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return permission_denied("plugin " + path + " can be changed by its group or by others: chmod go-w " + path);
  }
  return ok_status();
}

}  // namespace

std::optional<hcl::Value> config_of(const ConfigBlock& configuration, std::string_view plugin) {
  const ConfigBlock* const block = configuration.block("plugin", plugin);
  const ConfigBlock* const config = block ? block->block("config") : nullptr;
  if (!config) return {};
  return value_of(*config);
}

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
      if (Status status = check_file(path, found); !status.ok()) {
        out.problems.push_back(std::move(status));
      } else {
        files.try_emplace(name, path);
      }
    }
  }
  for (auto& [name, path] : files) {
    PluginProgram program{.file = path, .config = config_of(configuration, name)};
    if (const ConfigBlock* block = configuration.block("plugin", name)) {
      if (!block->boolean("enabled", true)) continue;
      program.arguments = block->string_list("args");
      program.asks_for_tls = block->boolean("auto_mtls", false);
    }
    out.programs.push_back(std::move(program));
  }
  return out;
}

}  // namespace drover::external
