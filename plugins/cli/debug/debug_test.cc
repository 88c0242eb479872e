#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "debug/bundle.h"
#include "debug/captures.h"

namespace drover::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

TEST(Captures, AreOfTheAgentsThatAreChosen) {
  const std::vector<Target> there = {{"aa11", "aa11"}, {"aa22", "aa22"}, {"bb11", "one"}};
  const struct {
    const char* word;
    size_t most;
    const char* ids;  // or what is wrong
  } cases[] = {
      {"all", 0, "aa11 aa22 bb11 "},
      {"all", 2, "aa11 aa22 "},
      {"aa", 0, "aa11 aa22 "},
      {"one,aa2", 0, "bb11 aa22 "},
      {"aa2,aa", 0, "aa22 aa11 "},
      {"aa11,,", 0, "aa11 "},
      {"aa11,cc", 0, "\"cc\" is none of the agents that are there"},
      {"", 0, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.word);
    const auto targets = chosen(there, c.word, c.most);
    std::string ids = targets ? "" : targets.status().message();
    if (targets) {
      for (const Target& target : *targets) ids += target.id + " ";
    }
    EXPECT_EQ(ids, c.ids);
  }
}

TEST(Captures, AreRepeatedWhileTheTimeLasts) {
  EXPECT_EQ(rounds(seconds(120), seconds(30)), 4U);
  EXPECT_EQ(rounds(seconds(10), seconds(30)), 1U);
  EXPECT_EQ(rounds(seconds(30), seconds(30)), 1U);
  EXPECT_EQ(rounds(seconds(31), seconds(30)), 2U);
  EXPECT_EQ(bundle_name(1'795'902'300'000'000'000), "drover-debug-2026-11-28-214500Z");
}

TEST(Captures, MakeFileNamesOfNames) {
  EXPECT_EQ(file_name("node-1.global"), "node-1.global");
  EXPECT_EQ(file_name("../../etc/passwd"), "_.._.._etc_passwd");
  EXPECT_EQ(file_name(".."), "_..");
  EXPECT_EQ(file_name(""), "_");
}

class BundleOf : public ::testing::Test {
 protected:
  BundleOf() {
    std::string name = fs::temp_directory_path() / "bundle-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~BundleOf() override { fs::remove_all(folder_); }
  static std::string text_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static unsigned mode_of(const fs::path& path) {
    struct stat is {};
    EXPECT_EQ(::stat(path.c_str(), &is), 0);
    return is.st_mode & 0777U;
  }
  fs::path folder_;
};

TEST_F(BundleOf, FilesIsListedAndPacked) {
  const fs::path inside = folder_ / "a";
  auto bundle = Bundle::create(inside);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ(mode_of(inside), 0700U);
  EXPECT_EQ(Bundle::create(inside).status().code(), Code::already_exists);
  (*bundle)->add("server/one/monitor.log", "first\n");
  (*bundle)->add("server/one/monitor.log", "second\n");
  (*bundle)->note_failure("cluster/raft.json", invalid_argument("no"));
  ASSERT_TRUE((*bundle)->finish({{"Version", "1"}}).ok());
  EXPECT_EQ(text_of(inside / "server/one/monitor.log"), "first\nsecond\n");
  const auto index = nlohmann::json::parse(text_of(inside / "index.json"));
  EXPECT_EQ(index["Files"]["server/one/monitor.log"], 13);
  EXPECT_EQ(index["Failures"]["cluster/raft.json"], "no");
  const fs::path archive = folder_ / "a.tar.gz";
  ASSERT_TRUE((*bundle)->pack(archive).ok());
  EXPECT_EQ(mode_of(archive), 0600U);
  EXPECT_EQ((*bundle)->pack(archive).code(), Code::already_exists);
  EXPECT_EQ(std::system(("cd " + folder_.string() + " && mkdir out && tar -xzf a.tar.gz -C out").c_str()), 0);
  EXPECT_EQ(text_of(folder_ / "out/a/server/one/monitor.log"), "first\nsecond\n");
  EXPECT_EQ(text_of(folder_ / "out/a/index.json"), text_of(inside / "index.json"));
}

TEST_F(BundleOf, FilesSaysWhatTheDiskRefuses) {
  EXPECT_NE(Bundle::create(folder_ / "no/such/folder").status().message().find("No such file"), std::string::npos);
  auto bundle = Bundle::create(folder_ / "b");
  ASSERT_TRUE(bundle.ok());
  (*bundle)->add("file", "x");
  (*bundle)->add("file/below", "x");  // a file is no folder
  EXPECT_FALSE((*bundle)->finish(nlohmann::json::object()).ok());
}

}  // namespace
}  // namespace drover::cli
