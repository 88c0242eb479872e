// The secrets of tasks: what lies in memory, and when it is gone.
#include "disk/secrets.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "disk/mounts.h"
#include "hooks/alloc_dir.h"
#include "sdk/testing/waiting.h"
#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

TEST(StrayMounts, AreThoseOfAllocationsThatAreGone) {
  const Uuid gone = Uuid::random(), here = Uuid::random();
  const auto at = [](const Uuid& id, const std::string& below) {
    return MountPoint{.path = "/allocs/" + id.to_string() + below, .type = "tmpfs", .source = "x"};
  };
  const std::vector<MountPoint> mounts = {{.path = "/allocs", .type = "ext4", .source = "/dev/sda"},
                                          at(gone, "/web/secrets"),
                                          at(gone, "/web/alloc"),
                                          at(gone, "/web/local/theirs"),
                                          at(gone, "/web"),
                                          at(here, "/web/secrets"),
                                          {.path = "/allocs/lost+found/web/secrets", .type = "tmpfs", .source = "x"}};
  EXPECT_EQ((std::vector<std::string>{at(gone, "/web/alloc").path, at(gone, "/web/secrets").path}),
            stray_mounts(mounts, "/allocs", {here}));
}

class SecretsInMemory : public AgentTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: mounts";
    ASSERT_TRUE(create_folders(alloc_).ok());
    ASSERT_TRUE(create_task_folders("web", web_).ok());
  }
  // Once it is over.
  Status collect(const std::string& id) {
    v1::GarbageCollectRequest request;
    request.set_alloc_id(id);
    Status status;
    EXPECT_TRUE(eventually([&] {
      status = ask<v1::ClientResponse>("GarbageCollect", request).status();
      return status.code() != Code::failed_precondition;
    }));
    return status;
  }
  const AllocFolders alloc_ = alloc_folders(folder_ + "/folders", Uuid::random());
  const TaskFolders web_ = task_folders(alloc_, "web");
};

TEST_F(SecretsInMemory, AreTheirOwnersAloneAndRunNothing) {
  EXPECT_FALSE(are_in_memory(alloc_, web_));
  ASSERT_TRUE(mount_secrets(alloc_, web_, {.size_mb = 2, .owner = TaskUser{1234, 1235}}).ok());
  EXPECT_TRUE(are_in_memory(alloc_, web_));
  struct stat found {};
  ASSERT_EQ(0, ::stat(web_.secrets.c_str(), &found));
  EXPECT_EQ(0700u, found.st_mode & 07777u);
  EXPECT_EQ(1234u, found.st_uid);
  EXPECT_EQ(1235u, found.st_gid);
  struct statvfs system {};
  ASSERT_EQ(0, ::statvfs(web_.secrets.c_str(), &system));
  EXPECT_EQ(uint64_t{ST_NOEXEC | ST_NOSUID | ST_NODEV}, system.f_flag & (ST_NOEXEC | ST_NOSUID | ST_NODEV));
  EXPECT_EQ(uint64_t{2} << 20, system.f_blocks * system.f_frsize);
  EXPECT_TRUE(std::filesystem::exists(web_.secrets + "/.nomad-mount"));
}

TEST_F(SecretsInMemory, OfAnImageAreOpenInsideOfAFolderThatIsClosed) {
  ASSERT_TRUE(open_to_all(web_).ok());
  const auto look = [&](const std::string& path) {
    struct stat found {};
    EXPECT_EQ(0, ::stat(path.c_str(), &found)) << path;
    return std::pair(found.st_mode & 07777U, found.st_uid);
  };
  EXPECT_EQ(std::pair(0777U, uid_t{0}), look(web_.secrets));
  EXPECT_EQ(std::pair(0700U, uid_t{0}), look(web_.root));
  ASSERT_TRUE(mount_secrets(alloc_, web_, {.is_open = true}).ok());
  EXPECT_EQ(std::pair(0777U, uid_t{0}), look(web_.secrets));
}

TEST_F(SecretsInMemory, AreFoundAgain) {
  ASSERT_TRUE(mount_secrets(alloc_, web_, {}).ok());
  std::ofstream(web_.secrets + "/token") << "secret";
  ASSERT_TRUE(mount_secrets(alloc_, web_, {}).ok());
  EXPECT_TRUE(std::filesystem::exists(web_.secrets + "/token")) << "a second mount covers the first";
  EXPECT_EQ(1u, mounts_below(alloc_.root)->size());
}

TEST_F(SecretsInMemory, TakeNoLink) {
  std::filesystem::remove(web_.secrets);
  std::filesystem::create_directory_symlink(folder_, web_.secrets);
  EXPECT_FALSE(mount_secrets(alloc_, web_, {}).ok());
  EXPECT_TRUE(mounts_below(folder_)->empty());
}

TEST_F(SecretsInMemory, AreGoneWithTheFolders) {
  ASSERT_TRUE(mount_secrets(alloc_, web_, {}).ok());
  ASSERT_TRUE(show_shared(alloc_, web_.root).ok());
  ASSERT_TRUE(remove_folders(alloc_).ok());
  EXPECT_FALSE(std::filesystem::exists(alloc_.root));
  EXPECT_TRUE(mounts_below(folder_)->empty());
  EXPECT_TRUE(remove_folders(alloc_).ok()) << "a second time";
}

TEST_F(SecretsInMemory, SomebodyElsesMountKeepsTheFolders) {
  const std::string theirs = web_.local + "/theirs";
  std::filesystem::create_directory(theirs);
  ASSERT_EQ(0, ::mount("none", theirs.c_str(), "tmpfs", 0, nullptr));
  std::ofstream(theirs + "/file") << "data";
  const Status status = remove_folders(alloc_);
  EXPECT_EQ(Code::failed_precondition, status.code());
  EXPECT_NE(std::string::npos, status.message().find("something is mounted at ")) << status.message();
  EXPECT_TRUE(std::filesystem::exists(theirs + "/file"));
}

TEST_F(SecretsInMemory, OfAllocationsThatAreGoneEndWithTheNextAgent) {
  start();
  stop();
  servers_.expect_another_agent();
  const AllocFolders gone = alloc_folders(folder_ + "/alloc", Uuid::random());
  const TaskFolders task = task_folders(gone, "web");
  ASSERT_TRUE(create_folders(gone).ok());
  ASSERT_TRUE(create_task_folders("web", task).ok());
  ASSERT_TRUE(mount_secrets(gone, task, {}).ok());
  start();
  EXPECT_FALSE(are_in_memory(gone, task));
}

TEST_F(SecretsInMemory, OutliveTheAgentAndNotTheAllocation) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  const std::string token = alloc_path(id) + "/web/secrets/token";
  ASSERT_EQ(1u, mounts_below(alloc_path(id))->size());
  std::ofstream(token) << "secret";
  stop();
  servers_.expect_another_agent();
  start();
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  EXPECT_TRUE(std::filesystem::exists(token));
  servers_.stop(id);
  until_status(id, v1::CLIENT_STATUS_COMPLETE);
  EXPECT_TRUE(eventually([&] { return mounts_below(alloc_path(id))->empty(); })) << "no task needs them any more";
  ASSERT_TRUE(collect(id).ok());
  EXPECT_FALSE(std::filesystem::exists(alloc_path(id)));
}

TEST_F(SecretsInMemory, ThatAreInUseKeepTheAllocationUntilTheNextCollection) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  std::ofstream open(alloc_path(id) + "/web/secrets/open");
  open << "still written" << std::flush;
  servers_.stop(id);
  until_status(id, v1::CLIENT_STATUS_COMPLETE);
  const Status status = collect(id);
  EXPECT_NE(std::string::npos, status.message().find("unmount ")) << status.message();
  EXPECT_TRUE(std::filesystem::exists(alloc_path(id) + "/alloc/logs"));
  open.close();
  EXPECT_TRUE(collect(id).ok());
  EXPECT_FALSE(std::filesystem::exists(alloc_path(id)));
}

TEST_F(SecretsInMemory, HaveTheSizeThatTheJobSays) {
  start();
  v1::Task web = task("web");
  web.mutable_resources()->set_secrets_mb(3);
  const std::string id = place({web});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  struct statvfs system {};
  ASSERT_EQ(0, ::statvfs((alloc_path(id) + "/web/secrets").c_str(), &system));
  EXPECT_EQ(uint64_t{3} << 20, system.f_blocks * system.f_frsize);
}

}  // namespace
}  // namespace drover::agent
