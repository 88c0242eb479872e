// A plugin's folder reads the same everywhere.
#include <nlohmann/json.hpp>

#include "gtest/gtest.h"
#include "tests/architecture/source_tree.h"

namespace drover::architecture {
namespace {

// Returns the fault in a folder's manifest; empty when there is none.
std::string manifest_problem(const std::string& folder, const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return folder + "/plugin.json: is no JSON object";
  for (const char* key : {"name", "version", "sdk", "tier", "kind", "summary"}) {
    const auto at = json.find(key);
    if (at == json.end() || !at->is_string()) return folder + "/plugin.json: " + key + " is missing";
  }
  // Names are one namespace, and "http" is a plugin already: a check provider is named with its house.
  const std::string last = std::filesystem::path(folder).filename();
  const std::string expected = folder.starts_with("checks/") ? "check_" + last : last;
  if (json["name"] != expected) {
    return folder + "/plugin.json: names the plugin " + json["name"].get<std::string>() + ", its folder " + expected;
  }
  return {};
}

// The folders that CMake makes a plugin of.
std::vector<std::string> plugin_folders() {
  std::vector<std::string> folders;
  for (const char* top : {"plugins", "drivers", "csi", "devices", "checks", "auth"}) {
    for (const SourceFile& file : files_below(top, {".txt"})) {
      if (file.text.find("drover_add_plugin(") != std::string::npos)
        folders.push_back(std::filesystem::path(file.path).parent_path());
    }
  }
  return folders;
}

TEST(PluginFolders, EachHasAManifestThatBearsItsName) {
  const std::vector<std::string> folders = plugin_folders();
  ASSERT_GT(folders.size(), 5u);

  std::vector<std::string> problems;
  for (const std::string& folder : folders) {
    const std::filesystem::path path = std::filesystem::path(DROVER_SOURCE_ROOT) / folder / "plugin.json";
    if (!std::filesystem::exists(path)) {
      problems.push_back(folder + ": has no plugin.json");
    } else if (std::string problem = manifest_problem(folder, read_text(path)); !problem.empty()) {
      problems.push_back(problem);
    }
  }
  EXPECT_EQ(lines(problems), "");
}

TEST(PluginFolders, EveryManifestBelongsToAPlugin) {
  const std::vector<std::string> folders = plugin_folders();

  for (const char* top : {"plugins", "drivers", "csi", "devices", "checks", "auth"}) {
    for (const SourceFile& file : files_below(top, {".json"})) {
      const std::filesystem::path path = file.path;
      if (path.filename() != "plugin.json") continue;
      EXPECT_NE(std::ranges::find(folders, path.parent_path().string()), folders.end()) << file.path;
    }
  }
}

TEST(PluginFolders, TellWhatIsWrongWithAManifest) {
  const std::string rest = R"("version":"1","sdk":"0.1","tier":"exact","kind":"module","summary":"x"})";

  EXPECT_EQ(manifest_problem("plugins/jobs", R"({"name":"jobs",)" + rest), "");
  EXPECT_EQ(manifest_problem("plugins/jobs", "{"), "plugins/jobs/plugin.json: is no JSON object");
  EXPECT_EQ(manifest_problem("plugins/jobs", "[]"), "plugins/jobs/plugin.json: is no JSON object");
  EXPECT_EQ(manifest_problem("plugins/jobs", "{" + rest), "plugins/jobs/plugin.json: name is missing");
  EXPECT_EQ(manifest_problem("plugins/jobs", R"({"name":"job",)" + rest),
            "plugins/jobs/plugin.json: names the plugin job, its folder jobs");
}

}  // namespace
}  // namespace drover::architecture
