// The folders of tasks: how the machine's paths come into them, and who may go where.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "hooks/alloc_dir.h"
#include "hooks/chroot.h"

namespace drover::agent {
namespace {

// A folder of this machine for tests, gone with the object.
struct Folder {
  Folder() { EXPECT_NE(nullptr, ::mkdtemp(path.data())); }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path + "/" + name).parent_path());
    std::ofstream(path + "/" + name) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string path = std::filesystem::temp_directory_path() / "drover-chroot-XXXXXX";
};

// mkdir and the rest are two steps: an agent that is killed between them leaves a folder without rights.
TEST(AllocFolders, ThatWereBegunAreFinished) {
  const Folder machine;
  const AllocFolders folders = alloc_folders(machine.path, Uuid::random());
  ASSERT_TRUE(create_folders(folders).ok());
  std::filesystem::permissions(folders.shared + "/data", std::filesystem::perms::none);
  std::filesystem::permissions(folders.shared + "/tmp", std::filesystem::perms(0700));

  ASSERT_TRUE(create_folders(folders).ok());

  EXPECT_EQ(std::filesystem::perms(0777), std::filesystem::status(folders.shared + "/data").permissions());
  EXPECT_EQ(std::filesystem::perms(0700), std::filesystem::status(folders.shared + "/tmp").permissions()) << "its own";
}

TEST(Chroot, HoldsWhatTheMachineHas) {
  const Folder machine, task;
  machine.write("bin/sh", "shell");
  machine.write("bin/deep/tool", "tool");
  machine.write("bin/allocs/secret", "of another task");
  std::filesystem::create_symlink("sh", machine.path + "/bin/bash");
  ASSERT_EQ(0, ::mkfifo((machine.path + "/bin/fifo").c_str(), 0600));
  std::filesystem::permissions(machine.path + "/bin/deep", std::filesystem::perms(0711));
  machine.write("hosts", "names");
  const Variables entries = {{machine.path + "/bin", "/bin"},
                             {machine.path + "/hosts", "etc/deep/hosts"},
                             {machine.path + "/nothing", "/nothing"}};

  ASSERT_TRUE(build_chroot(task.path, entries, {machine.path + "/bin/allocs"}, {}).ok());

  EXPECT_EQ(std::vector<std::string>({"/bin", "/etc/deep/hosts"}), filled_paths(task.path, entries));
  EXPECT_EQ("shell", task.read("bin/sh"));
  EXPECT_EQ("tool", task.read("bin/deep/tool"));
  EXPECT_EQ("names", task.read("etc/deep/hosts"));
  EXPECT_EQ("sh", std::filesystem::read_symlink(task.path + "/bin/bash"));
  EXPECT_EQ(std::filesystem::perms(0711), std::filesystem::status(task.path + "/bin/deep").permissions());
  for (const char* absent : {"bin/fifo", "bin/allocs", "nothing"})
    EXPECT_FALSE(std::filesystem::exists(task.path + "/" + absent)) << absent;
  EXPECT_TRUE(build_chroot(task.path, entries, {machine.path + "/bin/allocs"}, {}).ok()) << "a second time";
}

TEST(Chroot, IsShownWhereTheDriverCan) {
  const Folder machine;
  machine.write("usr/bin/tool", "tool");
  machine.write("srv/allocs/secret", "of another task");
  std::filesystem::create_symlink("usr/bin", machine.path + "/bin");
  const Variables usual = {{machine.path + "/usr", "/usr"}, {machine.path + "/bin", "bin"}};
  const std::set<std::string> skip = {machine.path + "/srv/allocs"};
  EXPECT_EQ(usual, plan_chroot(usual, skip, true).shown);
  EXPECT_EQ(Variables(), plan_chroot(usual, skip, true).linked);
  EXPECT_EQ(usual, plan_chroot(usual, skip, false).linked);

  Variables entries = usual;
  entries[machine.path + "/nothing"] = "/nothing";
  EXPECT_EQ(usual, plan_chroot(entries, skip, true).shown);
  entries[machine.path + "/srv"] = "/srv";  // would show the allocations of others
  EXPECT_EQ(usual, plan_chroot(entries, skip, true).shown);
  EXPECT_EQ(Variables({{machine.path + "/srv", "/srv"}}), plan_chroot(entries, skip, true).linked);
  entries[machine.path + "/usr/bin"] = "/usr/local/bin";  // nothing can be made in what is read-only
  EXPECT_EQ(entries, plan_chroot(entries, skip, true).linked);
}

TEST(Chroot, StaysInTheTasksFolder) {
  const Folder machine, task;
  machine.write("file", "text");
  for (const char* target : {"../file", "/a/../../file", "/", "", "."})
    EXPECT_EQ(Code::invalid_argument, build_chroot(task.path, {{machine.path, target}}, {}, {}).code()) << target;
}

TEST(Chroot, EndsWhenTheTaskIsNotWanted) {
  const Folder machine, task;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(Code::cancelled, build_chroot(task.path, {{machine.path, "/all"}}, {}, stop.get_token()).code());
}

TEST(AllocDir, HasTheModesAndOwnersThatTheGuideShows) {
  const Folder root;
  const AllocFolders alloc = alloc_folders(root.path, Uuid::random());
  const TaskFolders web = task_folders(alloc, "web");
  const mode_t before = ::umask(077);
  ASSERT_TRUE(create_folders(alloc).ok());
  ASSERT_TRUE(create_task_folders("web", web).ok());
  ::umask(before);
  const struct {
    std::string path;
    mode_t mode;
    bool is_nobodys;
  } wanted[] = {{alloc.root, 0755, false}, {alloc.shared, 01777, false},         {alloc.shared + "/data", 0777, false},
                {alloc.logs, 0755, false}, {alloc.shared + "/tmp", 0777, false}, {web.root, 0777, true},
                {web.local, 0777, true},   {web.root + "/tmp", 01777, true},     {web.secrets, 0700, false}};
  for (const auto& [path, mode, is_nobodys] : wanted) {
    struct stat found {};
    ASSERT_EQ(0, ::lstat(path.c_str(), &found)) << path;
    EXPECT_EQ(mode, found.st_mode & 07777u) << path;
    EXPECT_EQ(is_nobodys && ::geteuid() == 0 ? 65534u : ::geteuid(), found.st_uid) << path;
  }
}

TEST(AllocDir, ShowsTheSharedFolderToATaskThatIsLockedIn) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounts need root";
  const Folder root;
  const AllocFolders alloc = alloc_folders(root.path, Uuid::random());
  const TaskFolders web = task_folders(alloc, "web");
  ASSERT_TRUE(create_folders(alloc).ok());
  ASSERT_TRUE(create_task_folders("web", web).ok());
  ASSERT_TRUE(show_shared(alloc, web.root).ok());
  ASSERT_TRUE(show_shared(alloc, web.root).ok()) << "a second time";
  std::ofstream(web.root + "/alloc/data/file") << "shared";
  EXPECT_TRUE(std::filesystem::exists(alloc.shared + "/data/file"));

  ASSERT_TRUE(remove_folders(alloc).ok());
  EXPECT_FALSE(std::filesystem::exists(alloc.root));

  // A task may have put a link there while nothing was shown.
  ASSERT_TRUE(create_folders(alloc).ok());
  ASSERT_TRUE(create_task_folders("web", web).ok());
  std::filesystem::create_directory_symlink(root.path, web.root + "/alloc");
  EXPECT_FALSE(show_shared(alloc, web.root).ok());
}

}  // namespace
}  // namespace drover::agent
