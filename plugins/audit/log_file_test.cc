#include "log_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sdk/testing/fake_host.h"

namespace drover::audit {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class LogFileTest : public ::testing::Test {
 protected:
  ~LogFileTest() override { fs::remove_all(folder_); }
  LogFileOptions options() const { return {.path = folder_ + "/logs/audit.log"}; }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_ + "/logs")) all.push_back(entry.path().filename());
    std::ranges::sort(all);
    return all;
  }
  std::string content(const std::string& name) const {
    std::ifstream file(folder_ + "/logs/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const std::string folder_ = fs::path(::testing::TempDir()) / ("audit." + std::to_string(::getpid()));
  testing::ForwardClock clock_;
};

TEST_F(LogFileTest, IsItsOwnersAlone) {
  LogFile file(options(), clock_);
  ASSERT_TRUE(file.open().ok());
  ASSERT_TRUE(file.add("one\n").ok());
  struct stat found {};
  ASSERT_EQ(::stat((folder_ + "/logs/audit.log").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat((folder_ + "/logs").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0700u);
  LogFile again(options(), clock_);  // a later life adds
  ASSERT_TRUE(again.open().ok() && again.add("two\n").ok());
  EXPECT_EQ(content("audit.log"), "one\ntwo\n");
}

TEST_F(LogFileTest, IsPutAwayWhenItIsLarge) {
  LogFileOptions few = options();
  few.rotate_bytes = 10;
  few.kept = 2;
  LogFile file(few, clock_);
  ASSERT_TRUE(file.open().ok());
  for (const char* line : {"aaaaaaa\n", "bbbbbbb\n", "ccccccc\n", "ddddddd\n", "longer than the file may be\n"})
    ASSERT_TRUE(file.add(line).ok());
  const auto all = names();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(content(all[0]), "ccccccc\n");
  EXPECT_EQ(content(all[1]), "ddddddd\n");
  EXPECT_EQ(content("audit.log"), "longer than the file may be\n");
}

TEST_F(LogFileTest, GoesOnWhenSomebodyElseMovesIt) {
  LogFileOptions few = options();
  few.rotate_bytes = 10;
  LogFile file(few, clock_);
  ASSERT_TRUE(file.open().ok());
  ASSERT_TRUE(file.add("aaaaaaa\n").ok());
  fs::rename(folder_ + "/logs/audit.log", folder_ + "/logs/moved");
  ASSERT_TRUE(file.add("bbbbbbb\n").ok());
  EXPECT_EQ(content("audit.log"), "bbbbbbb\n");
}

TEST_F(LogFileTest, IsPutAwayWhenItIsOld) {
  LogFileOptions daily = options();
  daily.rotate_after = 24h;
  LogFile file(daily, clock_);
  ASSERT_TRUE(file.open().ok());
  ASSERT_TRUE(file.add("one\n").ok());
  clock_.advance(25h);
  ASSERT_TRUE(file.add("two\n").ok());
  EXPECT_EQ(names().size(), 2u);
  EXPECT_EQ(content("audit.log"), "two\n");
}

TEST(Outdated, AreTheOldestOfItsOwn) {
  const std::vector<std::string> names = {"audit-000000000002-000001.log", "audit-000000000001-000001.log", "audit.log",
                                          "audit-notes.log",               "other-000000000001-000001.log", "audit-1.txt"};
  EXPECT_EQ(outdated("/x/audit.log", names, 1), (std::vector<std::string>{"audit-000000000001-000001.log"}));
  EXPECT_TRUE(outdated("/x/audit.log", names, 2).empty());
  EXPECT_TRUE(outdated("/x/audit.log", names, 0).empty()) << "all are kept";
}

}  // namespace
}  // namespace drover::audit
