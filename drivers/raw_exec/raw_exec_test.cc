#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "drover/process.h"
#include "raw_exec_driver.h"
#include "sdk/testing/driver_conformance.h"
#include "sdk/testing/driver_node.h"
#include "sdk/testing/exec_caller.h"
#include "sdk/testing/waiting.h"

namespace drover::raw_exec {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

class Node : public DriverNode {
 public:
  explicit Node(bool uses_cgroups = true)
      : DriverNode([uses_cgroups](const Place& place) { return make(uses_cgroups, place); }) {}

  const Launcher::Options& launcher_options() const { return place().launcher; }
  int launcher_pid() const {
    auto client = Launcher::connect(launcher_options(), {}, SystemClock().steady() + 10s);
    return client.ok() ? (*client)->pid() : -1;
  }
  std::string fifo(const std::string& name) const {
    std::string at = path(name);
    EXPECT_EQ(0, mkfifo(at.c_str(), 0600));
    return at;
  }

 private:
  static std::unique_ptr<RawExecDriver> make(bool uses_cgroups, const Place& place) {
    auto driver = std::make_unique<RawExecDriver>();
    driver->open({.is_enabled = true,
                  .uses_cgroups = uses_cgroups,
                  .cgroup_parent = place.cgroup_parent,
                  .launcher = place.launcher});
    return driver;
  }
};

// For the conformance kit: one node for all checks, with control groups and without, looked over when all is done.
class Nodes final : public ::testing::Environment {
 public:
  static Node& get(bool uses_cgroups) {
    auto& node = all()[uses_cgroups ? 1 : 0];
    if (!node) node = std::make_unique<Node>(uses_cgroups);
    return *node;
  }
  void TearDown() override {
    for (auto& node : all()) node.reset();
  }

 private:
  static std::array<std::unique_ptr<Node>, 2>& all() {
    static std::array<std::unique_ptr<Node>, 2> nodes;
    return nodes;
  }
};
const ::testing::Environment* const kNodes = ::testing::AddGlobalTestEnvironment(new Nodes);

conformance::SubjectFactory subject(bool uses_cgroups) {
  return conformance::driver_subject([uses_cgroups] { return Nodes::get(uses_cgroups).another_driver(); });
}
DROVER_DRIVER_CONFORMANCE(RawExec, subject(true));
DROVER_DRIVER_CONFORMANCE(RawExecWithoutCgroups, subject(false));

TEST(RawExec, TakesNoMounts) {
  EXPECT_EQ(driver::DriverCapabilities::NO_MOUNTS, RawExecDriver().capabilities().mount_configs());
}

TEST(RawExec, ReportsADeathBySignal) {
  Node node;
  node.start(node.shell("a", "kill -SEGV $$"));
  driver::ExitResult result = node.wait("a");
  EXPECT_EQ(11, result.signal());
  EXPECT_EQ(139, result.exit_code());
  EXPECT_FALSE(result.oom_killed());
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(RawExec, GivesTheTaskItsEnvironmentAndFolderAndNothingElse) {
  Node node;
  driver::TaskConfig config =
      node.shell("a", "env > env.txt; pwd > pwd.txt; cat > stdin.txt; umask > umask.txt; ls /proc/self/fd > fds.txt");
  (*config.mutable_env())["NOMAD_TASK_NAME"] = "web";
  (*config.mutable_env())["GPU"] = "none";
  (*config.mutable_device_env())["GPU"] = "0";

  node.start(config);
  EXPECT_EQ(0, node.wait("a").exit_code());

  const std::string env = read_text(node.path("alloc/web/env.txt"));
  EXPECT_NE(std::string::npos, env.find("NOMAD_TASK_NAME=web\n")) << env;
  EXPECT_NE(std::string::npos, env.find("GPU=0\n")) << env;
  const bool has_cgroup = detect_cgroups().mode != CgroupLayout::Mode::none;
  EXPECT_EQ(has_cgroup, env.find("NOMAD_PARENT_CGROUP=drover-test") != std::string::npos) << env;
  EXPECT_EQ(std::string::npos, env.find("HOME=")) << env;
  EXPECT_EQ(node.path("alloc/web") + "\n", read_text(node.path("alloc/web/pwd.txt")));
  EXPECT_EQ("", read_text(node.path("alloc/web/stdin.txt")));
  EXPECT_EQ("0022\n", read_text(node.path("alloc/web/umask.txt")));
  EXPECT_EQ("0\n1\n2\n3\n", read_text(node.path("alloc/web/fds.txt")));  // the fourth is the folder that ls reads
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(RawExec, RunsCommandsInTheTasksSurroundings) {
  Node node;
  driver::TaskConfig config = node.shell("a", "exec sleep 1000");
  (*config.mutable_env())["GREETING"] = "hello";
  node.start(config);
  ExecCaller caller;
  caller.end_input();

  const Status status = node.driver().exec_task_streaming(
      {.task_id = "a",
       .command = {"sh", "-c", "pwd; echo $GREETING; ls /proc/self/fd; cat /proc/self/cgroup"},
       .tty = false},
      caller);

  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_TRUE(caller.out().starts_with(node.path("alloc/web") + "\nhello\n0\n1\n2\n3\n")) << caller.out();
  if (detect_cgroups().mode != CgroupLayout::Mode::none) {
    EXPECT_NE(std::string::npos, caller.out().find(cgroup_name("a"))) << caller.out();
  }
  EXPECT_TRUE(node.driver().destroy_task("a", true).ok());
}

TEST(RawExec, CommandsEndWithTheTaskAndWithTheDriver) {
  for (const bool ends_driver : {false, true}) {
    for (const bool uses_cgroups : {false, true}) {
      Node node(uses_cgroups);
      const auto started = node.driver().start_task(node.shell("a", "exec sleep 1000"));
      ASSERT_TRUE(started.ok()) << started.status().to_string();
      ExecCaller caller;
      auto running = std::async(std::launch::async, [&] {
        return node.driver().exec_task_streaming(
            {.task_id = "a", .command = {"sh", "-c", "echo $$ ready; exec sleep 1000"}, .tty = false}, caller);
      });
      ASSERT_TRUE(caller.wait_output("ready"));

      if (ends_driver) {
        node.driver().stop();
      } else {
        EXPECT_TRUE(node.driver().stop_task("a", 5s, "").ok());
      }

      ASSERT_EQ(std::future_status::ready, running.wait_for(20s));
      const Status status = running.get();
      EXPECT_EQ(ends_driver ? Code::unavailable : Code::ok, status.code()) << status.to_string();
      EXPECT_FALSE(is_alive(std::stoi(caller.out())));
      if (ends_driver) {
        node.restart();
        EXPECT_TRUE(node.driver().recover_task(started->handle()).ok());
      }
      EXPECT_TRUE(node.driver().destroy_task("a", true).ok());
    }
  }
}

TEST(RawExec, RunsAsTheUserThatTheTaskNames) {
  if (geteuid() != 0) GTEST_SKIP() << "missing: root, to become another user";
  Node node;
  ASSERT_EQ(0, chmod(node.path("").c_str(), 0755));
  ASSERT_EQ(0, chmod(node.path("alloc/web").c_str(), 0777));
  driver::TaskConfig config = node.shell("a", "id -u > id.txt");
  config.set_user("nobody");
  node.start(config);
  EXPECT_EQ(0, node.wait("a").exit_code());
  EXPECT_EQ("65534\n", read_text(node.path("alloc/web/id.txt")));
  config.set_id("b");
  config.set_user("no-such-user");
  EXPECT_EQ(invalid_argument("user \"no-such-user\" is not known on this machine"),
            node.driver().start_task(config).status());
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(RawExec, SaysWhyAProgramCannotRun) {
  Node node;
  std::ofstream(node.path("alloc/web/data")) << "no program";
  EXPECT_EQ(invalid_argument("exec /bin/nope: No such file or directory"),
            node.driver().start_task(node.task("a", {{"command", "/bin/nope"}})).status());
  EXPECT_EQ(invalid_argument("exec " + node.path("alloc/web/data") + ": Permission denied"),
            node.driver().start_task(node.task("a", {{"command", node.path("alloc/web/data")}})).status());
  Status nowhere = node.driver().start_task(node.task("a", {{"command", "nope"}})).status();
  EXPECT_EQ(Code::invalid_argument, nowhere.code());
  EXPECT_TRUE(nowhere.message().starts_with("exec nope: not found in the path ")) << nowhere.message();
  EXPECT_EQ(Code::invalid_argument,
            node.driver()
                .start_task(node.task("a", {{"command", "/bin/sh"}, {"args", {std::string("a\0b", 3)}}}))
                .status()
                .code());
  driver::TaskConfig homeless = node.shell("a", "true");
  homeless.set_name("nowhere");
  EXPECT_EQ(invalid_argument("chdir " + node.path("alloc/nowhere") + ": No such file or directory"),
            node.driver().start_task(homeless).status());
  driver::TaskConfig mute = node.shell("a", "true");
  mute.set_stdout_path(node.path("no.fifo"));
  EXPECT_EQ(invalid_argument("open " + node.path("no.fifo") + ": No such file or directory"),
            node.driver().start_task(mute).status());
}

TEST(RawExec, NamesWhatIsWrongInItsOptions) {
  RawExecDriver raw;
  EXPECT_EQ(invalid_argument("unknown config option \"comand\"; did you mean \"command\"?"),
            raw.encode_config(R"({"comand": "x"})").status());
  EXPECT_EQ(invalid_argument("config option \"command\" is missing"), raw.encode_config("{}").status());
  EXPECT_EQ(invalid_argument("config option \"args\" must be a list of texts"),
            raw.encode_config(R"({"command": "x", "args": [[]]})").status());
  EXPECT_TRUE(raw.encode_config(R"({"command": "x", "args": ["a", 1, true, 0.5]})").ok());
}

TEST(RawExec, IsUndetectedAndStartsNothingWhileDisabled) {
  RawExecDriver raw;
  raw.open({.is_enabled = false});
  EXPECT_EQ(driver::FingerprintResponse::UNDETECTED, raw.fingerprint().health());
  EXPECT_TRUE(raw.fingerprint().attributes().empty());
  driver::TaskConfig config;
  config.set_id("a");
  EXPECT_EQ(Code::permission_denied, raw.start_task(config).status().code());
}

TEST(RawExec, TellsItsControlGroupsInAnAttribute) {
  Node node;
  auto fingerprint = node.driver().fingerprint();
  EXPECT_EQ("1", fingerprint.attributes().at("driver.raw_exec").string_val());
  EXPECT_EQ(to_string(detect_cgroups().mode), fingerprint.attributes().at("driver.raw_exec.cgroups").string_val());
}

// Two processes that ignore signals and leave: one into another group, one into another session with its parent gone.
constexpr const char* kRunaways =
    "trap '' TERM INT; setsid sh -c 'trap \"\" TERM INT; echo $$ > session.pid; while :; do sleep 60; done' & "
    "sh -c '(setsid sh -c \"trap \\\"\\\" TERM INT; echo \\$\\$ > orphan.pid; exec sleep 3600\") &' ; "
    "while :; do sleep 60; done";

int written_pid(const std::string& path) {
  EXPECT_TRUE(eventually([&] { return read_text(path).ends_with("\n"); })) << path;
  return std::atoi(read_text(path).c_str());
}

TEST(RawExec, KillsTheWholeTreeAfterTheTimeout) {
  if (detect_cgroups().mode == CgroupLayout::Mode::none) GTEST_SKIP() << "missing: writable control groups";
  Node node;
  node.start(node.shell("a", kRunaways));
  const int session = written_pid(node.path("alloc/web/session.pid"));
  const int orphan = written_pid(node.path("alloc/web/orphan.pid"));

  const auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE(node.driver().stop_task("a", 100ms, "SIGTERM").ok());

  EXPECT_GE(std::chrono::steady_clock::now() - before, 100ms);
  EXPECT_FALSE(is_alive(session));
  EXPECT_FALSE(is_alive(orphan));
  EXPECT_EQ(9, node.wait("a").signal());
  EXPECT_FALSE(node.cgroup("a").exists());
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(RawExec, KillsWhatATaskLeavesBehindAtItsEnd) {
  if (detect_cgroups().mode == CgroupLayout::Mode::none) GTEST_SKIP() << "missing: writable control groups";
  Node node;
  node.start(node.shell("a",
                        "setsid sh -c 'echo $$ > left.pid; exec sleep 3600' & "
                        "until test -s left.pid; do sleep 0.01; done; exit 5"));
  EXPECT_EQ(5, node.wait("a").exit_code());
  EXPECT_FALSE(is_alive(written_pid(node.path("alloc/web/left.pid"))));
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(RawExec, KillsGroupsAndSessionsOfDescendantsWithoutControlGroups) {
  Node node(false);
  EXPECT_EQ("none", node.driver().fingerprint().attributes().at("driver.raw_exec.cgroups").string_val());
  node.start(node.shell("a",
                        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > s.pid; while :; do sleep 60; "
                        "done' & while :; do sleep 60; done"));
  const int session = written_pid(node.path("alloc/web/s.pid"));
  EXPECT_TRUE(node.driver().stop_task("a", 20ms, "SIGTERM").ok());
  EXPECT_FALSE(is_alive(session));
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(RawExec, SendsSignalsByNameAndNumber) {
  Node node;
  node.start(node.shell("a",
                        "trap 'echo hup >> got.txt' HUP; trap 'exit 3' USR1; touch ready; "
                        "while :; do sleep 0.01; done"));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(node.path("alloc/web/ready")); }));
  for (int i = 1; const char* name : {"SIGHUP", "hup", "1"}) {
    EXPECT_TRUE(node.driver().signal_task("a", name).ok());
    const size_t lines = static_cast<size_t>(i++) * 4;
    EXPECT_TRUE(eventually([&] { return read_text(node.path("alloc/web/got.txt")).size() == lines; })) << name;
  }
  EXPECT_TRUE(node.driver().signal_task("a", "SIGUSR1").ok());
  EXPECT_EQ(3, node.wait("a").exit_code());
  EXPECT_EQ(Code::failed_precondition, node.driver().signal_task("a", "SIGHUP").code());
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

std::string drain(int fd) {
  std::string text;
  char chunk[65536];
  for (ssize_t n = 0; (n = read(fd, chunk, sizeof chunk)) > 0;) text.append(chunk, static_cast<size_t>(n));
  return text;
}

TEST(RawExec, WritesToTheFifosAndTheReaderSeesTheEnd) {
  Node node;
  driver::TaskConfig config = node.shell("a", "echo out; echo err >&2");
  config.set_stdout_path(node.fifo("out"));
  config.set_stderr_path(node.fifo("err"));
  const int out = open(config.stdout_path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const int err = open(config.stderr_path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  node.start(config);
  EXPECT_EQ(0, node.wait("a").exit_code());
  std::string text;
  EXPECT_TRUE(eventually([&] {
    char chunk[256];
    const ssize_t n = read(out, chunk, sizeof chunk);
    if (n > 0) text.append(chunk, static_cast<size_t>(n));
    return n == 0;
  }));
  EXPECT_EQ("out\n", text);
  EXPECT_EQ("err\n", drain(err));
  close(out);
  close(err);
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(RawExec, KeepsOutputAndExitCodeOfATaskThatEndsWhileNobodyIsConnected) {
  Node node;
  driver::TaskConfig config = node.shell("a", "until test -e go; do sleep 0.01; done; echo written alone; exit 42");
  config.set_stdout_path(node.fifo("out"));
  auto started = node.driver().start_task(config);
  ASSERT_TRUE(started.ok()) << started.status().to_string();
  const int pid = std::stoi(node.driver().inspect_task("a")->driver().attributes().at("pid"));

  node.stop();
  std::ofstream(node.path("alloc/web/go")) << "";
  ASSERT_TRUE(eventually([&] { return !is_alive(pid); }));
  node.restart();

  // As the agent does: whoever reads the output is there before the task is found again, and may then be let go of.
  const int out = open(config.stdout_path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  Status recovered = node.driver().recover_task(started->handle());
  ASSERT_TRUE(recovered.ok()) << recovered.to_string();
  EXPECT_EQ(42, node.wait("a").exit_code());
  EXPECT_EQ("written alone\n", drain(out));
  close(out);
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(RawExec, FindsARunningTaskWithTheSameProcessAfterARestart) {
  Node node;
  auto started = node.driver().start_task(node.task("a", {{"command", "sleep"}, {"args", {"3600"}}}));
  ASSERT_TRUE(started.ok());
  const std::string pid = node.driver().inspect_task("a")->driver().attributes().at("pid");

  node.restart();

  ASSERT_TRUE(node.driver().recover_task(started->handle()).ok());
  EXPECT_EQ(pid, node.driver().inspect_task("a")->driver().attributes().at("pid"));
  // In the moment of its exec a process has no memory.
  EXPECT_TRUE(eventually([&] {
    const auto stats = node.driver().task_stats("a");
    return stats.ok() && stats->resource_usage_by_pid().contains(pid) && stats->agg_resource_usage().memory().rss() > 0;
  }));
  EXPECT_TRUE(node.driver().destroy_task("a", true).ok());
  EXPECT_EQ(Code::not_found, node.driver().recover_task(started->handle()).code());
}

TEST(RawExec, NoticesTheEndOfATaskWhoseLauncherWasKilled) {
  Node node;
  auto started = node.driver().start_task(node.task("a", {{"command", "sleep"}, {"args", {"3600"}}}));
  ASSERT_TRUE(started.ok());
  const int pid = std::stoi(node.driver().inspect_task("a")->driver().attributes().at("pid"));

  const int launcher = node.launcher_pid();
  ASSERT_EQ(0, kill(launcher, SIGKILL));
  ASSERT_TRUE(eventually([&] { return !is_alive(launcher); }));

  EXPECT_TRUE(is_alive(pid));
  EXPECT_EQ(driver::RUNNING, node.driver().inspect_task("a")->task().state());
  ASSERT_EQ(0, kill(pid, SIGKILL));
  auto result = std::async(std::launch::async, [&] { return node.driver().wait_task("a", {}); });
  ASSERT_EQ(std::future_status::ready, result.wait_for(30s));
  EXPECT_EQ(Status(Code::unknown, "the task ended while its launcher was gone; its exit code is not known"),
            result.get().status());
  EXPECT_EQ(-1, node.driver().inspect_task("a")->task().result().exit_code());
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(RawExec, RecoversATaskWhoseLauncherWasKilledAndNeverAStranger) {
  Node node;
  auto started = node.driver().start_task(node.task("a", {{"command", "sleep"}, {"args", {"3600"}}}));
  ASSERT_TRUE(started.ok());
  const int pid = std::stoi(node.driver().inspect_task("a")->driver().attributes().at("pid"));
  const int launcher = node.launcher_pid();
  node.stop();
  ASSERT_EQ(0, kill(launcher, SIGKILL));
  ASSERT_TRUE(eventually([&] { return !is_alive(launcher); }));
  node.restart();

  // The same number with another start time is another process.
  driver::TaskHandle stranger = started->handle();
  stranger.mutable_config()->set_id("b");
  Json state = Json::parse(stranger.driver_state());
  state["start_time"] = state["start_time"].get<uint64_t>() + 1;
  state["cgroup"] = "";
  stranger.set_driver_state(state.dump());
  EXPECT_EQ(Code::not_found, node.driver().recover_task(stranger).code());
  EXPECT_TRUE(is_alive(pid));

  ASSERT_TRUE(node.driver().recover_task(started->handle()).ok());
  EXPECT_TRUE(node.driver().stop_task("a", 10s, "SIGTERM").ok());
  EXPECT_FALSE(is_alive(pid));
  EXPECT_EQ(Code::unknown, node.driver().wait_task("a", {}).status().code());
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(RawExec, TellsADeathForLackOfMemoryApart) {
  Node node;
  // Waits for its limit, then takes more than it: tail keeps the one endless line of zeros in memory.
  node.start(node.shell("a", "until test -e go; do sleep 0.01; done; exec tail /dev/zero"));
  const std::string memory = node.cgroup("a").folder("memory");
  const bool is_limited = !memory.empty() && [&] {
    std::ofstream limit(memory +
                        (std::filesystem::exists(memory + "/memory.max") ? "/memory.max" : "/memory.limit_in_bytes"));
    limit << (32 << 20) << std::flush;
    return limit.good();
  }();
  if (!is_limited) {
    EXPECT_TRUE(node.driver().destroy_task("a", true).ok());
    GTEST_SKIP() << "missing: a writable memory controller";
  }
  std::ofstream(node.path("alloc/web/go")) << "";
  driver::ExitResult result = node.wait("a");
  EXPECT_EQ(9, result.signal());
  EXPECT_TRUE(result.oom_killed());
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(RawExec, CountsProcessorTimeBetweenTwoSamples) {
  Node node;
  node.start(node.shell("a", "while :; do :; done"));
  ASSERT_TRUE(node.driver().task_stats("a").ok());
  EXPECT_TRUE(eventually([&] {
    auto stats = node.driver().task_stats("a");
    return stats.ok() && stats->agg_resource_usage().cpu().percent() > 1;
  }));
  EXPECT_TRUE(node.driver().destroy_task("a", true).ok());
  EXPECT_EQ(Code::not_found, node.driver().task_stats("a").status().code());
}

}  // namespace
}  // namespace drover::raw_exec
