#include "drover/task_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace drover {
namespace {

namespace fs = std::filesystem;

class TaskFilesTest : public ::testing::Test {
 protected:
  TaskFilesTest() {
    fs::create_directories(root_ + "/alloc");
    fs::create_directories(root_ + "/web/local");
    fs::create_directories(root_ + "/web/secrets");
    put(outside_ + "/secret", "not yours");
  }
  ~TaskFilesTest() override { fs::remove_all(outside_); }

  static void put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }
  static mode_t mode_of(const std::string& path) {
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
  }

  const std::string outside_ = fs::path(::testing::TempDir()) / ("sandbox." + std::to_string(::getpid()));
  const std::string root_ = outside_ + "/id";
  const TaskFileFolders folders_{
      .alloc = {.root = root_, .shared = root_ + "/alloc", .logs = root_ + "/alloc/logs"},
      .task = {.root = root_ + "/web", .local = root_ + "/web/local", .secrets = root_ + "/web/secrets"},
      .seen = {.alloc_dir = "/alloc", .task_dir = "/local", .secrets_dir = "/secrets"}};
  const TaskFiles closed_{folders_, true}, open_{folders_, false};
};

TEST_F(TaskFilesTest, PathsAreThoseOfTheTask) {
  EXPECT_EQ(host_path("local/a", folders_), root_ + "/web/local/a");
  EXPECT_EQ(host_path("/local/a", folders_), root_ + "/web/local/a");
  EXPECT_EQ(host_path("/alloc/data/x", folders_), root_ + "/alloc/data/x");
  EXPECT_EQ(host_path("/secrets/../local/a", folders_), root_ + "/web/local/a");
  EXPECT_EQ(host_path("../alloc/x", folders_), root_ + "/alloc/x");
  EXPECT_EQ(host_path("/locals/a", folders_), "/locals/a");
}

TEST_F(TaskFilesTest, WritesTheWholeFileOnceWithItsMode) {
  EXPECT_EQ(closed_.write("local/etc/app.conf", "one", {.mode = 0640}).value_or(false), true);
  EXPECT_EQ(closed_.read("/local/etc/app.conf").value_or(""), "one");
  EXPECT_EQ(mode_of(root_ + "/web/local/etc/app.conf"), 0640U);
  EXPECT_EQ(closed_.write("local/etc/app.conf", "one", {.mode = 0640}).value_or(true), false);
  EXPECT_EQ(closed_.write("local/etc/app.conf", "one", {.mode = 0600}).value_or(false), true);
  EXPECT_EQ(closed_.write("local/etc/app.conf", "two", {.mode = 0600}).value_or(false), true);
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(root_ + "/web/local/etc")) files += entry.exists() ? 1 : 0;
  EXPECT_EQ(files, 1U);  // nothing is left beside it
}

TEST_F(TaskFilesTest, ASecretIsForTheOwnerOfTheSecretsAlone) {
  ASSERT_TRUE(closed_.write_secret("secrets/token", "hidden").ok());
  EXPECT_EQ(mode_of(root_ + "/web/secrets/token"), 0600u);
  EXPECT_EQ(closed_.write_secret("../../x", "hidden").code(), Code::invalid_argument);
  if (::geteuid() != 0) return;  // nobody else can give a file away
  ASSERT_EQ(::chown((root_ + "/web/secrets").c_str(), 65534, 65533), 0);
  ASSERT_TRUE(closed_.write_secret("secrets/other", "hidden").ok());
  struct stat found {};
  ASSERT_EQ(::stat((root_ + "/web/secrets/other").c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, 65534u);
  EXPECT_EQ(found.st_gid, 65533u);
  ASSERT_EQ(::chmod((root_ + "/web/secrets").c_str(), 0777), 0);
  ASSERT_TRUE(closed_.write_secret("secrets/open", "hidden").ok());
  EXPECT_EQ(mode_of(root_ + "/web/secrets/open"), 0644u);
}

TEST_F(TaskFilesTest, NothingOutsideIsReadOrWritten) {
  fs::create_symlink(outside_ + "/secret", root_ + "/web/local/link");
  fs::create_symlink("../../../secret", root_ + "/web/local/relative");
  fs::create_directory_symlink(outside_, root_ + "/web/local/folder");
  for (const char* path : {"local/link", "local/relative", "local/folder/secret", "../../secret", "/etc/hostname"}) {
    const auto text = closed_.read(path);
    ASSERT_FALSE(text.ok()) << path;
    EXPECT_NE(text.status().message().find("is outside of sandbox"), std::string::npos) << text.status().message();
  }
  for (const char* path : {"local/folder/new", "local/folder/deep/new", "../../new", "/tmp/new"}) {
    EXPECT_FALSE(closed_.write(path, "x", {}).ok()) << path;
  }
  EXPECT_FALSE(fs::exists(outside_ + "/new"));
  EXPECT_FALSE(fs::exists(outside_ + "/deep"));
  EXPECT_TRUE(closed_.write("local/link", "mine", {}).ok());  // the link itself is replaced
  std::string text;
  std::getline(std::ifstream(outside_ + "/secret"), text);
  EXPECT_EQ(text, "not yours");
}

TEST_F(TaskFilesTest, WithoutASandboxTheMachineIsSeen) {
  EXPECT_EQ(open_.read(outside_ + "/secret").value_or(""), "not yours");
  EXPECT_TRUE(open_.write(outside_ + "/deep/new", "x", {}).ok());
}

TEST_F(TaskFilesTest, OnlyFilesAreRead) {
  ASSERT_EQ(::mkfifo((root_ + "/web/local/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(closed_.read("local/pipe").ok());
  EXPECT_FALSE(closed_.read("local").ok());
  EXPECT_EQ(closed_.read("local/nothing").status().code(), Code::not_found);
}

TEST_F(TaskFilesTest, AMarkTellsWhenAFileIsAnother) {
  EXPECT_FALSE(closed_.mark("local/a"));
  put(root_ + "/web/local/a", "1");
  const auto first = closed_.mark("local/a");
  ASSERT_TRUE(first);
  EXPECT_EQ(closed_.mark("local/a"), first);
  put(root_ + "/web/local/a", "22");
  EXPECT_NE(closed_.mark("local/a"), first);
}

}  // namespace
}  // namespace drover
