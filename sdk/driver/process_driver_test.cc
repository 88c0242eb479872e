// The base of drivers whose tasks are processes, with parts of isolation that only write down what is asked of them.
#include "drover/process_driver.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "drover/process.h"
#include "nomad/plugins/driver.pb.h"
#include "process_handle.h"
#include "sdk/testing/exec_caller.h"
#include "sdk/testing/waiting.h"
#include "task_start.h"

namespace drover {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

// The calls to all parts, in order.
class Diary {
 public:
  void add(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  Lines take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  std::mutex mutex_;
  Lines lines_;  // guarded by mutex_
};

class NotedIsolation final : public TaskIsolation {
 public:
  NotedIsolation(std::string name, std::string state, Diary& diary)
      : name_(std::move(name)), state_(std::move(state)), diary_(diary) {}
  std::string state() const override { return state_; }
  void apply(Launcher::Start& start) const override {
    diary_.add("apply " + name_);
    start.environment.push_back("PART_" + name_ + "=" + state_);
  }
  Status tear_down() const override {
    diary_.add("tear down " + name_ + " " + state_);
    return ok_status();
  }

 private:
  const std::string name_, state_;
  Diary& diary_;
};

class NotedPart final : public IsolationPart {
 public:
  NotedPart(std::string name, Diary& diary, bool fails = false)
      : name_(std::move(name)), diary_(diary), fails_(fails) {}
  std::string_view name() const override { return name_; }
  void describe(driver::DriverCapabilities& capabilities) const override {
    capabilities.set_fs_isolation(driver::DriverCapabilities::CHROOT);
  }
  Result<std::unique_ptr<TaskIsolation>> set_up(const driver::TaskConfig& task, const IsolationNeeds&) override {
    diary_.add("set up " + name_);
    if (fails_) return resource_exhausted("no room for " + name_);
    return made("of " + task.id());
  }
  Result<std::unique_ptr<TaskIsolation>> recover(const driver::TaskConfig&, std::string_view state) override {
    diary_.add("recover " + name_ + " " + std::string(state));
    if (state == "broken") return invalid_argument("it is broken");
    return made(std::string(state));
  }

 private:
  Result<std::unique_ptr<TaskIsolation>> made(std::string state) {
    return std::unique_ptr<TaskIsolation>(std::make_unique<NotedIsolation>(name_, std::move(state), diary_));
  }

  const std::string name_;
  Diary& diary_;
  const bool fails_;
};

using Parts = std::vector<std::unique_ptr<IsolationPart>>;

class Shell final : public ProcessDriver {
 public:
  Shell(const std::string& folder, Parts parts) : ProcessDriver("shell") {
    set_launcher({.folder = folder, .program = {}, .grace = 50ms});
    if (!parts.empty()) isolate_with(std::move(parts));
  }
  Result<Command> command(const driver::TaskConfig& task, TaskOptions&) override {
    return Command{.program = "/bin/sh", .arguments = {"-c", task.env().at("SCRIPT")}};
  }
};

// Asks its tasks to end by a file in their folder.
class Asking final : public ProcessDriver {
 public:
  explicit Asking(const std::string& folder) : ProcessDriver("asking") {
    set_launcher({.folder = folder, .program = {}, .grace = 50ms});
  }
  Result<Command> command(const driver::TaskConfig& task, TaskOptions&) override {
    return Command{.program = "/bin/sh", .arguments = {"-c", task.env().at("SCRIPT")}};
  }
  bool ask_to_end(const driver::TaskConfig& task) override {
    std::ofstream(task_folder(task) + "/please") << "end";
    return true;
  }
};

class ProcessDriverTest : public ::testing::Test {
 protected:
  ProcessDriverTest() {
    char name[] = "/tmp/drover-process-driver-XXXXXX";
    EXPECT_NE(nullptr, mkdtemp(name));
    folder_ = name;
    std::filesystem::create_directories(folder_ + "/alloc/web/local");
  }
  ~ProcessDriverTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Shell> plain() const { return std::make_unique<Shell>(folder_ + "/run", Parts{}); }
  // With the parts "a" and "b"; or, last, one that fails.
  std::unique_ptr<Shell> isolated(bool fails = false) {
    Parts parts;
    parts.push_back(std::make_unique<NotedPart>("a", diary_));
    parts.push_back(std::make_unique<NotedPart>("b", diary_));
    if (fails) parts.push_back(std::make_unique<NotedPart>("c", diary_, true));
    return std::make_unique<Shell>(folder_ + "/run", std::move(parts));
  }
  driver::TaskConfig task(const std::string& script) const {
    driver::TaskConfig config;
    config.set_id("alloc/web/1");
    config.set_name("web");
    config.set_alloc_dir(folder_ + "/alloc");
    (*config.mutable_env())["SCRIPT"] = script;
    return config;
  }
  static driver::TaskHandle start(Shell& shell, const driver::TaskConfig& config) {
    auto started = shell.start_task(config);
    EXPECT_TRUE(started.ok()) << started.status().to_string();
    return started.ok() ? started->handle() : driver::TaskHandle();
  }

  std::string folder_;
  Diary diary_;
};

TEST_F(ProcessDriverTest, SetsItsPartsUpInOrderAndTearsThemDownBackwards) {
  const auto shell = isolated();
  start(*shell, task("test \"$PART_a$PART_b\" = \"of alloc/web/1of alloc/web/1\""));
  const auto result = shell->wait_task("alloc/web/1", {});

  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(0, result->exit_code());
  EXPECT_EQ(
      (Lines{"set up a", "set up b", "apply a", "apply b", "tear down b of alloc/web/1", "tear down a of alloc/web/1"}),
      diary_.take());
  EXPECT_EQ(driver::DriverCapabilities::CHROOT, shell->capabilities().fs_isolation());
  EXPECT_TRUE(shell->destroy_task("alloc/web/1", false).ok());
}

TEST_F(ProcessDriverTest, AppliesItsPartsToCommandsInsideATask) {
  const auto shell = isolated();
  start(*shell, task("exec sleep 1000"));
  diary_.take();
  ExecCaller caller;
  caller.end_input();

  const Status status = shell->exec_task_streaming(
      {.task_id = "alloc/web/1", .command = {"sh", "-c", "echo $PART_b"}, .tty = false}, caller);

  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ("of alloc/web/1\n", caller.out());
  EXPECT_EQ((Lines{"apply a", "apply b"}), diary_.take());
  EXPECT_TRUE(shell->destroy_task("alloc/web/1", true).ok());
}

TEST_F(ProcessDriverTest, TakesBackWhatItSetUpForATaskThatCannotStart) {
  const Lines undone = {"tear down b of alloc/web/1", "tear down a of alloc/web/1"};
  const auto failing = isolated(true);
  EXPECT_EQ(resource_exhausted("no room for c"), failing->start_task(task("true")).status());
  Lines expected = {"set up a", "set up b", "set up c"};
  expected.insert(expected.end(), undone.begin(), undone.end());
  EXPECT_EQ(expected, diary_.take());

  const auto shell = isolated();
  driver::TaskConfig homeless = task("true");
  homeless.set_name("nowhere");
  EXPECT_EQ(Code::invalid_argument, shell->start_task(homeless).status().code());
  expected = {"set up a", "set up b", "apply a", "apply b"};
  expected.insert(expected.end(), undone.begin(), undone.end());
  EXPECT_EQ(expected, diary_.take());
}

TEST_F(ProcessDriverTest, FindsItsPartsAgainByTheHandle) {
  driver::TaskHandle handle = start(*isolated(), task("exec sleep 1000"));
  diary_.take();
  const auto shell = isolated();

  EXPECT_TRUE(shell->recover_task(handle).ok());
  EXPECT_EQ((Lines{"recover a of alloc/web/1", "recover b of alloc/web/1"}), diary_.take());
  EXPECT_TRUE(shell->stop_task("alloc/web/1", 10s, "SIGTERM").ok());
  EXPECT_EQ((Lines{"tear down b of alloc/web/1", "tear down a of alloc/web/1"}), diary_.take());
  EXPECT_TRUE(shell->destroy_task("alloc/web/1", false).ok());

  auto state = read_handle(handle.driver_state());
  ASSERT_TRUE(state);
  state->isolation["b"] = "broken";
  handle.set_driver_state(write_handle(*state));
  EXPECT_EQ(invalid_argument("handle of task alloc/web/1: it is broken"), shell->recover_task(handle));
}

TEST_F(ProcessDriverTest, RecoversATaskFromAHandleOfTheOlderForm) {
  auto shell = plain();
  driver::TaskHandle handle = start(*shell, task("exec sleep 1000"));
  const auto state = read_handle(handle.driver_state());
  ASSERT_TRUE(state);
  const std::string began = shell->inspect_task("alloc/web/1")->task().started_at().SerializeAsString();
  shell.reset();
  shell = plain();

  handle.set_driver_state(std::to_string(state->process.pid) + ":" + std::to_string(state->process.start_time));
  ASSERT_TRUE(shell->recover_task(handle).ok());
  EXPECT_EQ(began, shell->inspect_task("alloc/web/1")->task().started_at().SerializeAsString());
  EXPECT_TRUE(shell->destroy_task("alloc/web/1", true).ok());
  EXPECT_FALSE(is_alive(state->process.pid));
}

TEST_F(ProcessDriverTest, FindsATaskOfWhoseStartNobodyHeard) {
  auto shell = plain();
  driver::TaskHandle handle = start(*shell, task("exec sleep 1000"));
  const std::string pid = shell->inspect_task("alloc/web/1")->driver().attributes().at("pid");
  shell.reset();
  shell = plain();

  handle.clear_driver_state();
  handle.clear_version();
  ASSERT_TRUE(shell->recover_task(handle).ok());
  EXPECT_EQ(pid, shell->inspect_task("alloc/web/1")->driver().attributes().at("pid"));
  EXPECT_TRUE(shell->destroy_task("alloc/web/1", true).ok());
  EXPECT_FALSE(is_alive(std::stoi(pid)));
  EXPECT_EQ(Code::not_found, shell->recover_task(handle).code());
}

TEST_F(ProcessDriverTest, KillsWhatATaskLeavesBehindBeforeItHasExited) {
  const auto shell = plain();
  start(*shell, task("sleep 1000 & echo $! > pid.txt"));
  EXPECT_TRUE(shell->wait_task("alloc/web/1", {}).ok());
  int left = 0;
  std::ifstream(folder_ + "/alloc/web/pid.txt") >> left;
  ASSERT_GT(left, 1);
  EXPECT_FALSE(is_alive(left));
  EXPECT_TRUE(shell->destroy_task("alloc/web/1", false).ok());
}

TEST_F(ProcessDriverTest, AsksATaskToEndAndSignalsItOnlyThen) {
  const struct {
    const char* name;
    const char* script;
    std::chrono::nanoseconds timeout;
    int exit_code;
  } cases[] = {
      {"it listens", "trap 'exit 3' TERM; while [ ! -e please ]; do sleep 0.01; done; exit 5", 60s, 5},
      {"it does not", "exec sleep 3600", 200ms, 128 + SIGTERM},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Asking asking(folder_ + "/run");
    std::filesystem::remove(folder_ + "/alloc/web/please");
    const auto started = asking.start_task(task(c.script));
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    EXPECT_TRUE(asking.stop_task("alloc/web/1", c.timeout, "SIGTERM").ok());
    EXPECT_EQ(c.exit_code, asking.wait_task("alloc/web/1", {})->exit_code());
    EXPECT_TRUE(asking.destroy_task("alloc/web/1", false).ok());
  }
}

TEST_F(ProcessDriverTest, WatchesATaskWhoseLauncherWasKilled) {
  const auto shell = plain();
  start(*shell, task("exec sleep 1000"));
  const int pid = std::stoi(shell->inspect_task("alloc/web/1")->driver().attributes().at("pid"));
  const int launcher = [&] {
    auto client =
        Launcher::connect({.folder = folder_ + "/run", .program = {}, .grace = 50ms}, {}, SystemClock().steady() + 10s);
    return client.ok() ? (*client)->pid() : -1;
  }();
  ASSERT_EQ(0, kill(launcher, SIGKILL));
  ASSERT_TRUE(eventually([&] { return !is_alive(launcher); }));

  ASSERT_EQ(0, kill(pid, SIGKILL));
  EXPECT_EQ(Code::unknown, shell->wait_task("alloc/web/1", {}).status().code());
  EXPECT_TRUE(shell->destroy_task("alloc/web/1", false).ok());
}

TEST_F(ProcessDriverTest, FindsProgramsOfTheTaskBeforeThoseOfThePath) {
  const std::string task = folder_ + "/alloc/web";
  EXPECT_EQ("/anything", *find_program("/anything", "/t", ""));
  EXPECT_EQ("/bin/sh", *find_program("sh", task, "relative:/bin"));
  std::ofstream(task + "/local/sh") << "#!/bin/true\n";
  ASSERT_EQ(0, chmod((task + "/local/sh").c_str(), 0755));
  EXPECT_EQ(task + "/local/sh", *find_program("sh", task, "/bin"));
  EXPECT_EQ(task + "/local/sh", *find_program("local/sh", task, "/bin"));
}

TEST(ProcessHandle, ReadsWhatItWritesAndWhatOlderDriversWrote) {
  const ProcessHandle handle{.process = {.pid = 4711, .start_time = 81523, .started_at = 1'700'000'000},
                             .isolation = {{"cgroup", "drover/a"}},
                             .launcher = "/run/x"};
  const auto read = read_handle(write_handle(handle));
  ASSERT_TRUE(read);
  EXPECT_EQ(4711, read->process.pid);
  EXPECT_EQ(81523u, read->process.start_time);
  EXPECT_EQ(1'700'000'000, read->process.started_at);
  EXPECT_EQ(handle.isolation, read->isolation);
  EXPECT_EQ("/run/x", read->launcher);

  const auto raw_exec = read_handle(
      R"({"cgroup":"drover/a_web_1","launcher":"/d/launcher","pid":7,"start_time":8,"started_at":9,"version":1})");
  ASSERT_TRUE(raw_exec);
  EXPECT_EQ("drover/a_web_1", raw_exec->isolation.at("cgroup"));
  const auto older = read_handle("4711:81523");
  ASSERT_TRUE(older);
  EXPECT_EQ(81523u, older->process.start_time);
}

TEST(ProcessHandle, RefusesWhatItCannotRead) {
  for (const char* text : {"", "4711", "4711:", "4711:x", "4711:1 ", "1:2", "[]", "{}",
                           R"({"version":2,"pid":7,"start_time":8,"started_at":9})",
                           R"({"version":1,"pid":"7","start_time":8,"started_at":9})",
                           R"({"version":1,"pid":0,"start_time":8,"started_at":9})"})
    EXPECT_FALSE(read_handle(text)) << text;
}

}  // namespace
}  // namespace drover
