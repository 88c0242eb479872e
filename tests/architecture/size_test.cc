// Folders and files that a reader can hold in mind. The lists of exceptions only shrink.
#include <map>

#include "gtest/gtest.h"
#include "tests/architecture/source_tree.h"

namespace drover::architecture {
namespace {

constexpr int kFileLines = 600;
constexpr int kFolderSources = 15;

// Folders that have more, and how many they may have.
const std::map<std::string, int> kFullFolders = {
    {"plugins/cli", 28},
    {"plugins/plugin_programs", 20},
    {"plugins/jobs", 16},
    {"sdk/hcl", 34},
};
// Files that are longer: none.
const std::map<std::string, int> kLongFiles;
// Headers that include generated messages where a forward declaration might do, by folder.
const std::map<std::string, int> kMessagesInHeaders = {
    {"csi/protocol", 2},
    {"csi/volumes", 1},
    {"csi/volumes/claims", 1},
    {"drivers/mock", 1},
    {"kernel/rpc", 2},
    {"plugins/agent", 3},
    {"plugins/agent/node_devices", 2},
    {"plugins/agent/hooks", 1},
    {"plugins/agent/runner", 2},
    {"plugins/autopilot", 1},
    {"plugins/deployments", 1},
    {"plugins/drain", 1},
    {"plugins/plugin_programs", 3},
    {"plugins/plugin_programs/kinds", 5},
    {"plugins/grpc", 2},
    {"plugins/http", 1},
    {"plugins/jobs", 2},
    {"plugins/networks", 1},
    {"plugins/networks/native", 1},
    {"plugins/nodes", 2},
    {"plugins/scheduler", 8},
    {"plugins/scheduler/deciding", 5},
    {"plugins/scheduler/placing", 11},
    {"plugins/scheduler/settings", 2},
    {"plugins/scheduler/volumes", 2},
    {"plugins/snapshots", 2},
    {"plugins/status", 2},
    {"sdk/encoding", 1},
    {"sdk/serve", 1},
};

std::string folder_of(const SourceFile& file) { return std::filesystem::path(file.path).parent_path(); }

bool is_product(const SourceFile& file) {
  for (const char* part : {"tests/", "_test.", "_fuzz.", "/testing/", "test_support"}) {
    if (file.path.find(part) != std::string::npos) return false;
  }
  return true;
}

// Returns the counts above what is allowed, and the exceptions that are needed no longer.
std::vector<std::string> problems(const std::map<std::string, int>& counts, int limit,
                                  const std::map<std::string, int>& exceptions) {
  std::vector<std::string> all;
  for (const auto& [folder, count] : counts) {
    const auto exception = exceptions.find(folder);
    const int allowed = exception == exceptions.end() ? limit : exception->second;
    if (count > allowed) all.push_back(folder + ": " + std::to_string(count) + ", at most " + std::to_string(allowed));
  }
  for (const auto& [folder, allowed] : exceptions) {
    const auto count = counts.find(folder);
    if (count == counts.end() || count->second <= limit)
      all.push_back(folder + ": is within the limit; take it off the list");
  }
  return all;
}

TEST(Size, NoFileIsLongerThanTwoConcepts) {
  std::map<std::string, int> counts;
  for (const SourceFile& file : sources()) counts[file.path] = static_cast<int>(std::ranges::count(file.text, '\n'));
  ASSERT_GT(counts.size(), 500u);
  EXPECT_EQ(lines(problems(counts, kFileLines, kLongFiles)), "");
}

TEST(Size, AFolderHoldsAboutFifteenSources) {
  std::map<std::string, int> counts;
  for (const SourceFile& file : sources()) {
    if (file.path.ends_with(".cc") && is_product(file)) ++counts[folder_of(file)];
  }
  ASSERT_GT(counts.size(), 20u);
  EXPECT_EQ(lines(problems(counts, kFolderSources, kFullFolders)), "") << "a concept inside wants a folder of its own";
}

TEST(Size, HeadersForwardDeclareMessages) {
  std::map<std::string, int> counts;
  for (const SourceFile& file : sources()) {
    if (!file.path.ends_with(".h") || !is_product(file)) continue;
    const std::vector<Include> includes = includes_of(file.text);
    if (std::ranges::any_of(includes, [](const Include& i) { return i.name.ends_with(".pb.h"); }))
      ++counts[folder_of(file)];
  }
  EXPECT_EQ(lines(problems(counts, 0, kMessagesInHeaders)), "");
}

TEST(Size, TellsAnExceptionThatIsNeededNoLonger) {
  EXPECT_EQ(lines(problems({{"a", 3}, {"b", 5}}, 3, {{"b", 5}})), "");
  EXPECT_EQ(lines(problems({{"a", 4}}, 3, {})), "a: 4, at most 3\n");
  EXPECT_EQ(lines(problems({{"b", 3}}, 3, {{"b", 5}})), "b: is within the limit; take it off the list\n");
}

}  // namespace
}  // namespace drover::architecture
