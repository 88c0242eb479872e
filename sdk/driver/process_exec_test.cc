// Commands beside a task, as real processes of a real launcher.
#include "drover/process_exec.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "drover/process.h"
#include "nomad/plugins/driver.pb.h"
#include "sdk/testing/exec_caller.h"
#include "sdk/testing/waiting.h"

namespace drover {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 20s;

SteadyTime soon() { return SystemClock().steady() + kPatience; }

using Caller = ExecCaller;

class ProcessExec : public ::testing::Test {
 protected:
  ProcessExec() {
    char name[] = "/tmp/drover-exec-XXXXXX";
    EXPECT_NE(nullptr, mkdtemp(name));
    folder_ = name;
    auto client = Launcher::connect({.folder = folder_ + "/run", .program = {}, .grace = 50ms}, {}, soon());
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    launcher_ = *std::move(client);
  }
  ~ProcessExec() override {
    const int pid = launcher_->pid();
    const auto deadline = soon();
    launcher_.reset();
    while (process_stat(pid) && process_stat(pid)->state != 'Z' && SystemClock().steady() < deadline)
      poll(nullptr, 0, 5);
    std::filesystem::remove_all(folder_);
  }
  Launcher::Start shell(const std::string& script) const {
    return {.id = "alloc/task/1",
            .program = "/bin/sh",
            .arguments = {"sh", "-c", script},
            .environment = {"PATH=/usr/bin:/bin", "GREETING=hello"},
            .directory = folder_,
            .stdout_path = {},
            .stderr_path = {},
            .user = {},
            .cgroup_files = {}};
  }
  Status run(const std::string& script, bool tty = false) {
    return run_process_exec(*launcher_, shell(script), tty, caller_, task_ended_.get_token());
  }
  size_t entries_in_run() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/run"))
      count += entry.path().filename().string().starts_with("exec-");
    return count;
  }

  std::string folder_;
  std::unique_ptr<Launcher> launcher_;
  Caller caller_;
  std::stop_source task_ended_;
};

TEST_F(ProcessExec, RunsInItsSurroundingsAndTellsBothOutputsAndTheResult) {
  ASSERT_TRUE(run("echo $GREETING; pwd; echo wrong >&2; exit 3").ok());

  EXPECT_EQ("hello\n" + folder_ + "\n", caller_.out());
  EXPECT_EQ("wrong\n", caller_.err());
  EXPECT_EQ(2, caller_.ends());
  ASSERT_TRUE(caller_.result());
  EXPECT_EQ(3, caller_.result()->exit_code());
  EXPECT_EQ(0, caller_.result()->signal());
  EXPECT_EQ(0u, entries_in_run());
}

TEST_F(ProcessExec, TakesInputUntilItsEnd) {
  caller_.input("one\n");
  caller_.input(std::string(200'000, 'x') + "\n");  // more than a pipe holds
  caller_.end_input();

  ASSERT_TRUE(run("wc -l -c").ok());

  EXPECT_NE(std::string::npos, caller_.out().find("200005")) << caller_.out();
}

TEST_F(ProcessExec, LosesNothingOfALargeOutput) {
  ASSERT_TRUE(run("head -c 3000000 /dev/zero | tr '\\0' a").ok());

  EXPECT_EQ(3'000'000u, caller_.out().size());
}

TEST_F(ProcessExec, HasATerminalOfItsSize) {
  caller_.resize(33, 77);
  caller_.input("go\n");

  ASSERT_TRUE(run("test -t 0 && test -t 1 && test -t 2 && read x && stty size && tty && echo wrong >&2", true).ok());

  EXPECT_NE(std::string::npos, caller_.out().find("33 77")) << caller_.out();
  EXPECT_NE(std::string::npos, caller_.out().find("/dev/pts/")) << caller_.out();
  EXPECT_NE(std::string::npos, caller_.out().find("wrong")) << caller_.out();
  EXPECT_EQ("", caller_.err());
  EXPECT_EQ(0, caller_.result()->exit_code());
}

TEST_F(ProcessExec, TheEndOfTheInputReachesATerminal) {
  caller_.input("word\n");
  caller_.end_input();

  ASSERT_TRUE(run("cat", true).ok());

  EXPECT_EQ(0, caller_.result()->exit_code());
}

TEST_F(ProcessExec, DeathByASignalIsAResult) {
  ASSERT_TRUE(run("kill -TERM $$").ok());

  EXPECT_EQ(128 + SIGTERM, caller_.result()->exit_code());
  EXPECT_EQ(SIGTERM, caller_.result()->signal());
}

TEST_F(ProcessExec, SaysWhatCannotBeRun) {
  Launcher::Start start = shell("");
  start.program = "/no/such/program";

  const Status status = run_process_exec(*launcher_, start, false, caller_, task_ended_.get_token());

  EXPECT_EQ(Code::invalid_argument, status.code());
  EXPECT_EQ("exec /no/such/program: No such file or directory", status.message());
  EXPECT_EQ(0u, entries_in_run());
}

TEST_F(ProcessExec, EndsWhenTheCallerGoesAlsoWhatIgnoresTheHangUp) {
  for (const bool tty : {false, true}) {
    Caller caller;
    std::thread leaver([&] {
      EXPECT_TRUE(caller.wait_output("ready"));
      caller.leave();
    });

    const Status status = run_process_exec(*launcher_, shell("trap '' HUP; echo $$ ready; while :; do sleep 1; done"),
                                           tty, caller, task_ended_.get_token());

    leaver.join();
    EXPECT_EQ(Code::cancelled, status.code()) << status.to_string();
    const auto left = process_stat(std::stoi(caller.out()));
    EXPECT_TRUE(!left || left->state == 'Z');
  }
}

TEST_F(ProcessExec, EndsWithTheTask) {
  std::thread task([&] {
    EXPECT_TRUE(caller_.wait_output("ready"));
    task_ended_.request_stop();
  });

  const Status status = run("echo ready; sleep 1000");

  task.join();
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_NE(0, caller_.result()->signal());
}

TEST_F(ProcessExec, EndsWhenTheLauncherIsKilled) {
  std::thread killer([&] {
    EXPECT_TRUE(caller_.wait_output("ready"));
    kill(launcher_->pid(), SIGKILL);
  });

  const Status status = run("echo $$ ready; exec sleep 1000");

  killer.join();
  EXPECT_EQ(Code::unavailable, status.code()) << status.to_string();
  kill_tree(std::stoi(caller_.out()), process_start_time(std::stoi(caller_.out())).value_or(0), 1000);
}

TEST_F(ProcessExec, WhatItLeavesBehindDoesNotKeepTheCallOpen) {
  ASSERT_TRUE(run("sleep 3 & echo done").ok());

  EXPECT_EQ("done\n", caller_.out());
  EXPECT_EQ(0, caller_.result()->exit_code());
}

TEST_F(ProcessExec, ALauncherEndsTheCommandsOfAClientThatIsGone) {
  auto other = Launcher::connect({.folder = folder_ + "/run", .program = {}, .grace = 50ms}, {}, soon());
  ASSERT_TRUE(other.ok());
  Caller caller;
  std::thread user([&] {
    // The client's end cuts the command off.
    (void)run_process_exec(**other, shell("echo $$ ready; exec sleep 1000"), false, caller, task_ended_.get_token());
  });
  ASSERT_TRUE(caller.wait_output("ready"));

  other->reset();
  user.join();

  const auto deadline = soon();
  const int pid = std::stoi(caller.out());
  while (process_stat(pid) && process_stat(pid)->state != 'Z' && SystemClock().steady() < deadline) poll(nullptr, 0, 5);
  EXPECT_TRUE(!process_stat(pid) || process_stat(pid)->state == 'Z');
  EXPECT_TRUE(eventually([&] {
    const auto known = launcher_->list(soon());
    return known.ok() && known->empty();
  }));
}

}  // namespace
}  // namespace drover
