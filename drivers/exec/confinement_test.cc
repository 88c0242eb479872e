// One case for each thing that a task must not be able to do; tried by exec_probe and by commands from inside of one.
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "drover/process.h"
#include "nomad/plugins/driver.pb.h"
#include "testing/exec_node.h"

namespace drover::exec {
namespace {

using namespace std::chrono_literals;

// The probe's answers to the attempts, as nobody or as `user`.
std::string tried(Node& node, const std::string& attempts, const std::string& user = {}) {
  driver::TaskConfig config = node.talking("/bin/exec_probe " + attempts);
  (*config.mutable_env())["OF_MACHINE"] = node.path("alloc");
  config.set_user(user);
  return node.said(config);
}

TEST(Confinement, SeesItsOwnProcessesOnly) {
  Node node;
  EXPECT_EQ("/proc/1\n", node.said(node.talking("for each in /proc/[0-9]*; do echo $each; done")));
  // Nobody else is there even to be named.
  driver::TaskConfig killer = node.talking("kill -0 " + std::to_string(::getpid()) + " 2> /dev/null || echo unknown");
  killer.set_user("root");
  EXPECT_EQ("unknown\n", node.said(killer));
}

TEST(Confinement, CannotLeaveItsRoot) {
  Node node;
  EXPECT_EQ("climb ENOENT\n", tried(node, "climb", "root"));
  EXPECT_EQ("alloc\nbin\ndev\netc\nlib\nlib64\nlocal\nproc\nsecrets\nsys\ntmp\n",
            node.said(node.talking("ls /proc/1/root/")));
}

TEST(Confinement, CannotLeaveAMovedRoot) {
  Node node({.is_pivoted = false});
  EXPECT_EQ("climb ENOENT\n", tried(node, "climb", "root"));
}

TEST(Confinement, CannotReadSecretsOfOthers) {
  Node node;
  std::ofstream(node.root() + "/etc/shadow") << "root:secret\n";
  (void)::chmod((node.root() + "/etc/shadow").c_str(), 0600);
  std::filesystem::create_directories(node.path("alloc/other/secrets"));
  std::ofstream(node.path("alloc/other/secrets/token")) << "secret of another";
  EXPECT_EQ("shadow EACCES\n", tried(node, "shadow"));
  EXPECT_EQ("shadow EACCES\n", tried(node, "become_root shadow").substr(std::string("become_root EPERM\n").size()));
  const std::string found =
      node.said(node.talking("cat " + node.path("alloc/other/secrets/token") + " /../other/secrets/token"));
  EXPECT_EQ(std::string::npos, found.find("secret of another")) << found;
}

TEST(Confinement, ReadsItsOwnSecrets) {
  Node node;
  std::ofstream(node.root() + "/secrets/token") << "its own\n";
  EXPECT_EQ("its own\n", node.said(node.talking("cat /secrets/token")));
  struct stat found {};
  ASSERT_EQ(0, ::stat((node.root() + "/secrets").c_str(), &found));
  EXPECT_EQ(65534U, found.st_uid);
  EXPECT_EQ(0700U, found.st_mode & 0777U);
}

TEST(Confinement, CannotLoadIntoTheKernel) {
  Node node;
  EXPECT_EQ("load EPERM\nload_file EPERM\nkexec EPERM\nbpf EPERM\nreboot EPERM\n",
            tried(node, "load load_file kexec bpf reboot", "root"));
}

TEST(Confinement, CannotMount) {
  Node node;
  const std::string refused = "mount EPERM\nremount EPERM\nunmount EPERM\nopen_tree EPERM\n";
  EXPECT_EQ(refused, tried(node, "mount remount unmount open_tree", "root"));
  // Nor where only the rights of the task stand in the way.
  Node unfiltered({.are_calls_filtered = false});
  EXPECT_EQ(refused, tried(unfiltered, "mount remount unmount open_tree", "root"));
}

TEST(Confinement, CannotTrace) {
  Node node;
  EXPECT_EQ("trace EPERM\nmemory EPERM\n", tried(node, "trace memory", "root"));
}

TEST(Confinement, CannotMakeNamespaces) {
  Node node;
  EXPECT_EQ("user_namespace EPERM\nmount_namespace EPERM\nchild_namespace EPERM\nkey EPERM\n",
            tried(node, "user_namespace mount_namespace child_namespace key"));
}

TEST(Confinement, CannotUseDevicesThatItMakes) {
  Node node;
  EXPECT_EQ("own_null done\ndisk EPERM\nkernel_memory EPERM\n", tried(node, "own_null disk kernel_memory", "root"));
}

TEST(Confinement, CannotSteerTheMachine) {
  Node node;
  const std::string said = tried(node, "sysctl hostname raw_socket", "root");
  EXPECT_EQ("sysctl EROFS\nhostname EPERM\nraw_socket EPERM\n", said);
}

TEST(Confinement, CannotWriteWhereTheAgentLaidTheMachinesFiles) {
  Node node;
  driver::TaskConfig config = node.talking("/bin/exec_probe write_program; touch /bin/other");
  config.set_user("root");
  driver::Mount& mount = *config.add_mounts();
  mount.set_task_path("/bin");
  mount.set_host_path(node.root() + "/bin");
  mount.set_readonly(true);
  const std::string said = node.said(config);
  EXPECT_TRUE(said.starts_with("write_program EROFS\n")) << said;
  EXPECT_FALSE(std::filesystem::exists(node.root() + "/bin/other"));
}

TEST(Confinement, CannotLayItselfATrapForTheNextStart) {
  Node node;
  // A link in the place of /proc would put the kernel's files, and what hides them, somewhere else.
  std::filesystem::remove(node.root() + "/proc");
  std::filesystem::create_symlink("/local", node.root() + "/proc");
  const auto started = node.driver().start_task(node.talking("true"));
  EXPECT_EQ("failed to launch command with executor: mount proc at /proc: Too many levels of symbolic links",
            started.status().message());
  std::filesystem::remove(node.root() + "/proc");
  // A job's mounts follow links, inside of the root.
  std::filesystem::create_symlink("/..", node.root() + "/local/up");
  std::filesystem::create_directories(node.path("volume"));
  std::ofstream(node.path("volume/file")) << "shown\n";
  driver::TaskConfig config = node.talking("cat /volume/file");
  driver::Mount& mount = *config.add_mounts();
  mount.set_task_path("/local/up/volume");
  mount.set_host_path(node.path("volume"));
  EXPECT_EQ("shown\n", node.said(config));
}

TEST(Confinement, SeesNothingBehindWhatIsHidden) {
  Node node;
  const std::string said = node.said(node.talking(
      "for f in /proc/kcore /proc/keys /proc/timer_list /proc/sched_debug /sys/firmware /proc/acpi /proc/scsi; do "
      "test -e $f || continue; test -d $f && ls $f || cat $f; echo $f; done"));
  std::string expected;
  for (const char* path : {"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/sys/firmware",
                           "/proc/acpi", "/proc/scsi"}) {
    if (std::filesystem::exists(path)) expected += std::string(path) + "\n";
  }
  EXPECT_EQ(expected, said);
  EXPECT_NE("", expected) << "this machine has nothing to hide";
}

// The launcher's keyring is that of whoever started it.
TEST(Confinement, FindsNoKeyOfTheMachine) {
  ASSERT_GE(::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr), 0);
  ASSERT_GE(::syscall(SYS_add_key, "user", "drover-test", "secret", 6, KEY_SPEC_SESSION_KEYRING), 0);
  Node node({.are_calls_filtered = false});
  EXPECT_EQ("machines_key ENOKEY\n", tried(node, "machines_key", "root"));
}

TEST(Confinement, LeavesNothingBehindItsStop) {
  Node node;
  node.start(node.shell("a", "setsid sh -c 'setsid sleep 3601 & sleep 3602 &' & echo > /local/up; sleep 3600"));
  ASSERT_TRUE(eventually([&] { return node.cgroup("a").pids().size() >= 4; }));
  const std::vector<int> all = node.cgroup("a").pids();
  EXPECT_TRUE(node.driver().stop_task("a", 0s, "SIGINT").ok());
  for (const int pid : all) EXPECT_FALSE(process_stat(pid) && process_stat(pid)->state != 'Z') << pid;
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(Confinement, NoProgramGivesItMoreRights) {
  Node node;
  const std::string status = node.said(node.talking("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status"));
  EXPECT_EQ("NoNewPrivs:\t1\nSeccomp:\t2\n", status);
  Node open({.no_new_privileges = false, .are_calls_filtered = false});
  EXPECT_EQ("NoNewPrivs:\t0\nSeccomp:\t0\n",
            open.said(open.talking("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status")));
}

}  // namespace
}  // namespace drover::exec
