// The SDK's layers: each header has one, and an include points at the same layer or one below.
#include <map>

#include "gtest/gtest.h"
#include "tests/architecture/source_tree.h"

namespace drover::architecture {
namespace {

// How high a layer stands. Those of one height do not use each other.
const std::map<std::string, int> kHeights = {{"base", 0},   {"config", 1}, {"model", 2},   {"module", 3},
                                             {"driver", 4}, {"api", 4},    {"program", 5}, {"testing", 6}};
// The layer of each folder of sources in sdk/; the others serve no layer.
const std::map<std::string, std::string> kFolders = {
    {"base", "base"},       {"encoding", "base"}, {"config", "config"},     {"hcl", "config"},
    {"model", "model"},     {"module", "module"}, {"extensions", "module"}, {"driver", "driver"},
    {"launcher", "driver"}, {"api", "api"},       {"serve", "program"},     {"plugin_programs", "program"},
    {"jose", "program"},
    {"testing", "testing"}};

// By path in sdk/, as layers.txt says.
std::map<std::string, std::string> layers() {
  std::map<std::string, std::string> of;
  for (const std::string& line : split(read_text(std::filesystem::path(DROVER_SOURCE_ROOT) / "sdk/layers.txt"), '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::vector<std::string> words = split(line, ' ');
    EXPECT_TRUE(words.size() == 2 && kHeights.contains(words[0])) << line;
    EXPECT_TRUE(of.emplace(words.back(), words[0]).second) << words.back() << " is there twice";
  }
  return of;
}

bool may_use(const std::string& user, const std::string& used) {
  return user == used || kHeights.at(used) < kHeights.at(user);
}

// The file in sdk/ behind an include; empty for one of another place.
std::string target_of(const Include& include) {
  if (!include.is_quoted || !(include.name.starts_with("drover/") || include.name.starts_with("nomad/"))) return {};
  if (include.name.ends_with(".pb.h")) return "proto/" + include.name.substr(0, include.name.size() - 5) + ".proto";
  return "include/" + include.name;
}

// Includes of a layer that this one may not use.
std::vector<std::string> upward(const SourceFile& file, const std::string& layer,
                                const std::map<std::string, std::string>& of) {
  std::vector<std::string> found;
  for (const Include& include : includes_of(file.text)) {
    const auto target = of.find(target_of(include));
    if (target != of.end() && !may_use(layer, target->second))
      found.push_back(file.path + ":" + std::to_string(include.line) + " (" + layer + ") includes " + include.name +
                      " (" + target->second + ")");
  }
  return found;
}

TEST(Layers, EachHeaderAndMessageDefinitionHasOne) {
  const auto of = layers();
  std::vector<std::string> missing;
  size_t count = 0;
  for (const char* folder : {"sdk/include", "sdk/proto"}) {
    for (const SourceFile& file : files_below(folder, {".h", ".proto"})) {
      ++count;
      if (!of.contains(file.path.substr(4))) missing.push_back(file.path);
    }
  }
  EXPECT_EQ(lines(missing), "") << "name the layer in sdk/layers.txt";
  EXPECT_EQ(of.size(), count) << "sdk/layers.txt names files that are not there";
}

TEST(Layers, UseThoseBelow) {
  const auto of = layers();
  std::vector<std::string> found;
  for (const SourceFile& file : sources()) {
    const std::vector<std::string> parts = split(file.path, '/');
    if (parts[0] != "sdk" || file.path.ends_with("_test.cc") || file.path.ends_with("_fuzz.cc")) continue;
    const auto folder = kFolders.find(parts[1]);
    const auto header = of.find(file.path.substr(4));
    if (folder == kFolders.end() && header == of.end()) continue;
    const std::string& layer = header != of.end() ? header->second : folder->second;
    std::ranges::copy(upward(file, layer, of), std::back_inserter(found));
  }
  EXPECT_EQ(lines(found), "");

  EXPECT_TRUE(may_use("model", "base"));
  EXPECT_FALSE(may_use("base", "model"));
  EXPECT_FALSE(may_use("driver", "api"));
  const SourceFile bad = {"sdk/base/log.cc", "#include \"drover/model/job.h\"\n"};
  EXPECT_EQ(upward(bad, "base", of).size(), 1u);
}

// A plugin that says what it uses uses nothing else: else an edit there would not be noticed when it is loaded.
TEST(Layers, PluginsUseThoseThatTheyName) {
  const auto of = layers();
  std::vector<std::string> found;
  size_t count = 0;
  std::vector<SourceFile> lists;
  for (const char* house : {"plugins", "drivers", "devices", "checks", "auth", "csi"})
    std::ranges::copy(files_below(house, {".txt"}), std::back_inserter(lists));
  for (const SourceFile& list : lists) {
    const size_t begin = list.text.find("drover_add_plugin(");
    if (begin == std::string::npos) continue;
    const std::string call = list.text.substr(begin, list.text.find(')', begin) - begin);
    const size_t named = call.find(" LAYERS ");
    if (named == std::string::npos) continue;
    ++count;
    const std::string names = " " + call.substr(named + 8, call.find('\n', named) - named - 8) + " ";
    const std::string folder = std::filesystem::path(list.path).parent_path();
    for (const SourceFile& file : files_below(folder, {".h", ".cc"})) {
      for (const Include& include : includes_of(file.text)) {
        const auto target = of.find(target_of(include));
        if (target == of.end() || (target->second != "api" && target->second != "driver")) continue;
        if (names.find(" " + target->second + " ") == std::string::npos && !file.path.ends_with("_test.cc") &&
            file.path.find("/testing/") == std::string::npos)
          found.push_back(file.path + " includes " + include.name + ": LAYERS lacks " + target->second);
      }
    }
  }
  EXPECT_GT(count, 10u) << "no plugin was found";
  EXPECT_EQ(lines(found), "");
}

}  // namespace
}  // namespace drover::architecture
