#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "drover/process.h"
#include "nomad/plugins/driver.pb.h"
#include "sdk/testing/driver_conformance.h"
#include "testing/exec_node.h"

namespace drover::exec {
namespace {

using Json = nlohmann::json;

using namespace std::chrono_literals;

using Shared = RootedNode<Node>;
const ::testing::Environment* const kShared = ::testing::AddGlobalTestEnvironment(new Shared);

conformance::SubjectFactory subject() {
  return conformance::driver_subject([] { return Shared::get().another_driver(); });
}
DROVER_DRIVER_CONFORMANCE(Exec, subject());

constexpr const char* kSets = "grep -E '^Cap' /proc/self/status | grep -o '[0-9a-f]*$'";

std::string masks(const std::string& one) { return one + one + one + one + one; }

std::string hex(uint64_t mask) {
  char text[17];
  std::snprintf(text, sizeof text, "%016lx", mask);
  return std::string(text) + "\n";
}

TEST(ExecDriver, RunsAsNobodyInItsOwnRoot) {
  Node node;
  EXPECT_EQ("65534 65534\n/\n0022\n", node.said(node.talking("echo $(id -u) $(id -g); pwd; umask")));
  EXPECT_EQ("0\n", [&] {
    driver::TaskConfig config = node.talking("id -u");
    config.set_user("root");
    return node.said(config);
  }());
}

TEST(ExecDriver, RefusesUsersAndProgramsThatItsRootLacks) {
  Node node;
  driver::TaskConfig config = node.talking("true");
  config.set_user("somebody");
  EXPECT_EQ("failed to launch command with executor: unable to find user somebody: no matching entries in passwd file",
            node.driver().start_task(config).status().message());
  EXPECT_EQ("failed to launch command with executor: file /no/such not found under path " + node.root(),
            node.driver().start_task(node.task("a", {{"command", "/no/such"}})).status().message());
  EXPECT_EQ("failed to launch command with executor: file nonesuch not found under path",
            node.driver().start_task(node.task("a", {{"command", "nonesuch"}})).status().message());
}

TEST(ExecDriver, NamesWhatIsWrongInItsOptions) {
  ExecDriver exec;
  const struct {
    const char* json;
    const char* error;
  } cases[] = {
      {"{}", "config option \"command\" is missing"},
      {R"({"command": ["x"]})", "failed to decode driver config: config option \"command\" must be a text"},
      {R"({"command": "x", "pid_mod": "host"})",
       "failed to decode driver config: unknown config option \"pid_mod\"; did you mean \"pid_mode\"?"},
      {R"({"command": "x", "pid_mode": "shared"})",
       "failed to decode driver config: pid_mode must be \"private\" or \"host\", got \"shared\""},
      {R"({"command": "x", "cap_add": ["sys_admin"]})",
       "failed driver config validation: driver does not allow the following capabilities: sys_admin"},
  };
  for (const auto& c : cases) EXPECT_EQ(invalid_argument(c.error), exec.encode_config(c.json).status()) << c.json;
  EXPECT_TRUE(exec.encode_config(R"({"command": "x", "args": ["a"], "cap_drop": ["all"]})").ok());
}

TEST(ExecDriver, GivesATaskFewCapabilities) {
  Node node;
  EXPECT_EQ(masks(hex(0xa8040531)), node.said(node.talking(kSets)));
  Json options = {{"command", "/bin/sh"},
                  {"args", {"-c", std::string("exec > /local/said; ") + kSets}},
                  {"cap_drop", {"all"}},
                  {"cap_add", {"NET_BIND_SERVICE"}}};
  EXPECT_EQ(masks(hex(0x400)), node.said(node.task("a", options)));
  driver::TaskConfig root = node.talking(kSets);
  root.set_user("root");
  EXPECT_EQ(hex(0) + hex(0xa80405fb) + hex(0xa80405fb) + hex(0xa80405fb) + hex(0), node.said(root));
}

TEST(ExecDriver, RefusesCapabilitiesThatTheOperatorDoesNotAllow) {
  Node node;
  const Json options = {{"command", "/bin/sh"}, {"cap_add", {"sys_admin", "CAP_NET_RAW"}}};
  const Status refused = node.driver().start_task(node.task("a", options)).status();
  EXPECT_EQ(Code::invalid_argument, refused.code());
  EXPECT_EQ("failed driver config validation: driver does not allow the following capabilities: net_raw, sys_admin",
            refused.message());
}

TEST(ExecDriver, HasNamespacesOfItsOwn) {
  Node node;
  const auto ours = [](const char* name) {
    return std::filesystem::read_symlink(std::string("/proc/self/ns/") + name).string();
  };
  const std::string all =
      node.said(node.talking("for n in pid ipc mnt uts cgroup net; do readlink /proc/self/ns/$n; done; echo $$"));
  for (const char* name : {"pid", "ipc", "mnt", "uts", "cgroup"})
    EXPECT_EQ(std::string::npos, all.find(ours(name))) << name << ": " << all;
  EXPECT_NE(std::string::npos, all.find(ours("net"))) << all;
  EXPECT_TRUE(all.ends_with("\n1\n")) << all;

  const std::string script = "exec > /local/said; for n in pid ipc; do readlink /proc/self/ns/$n; done";
  const Json shared = {{"command", "/bin/sh"}, {"args", {"-c", script}}, {"pid_mode", "host"}, {"ipc_mode", "host"}};
  EXPECT_EQ(ours("pid") + "\n" + ours("ipc") + "\n", node.said(node.task("b", shared)));
}

TEST(ExecDriver, LimitsWhatATaskMayUse) {
  Node node;
  Json options = {{"command", "/bin/sleep"}, {"args", {"3600"}}, {"cpu_hard_limit", true}, {"pids_limit", 50}};
  driver::TaskConfig config = node.task("a", options);
  driver::LinuxResources& resources = *config.mutable_resources()->mutable_linux_resources();
  resources.set_cpu_shares(500);
  resources.set_percentticks(0.5);
  resources.set_memory_limit_bytes(64 << 20);
  resources.set_cpuset_cpus("0");
  auto& memory = *config.mutable_resources()->mutable_allocated_resources()->mutable_memory();
  memory.set_memory_mb(32);
  memory.set_memory_max_mb(64);
  const Cgroup group = node.cgroup("a");
  if (detect_cgroups().v1.empty()) GTEST_SKIP() << "missing: control groups of version 1";
  node.start(config);
  const auto read = [&](const char* controller, const char* file) {
    return read_text(group.folder(controller) + "/" + file);
  };
  EXPECT_EQ("67108864\n", read("memory", "memory.limit_in_bytes"));
  EXPECT_EQ("33554432\n", read("memory", "memory.soft_limit_in_bytes"));
  EXPECT_EQ("500\n", read("cpu", "cpu.shares"));
  EXPECT_EQ(std::to_string(50'000 * ::sysconf(_SC_NPROCESSORS_ONLN)) + "\n", read("cpu", "cpu.cfs_quota_us"));
  EXPECT_EQ("50\n", read("pids", "pids.max"));
  EXPECT_EQ("0\n", read("cpuset", "cpuset.cpus"));
  EXPECT_EQ("Cpus_allowed_list:\t0\n", node.said_beside("a", {"grep", "Cpus_allowed_list", "/proc/self/status"}));
  EXPECT_TRUE(node.driver().destroy_task("a", true).ok());
  EXPECT_FALSE(std::filesystem::exists(group.folder("cpuset")));
}

TEST(ExecDriver, TellsADeathForLackOfMemoryApart) {
  Node node;
  if (node.cgroup("a").folder("memory").empty()) GTEST_SKIP() << "missing: a writable memory controller";
  for (const auto& [name, script, is_oom] :
       {std::tuple("its first process", "exec tail /dev/zero", true),
        std::tuple("a child", "tail /dev/zero; exit 3", true), std::tuple("no lack", "exit 3", false)}) {
    SCOPED_TRACE(name);
    driver::TaskConfig config = node.shell("a", script);
    config.mutable_resources()->mutable_linux_resources()->set_memory_limit_bytes(32 << 20);
    node.start(config);
    EXPECT_EQ(is_oom, node.wait("a").oom_killed());
    EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
  }
}

TEST(ExecDriver, EndsByASignalThatAFirstProcessWouldNeverSee) {
  Node node;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  node.start(node.task("plain", {{"command", "/bin/sleep"}, {"args", {"3600"}}}));
  auto began = now();
  EXPECT_TRUE(node.driver().stop_task("plain", 60s, "SIGTERM").ok());
  EXPECT_LT(now() - began, 30s);
  EXPECT_EQ(9, node.wait("plain").signal());
  EXPECT_TRUE(node.driver().destroy_task("plain", false).ok());

  node.start(node.shell("handles", "trap 'exit 5' TERM; touch /local/ready; while :; do sleep 0.01; done"));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(node.root() + "/local/ready"); }));
  EXPECT_TRUE(node.driver().stop_task("handles", 60s, "SIGTERM").ok());
  EXPECT_EQ(5, node.wait("handles").exit_code());
  EXPECT_TRUE(node.driver().destroy_task("handles", false).ok());
}

TEST(ExecDriver, ShowsTheKernelAndItsDevices) {
  Node node;
  EXPECT_EQ("core\nfd\nfull\nmqueue\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n",
            node.said(node.talking("ls /dev")));
  EXPECT_EQ("ok\n", node.said(node.talking(
                        "echo gone > /dev/null && test -w /dev/shm && head -c 1 /dev/urandom > /dev/null && echo ok")));
  const std::string mounts = node.said(node.talking("cat /proc/self/mounts"));
  for (const char* line : {" /sys sysfs ro,nosuid,nodev,noexec", " /proc proc rw,nosuid,nodev,noexec",
                           " /proc/sys proc ro,", " /dev/shm tmpfs rw,nosuid,nodev,noexec"})
    EXPECT_NE(std::string::npos, mounts.find(line)) << line << " is missing in " << mounts;
  EXPECT_EQ(std::string::npos, mounts.find(" /work")) << mounts;
}

TEST(ExecDriver, GivesMountsAndDevices) {
  Node node;
  std::filesystem::create_directories(node.path("volume"));
  (void)::chmod(node.path("volume").c_str(), 0777);
  std::ofstream(node.path("volume/file")) << "from outside\n";
  driver::TaskConfig config = node.talking(
      "cat /data/file; touch /data/no 2> /dev/null || echo read only; touch /rw/yes && echo written; "
      "test -c /dev/given && head -c 1 /dev/given > /dev/null && echo device");
  for (const auto& [path, is_readonly] : {std::pair("/data", true), std::pair("rw", false)}) {
    driver::Mount& mount = *config.add_mounts();
    mount.set_task_path(path);
    mount.set_host_path(node.path("volume"));
    mount.set_readonly(is_readonly);
  }
  driver::Device& device = *config.add_devices();
  device.set_host_path("/dev/zero");
  device.set_task_path("/dev/given");
  device.set_cgroup_permissions("r");
  EXPECT_EQ("from outside\nread only\nwritten\ndevice\n", node.said(config));
  EXPECT_TRUE(std::filesystem::exists(node.path("volume/yes")));
}

TEST(ExecDriver, TellsTheTaskItsNamesAndServers) {
  Node node;
  driver::TaskConfig config =
      node.talking("cat /etc/resolv.conf /etc/hosts; hostname; touch /etc/hosts 2> /dev/null || echo read only");
  config.mutable_dns()->add_servers("10.1.2.3");
  config.mutable_dns()->add_searches("example.com");
  config.mutable_dns()->add_options("ndots:2");
  config.mutable_network_isolation_spec()->mutable_hostsconfig()->set_hostname("web-1");
  config.mutable_network_isolation_spec()->mutable_hostsconfig()->set_address("10.9.9.9");
  const std::string said = node.said(config);
  for (const char* part :
       {"search example.com\nnameserver 10.1.2.3\noptions ndots:2\n", "\n10.9.9.9 web-1\n", "\nweb-1\n"})
    EXPECT_NE(std::string::npos, said.find(part)) << part << " is missing in " << said;
  EXPECT_FALSE(std::filesystem::exists(node.path("no")));
}

// A process in a network namespace of its own, as an agent makes one for a group.
class OtherNetwork {
 public:
  OtherNetwork() {
    int made[2];
    EXPECT_EQ(0, ::pipe2(made, O_CLOEXEC));
    pid_ = ::fork();
    if (pid_ == 0) {
      const char is_made = ::unshare(CLONE_NEWNET) == 0 ? 'y' : 'n';
      (void)!::write(made[1], &is_made, 1);
      while (true) ::pause();
    }
    char answer = 'n';
    EXPECT_EQ(1, ::read(made[0], &answer, 1));
    EXPECT_EQ('y', answer);
    ::close(made[0]);
    ::close(made[1]);
  }
  ~OtherNetwork() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::string path() const { return "/proc/" + std::to_string(pid_) + "/ns/net"; }

 private:
  pid_t pid_;
};

TEST(ExecDriver, SeesTheNetworkOfItsGroup) {
  Node node;
  const OtherNetwork network;
  driver::TaskConfig config = node.talking("readlink /proc/self/ns/net; ls /sys/class/net");
  config.mutable_network_isolation_spec()->set_path(network.path());
  EXPECT_EQ(std::filesystem::read_symlink(network.path()).string() + "\nlo\n", node.said(config));
}

// A folder on which other folders can be mounted so that it is seen elsewhere.
class SharedFolder {
 public:
  explicit SharedFolder(std::string path) : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
    EXPECT_EQ(0, ::mount("none", path_.c_str(), "tmpfs", 0, nullptr));
    EXPECT_EQ(0, ::mount(nullptr, path_.c_str(), nullptr, MS_SHARED, nullptr));
    std::filesystem::create_directories(path_ + "/later");
  }
  ~SharedFolder() { EXPECT_EQ(0, ::umount2(path_.c_str(), MNT_DETACH)); }
  void mount_later() const {
    ASSERT_EQ(0, ::mount("none", (path_ + "/later").c_str(), "tmpfs", 0, nullptr));
    std::ofstream(path_ + "/later/file") << "mounted later\n";
  }

 private:
  const std::string path_;
};

TEST(ExecDriver, SeesLaterMountsWhereTheJobWantsThem) {
  Node node;
  {
    const SharedFolder volume(node.path("volume"));
    driver::TaskConfig config = node.task("a", {{"command", "/bin/sleep"}, {"args", {"3600"}}});
    for (const char* mode : {"private", "host-to-task", "bidirectional"}) {
      driver::Mount& mount = *config.add_mounts();
      mount.set_task_path(std::string("/") + mode);
      mount.set_host_path(node.path("volume"));
      mount.set_propagation_mode(mode);
    }
    node.start(config);
    volume.mount_later();
    EXPECT_EQ("mounted later\n", node.said_beside("a", {"cat", "/host-to-task/later/file"}));
    EXPECT_EQ("mounted later\n", node.said_beside("a", {"cat", "/bidirectional/later/file"}));
    EXPECT_EQ("", node.said_beside("a", {"ls", "/private/later"}));
    EXPECT_TRUE(node.driver().destroy_task("a", true).ok());
  }
}

TEST(ExecDriver, CannotWriteBelowAReadOnlyMountEither) {
  Node node;
  const SharedFolder volume(node.path("volume"));
  volume.mount_later();
  driver::TaskConfig config =
      node.talking("cat /data/later/file; touch /data/later/other 2> /dev/null || echo read only");
  config.set_user("root");
  driver::Mount& mount = *config.add_mounts();
  mount.set_task_path("/data");
  mount.set_host_path(node.path("volume"));
  mount.set_readonly(true);
  EXPECT_EQ("mounted later\nread only\n", node.said(config));
}

TEST(ExecDriver, RunsCommandsWhereTheTaskIs) {
  Node node;
  const std::string script =
      "for n in pid ipc mnt uts cgroup; do readlink /proc/self/ns/$n; done; id -u; pwd; "
      "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status";
  node.start(node.shell("a", "exec > /local/said; " + script + "; while :; do sleep 1; done"));
  ASSERT_TRUE(eventually([&] { return read_text(node.root() + "/local/said").find("Seccomp") != std::string::npos; }));
  EXPECT_EQ(read_text(node.root() + "/local/said"), node.said_beside("a", {"/bin/sh", "-c", script}));
  const std::string terminal = node.said_beside("a", {"/bin/sh", "-c", "test -t 0 && tty"}, true);
  EXPECT_TRUE(terminal.starts_with("/dev/pts/")) << terminal;
  EXPECT_NE(std::string::npos, node.said_beside("a", {"cat", "/proc/1/cmdline"}).find("while"));
  EXPECT_EQ("out\nerr\n", node.said_beside("a", {"/bin/sh", "-c", "echo out > /dev/stdout; echo err > /dev/stderr"}));

  EXPECT_TRUE(node.driver().destroy_task("a", true).ok());
}

TEST(ExecDriver, FindsATaskAgainWithItsRights) {
  Node node;
  const Json options = {{"command", "/bin/sleep"}, {"args", {"3600"}}, {"cap_drop", {"all"}}};
  const auto started = node.driver().start_task(node.task("a", options));
  ASSERT_TRUE(started.ok()) << started.status().to_string();
  node.restart();
  ASSERT_TRUE(node.driver().recover_task(started->handle()).ok());
  EXPECT_EQ("CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n",
            node.said_beside("a", {"grep", "-E", "^(CapEff|NoNewPrivs|Seccomp):", "/proc/self/status"}));
  EXPECT_TRUE(node.driver().destroy_task("a", true).ok());
}

TEST(ExecDriver, DoesNotInheritHowLikelyAVictimTheAgentIs) {
  const std::string before = read_text("/proc/self/oom_score_adj");
  std::ofstream("/proc/self/oom_score_adj") << 500;
  {
    Node node;
    EXPECT_EQ("0\n", node.said(node.talking("cat /proc/self/oom_score_adj")));
  }
  std::ofstream("/proc/self/oom_score_adj") << before;
}

}  // namespace
}  // namespace drover::exec
