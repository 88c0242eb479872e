// Whatever a plugin's process does, the agent goes on, and view() says what happened.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "node_plugins.h"
#include "testing/running_plugin.h"

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;
using State = Supervision::State;

driver::TaskConfig task() {
  driver::TaskConfig config;
  config.set_id("5f1c7d2e-0000-4000-8000-000000000001/web/0a1b2c3d");
  config.set_name("web");
  return config;
}

// The remarks that an operator is told of it.
std::string remarks(RunningPlugin& plugin) {
  std::string all;
  const v1::NodePlugin told = describe(plugin.hosted());
  for (const std::string& remark : told.remarks()) all += remark + "\n";
  return all;
}

TEST(Misbehaviour, NoiseBeforeTheHandshakeParksIt) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"noise"});

  ASSERT_TRUE(plugin.wait_state(State::parked));
  EXPECT_EQ(
      "the program does not speak the plugin protocol (check that it is a plugin, for this machine); its first line of "
      "output was \"hello, I am a plugin\"",
      plugin.program().view().problem);
  EXPECT_EQ(nullptr, plugin.hosted().find<TaskDriver>()) << "it has not said that it is one";
}

TEST(Misbehaviour, AnotherVersionParksIt) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"other-version"});

  ASSERT_TRUE(plugin.wait_state(State::parked));
  EXPECT_NE(std::string::npos, plugin.program().view().problem.find("speaks version 3 of the plugin protocol, not 2"))
      << plugin.program().view().problem;
}

TEST(Misbehaviour, EndingAtOnceIsTriedAgainAndThenParked) {
  SupervisionTimes times = quick_times();
  times.crashes = 3;
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"exits"}, times);

  ASSERT_TRUE(plugin.wait_state(State::parked));
  const auto view = plugin.program().view();
  EXPECT_EQ(2u, view.restarts);
  EXPECT_EQ("exit code 3 before the handshake; it said last: there is no licence", view.problem);
  ASSERT_EQ(3u, view.crashes.size());
  EXPECT_EQ(std::vector<std::string>{"there is no licence"}, view.crashes[0].last_lines);
}

TEST(Misbehaviour, SilenceInsteadOfAHandshakeIsEnded) {
  SupervisionTimes times = quick_times();
  times.start = 200ms;
  times.crashes = 2;
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"hangs"}, times);

  ASSERT_TRUE(plugin.wait_state(State::parked));
  EXPECT_EQ("no handshake within 200ms", plugin.program().view().problem);
  EXPECT_EQ(0, plugin.program().view().pid);
}

TEST(Misbehaviour, ADriverThatForgetsHowTheTaskEndedIsAskedBefore) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"tells-exit-once"});
  ASSERT_TRUE(plugin.wait_state(State::running));
  ASSERT_TRUE(plugin->start_task(task()).ok());

  ASSERT_TRUE(plugin->stop_task(task().id(), 5s, "").ok());

  const auto exit = plugin->wait_task(task().id(), {});
  ASSERT_TRUE(exit.ok()) << exit.status().to_string();
  EXPECT_EQ(130, exit->exit_code());
}

TEST(Misbehaviour, AFloodOfLinesIsBounded) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"flood"});

  ASSERT_TRUE(plugin.wait_state(State::running));
  EXPECT_TRUE(plugin->start_task(task()).ok());
  ASSERT_TRUE(plugin.replace());
  ASSERT_EQ(1u, plugin.program().view().crashes.size());
  EXPECT_LE(plugin.program().view().crashes[0].last_lines.size(), 50u);
  ASSERT_TRUE(plugin.eventually([&] { return plugin.program().view().dropped_lines > 10'000; }));
  EXPECT_NE(std::string::npos, remarks(plugin).find("it wrote more than 1,000 lines a second; ")) << remarks(plugin);
}

TEST(Misbehaviour, GarbageInsteadOfAnswersIsNoAnswer) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"garbage"});

  ASSERT_TRUE(plugin.eventually([&] { return plugin.program().view().crashes.size() >= 2; }));
  EXPECT_EQ("", plugin.program().info().name());
  EXPECT_EQ(nullptr, plugin.hosted().find<TaskDriver>());
  EXPECT_NE("", plugin.program().view().crashes[0].reason);
}

TEST(Misbehaviour, AnErrorThatIsNoTextIsMadeOne) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"says-no-text"});

  const Status status = plugin->start_task(task()).status();

  EXPECT_EQ("the image \xef\xbf\xbd\xef\xbf\xbd is not there", status.message());
}

TEST(Misbehaviour, WhoStaysBehindAndWritesOnIsNotWaitedFor) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"leaves-a-flood"});
  ASSERT_TRUE(plugin.wait_state(State::running));

  EXPECT_TRUE(plugin->start_task(task()).ok());  // by the second process

  EXPECT_EQ(1u, plugin.program().view().restarts);
}

TEST(Misbehaviour, LostDescriptorsHaveALimitAndAreToldOf) {
  SupervisionTimes times = quick_times();
  times.check_every = 200ms;
  PluginSettings settings{.arguments = {"loses-descriptors"}};
  settings.limits.open_files = 100;
  RunningPlugin plugin(DROVER_ODD_PROGRAM, settings, times);

  ASSERT_TRUE(plugin.wait_state(State::running));
  EXPECT_FALSE(plugin.program().view().is_short_of_descriptors);
  EXPECT_TRUE(plugin->start_task(task()).ok());
  ASSERT_TRUE(plugin.eventually([&] { return plugin.program().view().is_short_of_descriptors; }));
  const v1::NodePlugin told = describe(plugin.hosted());
  EXPECT_EQ(100u, told.use().descriptors_limit());
  EXPECT_GE(told.use().descriptors(), 90u);
  EXPECT_LE(told.use().descriptors(), 100u);
  EXPECT_NE(std::string::npos, remarks(plugin).find("of 100 descriptors open; it may be losing them"));
}

TEST(Misbehaviour, NoAnswerToHealthChecksEndsIt) {
  SupervisionTimes times = quick_times();
  times.check_every = 300ms;
  times.checks_missed = 2;
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"well"}, times);
  ASSERT_TRUE(plugin.wait_state(State::running));
  const pid_t frozen = plugin.program().view().pid;

  ASSERT_EQ(0, ::kill(frozen, SIGSTOP));

  ASSERT_TRUE(plugin.eventually(
      [&] { return plugin.program().view().pid != frozen && plugin.program().view().state == State::running; }));
  ASSERT_FALSE(plugin.program().view().crashes.empty());
  EXPECT_EQ("it did not answer health checks", plugin.program().view().crashes[0].reason);
  EXPECT_NE(std::string::npos, remarks(plugin).find("it did not answer a health check, 2 times")) << remarks(plugin);
}

TEST(Misbehaviour, WhoDoesNotEndWhenToldIsKilled) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"ignores-shutdown"});
  ASSERT_TRUE(plugin.wait_state(State::running));
  const pid_t pid = plugin.program().view().pid;
  const auto before = std::chrono::steady_clock::now();

  plugin.program().stop();

  EXPECT_NE(0, ::kill(pid, 0));
  EXPECT_GE(std::chrono::steady_clock::now() - before, 1500ms) << "it did end by itself";
  EXPECT_EQ(State::stopped, plugin.program().view().state);
  EXPECT_NE(std::string::npos, remarks(plugin).find("it did not end when it was told to and was killed, once"));
}

TEST(Misbehaviour, WhatIsLimitedHasAControlGroupOfItsOwn) {
  const CgroupLayout layout = detect_cgroups();
  const Cgroup probe(layout, "drover-plugins/probe");
  if (probe.folder("memory").empty() && layout.v2.empty())
    GTEST_SKIP() << "this process may not make control groups for memory";
  PluginSettings settings{.arguments = {"well"}};
  settings.limits.memory = uint64_t{256} << 20;
  settings.limits.processes = 40;
  RunningPlugin plugin(DROVER_ODD_PROGRAM, settings, quick_times());

  ASSERT_TRUE(plugin.wait_state(State::running)) << plugin.program().view().problem;
  const v1::NodePlugin told = describe(plugin.hosted());
  EXPECT_NE("", told.use().cgroup());
  EXPECT_EQ(uint64_t{256} << 20, told.use().memory_limit());
  EXPECT_EQ(40u, told.use().processes_limit());
  EXPECT_GE(told.use().processes(), 1u);
  EXPECT_GT(told.use().memory(), 0u);
  std::ifstream members(told.use().cgroup() + "/cgroup.procs");
  pid_t member = 0;
  members >> member;
  EXPECT_EQ(plugin.program().view().pid, member);
  const std::string folder = told.use().cgroup();
  plugin.program().stop();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Misbehaviour, AsAnotherUserItServesAndMayLess) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may start a plugin as another user";
  RunningPlugin plugin(DROVER_ODD_PROGRAM,
                       PluginSettings{.arguments = {"well"}, .user = "nobody", .no_new_privileges = true},
                       quick_times());

  ASSERT_TRUE(plugin.wait_state(State::running)) << plugin.program().view().problem;
  EXPECT_EQ("nobody", describe(plugin.hosted()).user());
  EXPECT_TRUE(plugin->start_task(task()).ok());
  std::ifstream status("/proc/" + std::to_string(plugin.program().view().pid) + "/status");
  std::string all((std::istreambuf_iterator<char>(status)), {});
  EXPECT_NE(std::string::npos, all.find("\nUid:\t65534\t65534\t65534\t65534\n")) << all;
}

TEST(Misbehaviour, WithoutAUserOfThatNameItDoesNotRun) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, PluginSettings{.arguments = {"well"}, .user = "nobody-of-that-name"},
                       quick_times());

  ASSERT_TRUE(plugin.wait_state(State::parked));
  EXPECT_NE(std::string::npos, plugin.program().view().problem.find("nobody-of-that-name"))
      << plugin.program().view().problem;
}

TEST(Misbehaviour, ACrashSaysWhatWasBeingAsked) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"dies-in-first-start"});

  EXPECT_TRUE(plugin->start_task(task()).ok());

  const v1::NodePlugin told = describe(plugin.hosted());
  ASSERT_EQ(1, told.crashes_size());
  EXPECT_EQ("signal 9 (Killed)", told.crashes(0).reason());
  EXPECT_EQ(64u, told.crashes(0).digest().size());
  ASSERT_EQ(1, told.crashes(0).calls_size());
  EXPECT_TRUE(told.crashes(0).calls(0).starts_with("StartTask ")) << told.crashes(0).calls(0);
}

TEST(Misbehaviour, WhatIsParkedComesWithAdvice) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"noise"});
  ASSERT_TRUE(plugin.wait_state(State::parked));

  const v1::NodePlugin told = describe(plugin.hosted());

  EXPECT_EQ("parked", told.state());
  EXPECT_EQ("program", told.form());
  EXPECT_EQ("repair what the problem names, then: drover plugin restart odd_plugin", told.advice());
  EXPECT_EQ(0, told.next_try());
  EXPECT_GT(told.since(), 0);
}

TEST(Misbehaviour, AWrongConfigurationIsRepairedWhereTheAgentReadsIt) {
  PluginSettings settings;
  settings.config = hcl::Value(hcl::Object{{"no_such", 1}});
  RunningPlugin plugin(DROVER_MOCK_PROGRAM, settings, quick_times());
  ASSERT_TRUE(plugin.wait_state(State::parked));

  const v1::NodePlugin told = describe(plugin.hosted());

  EXPECT_EQ("repair its `config` in the agent's configuration and restart the agent", told.advice()) << told.problem();
}

TEST(Misbehaviour, AdviceIsAboutTheLastProblem) {
  char name[] = "/tmp/drover-advice-XXXXXX";
  const std::string folder = ::mkdtemp(name), file = folder + "/mock";
  std::filesystem::copy_file(DROVER_MOCK_PROGRAM, file);
  PluginSettings settings;
  settings.config = hcl::Value(hcl::Object{{"no_such", 1}});
  RunningPlugin plugin(file, settings, quick_times());
  ASSERT_TRUE(plugin.wait_state(State::parked));

  std::filesystem::remove_all(folder);
  ASSERT_TRUE(plugin.program().restart().ok());

  const auto advice = [&] { return describe(plugin.hosted()).advice(); };
  EXPECT_TRUE(plugin.eventually([&] {
    return advice() == "repair what the problem names, then: drover plugin restart mock";
  })) << advice();
}

TEST(Misbehaviour, AnotherNameAfterARestartParksIt) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"other-name"});
  ASSERT_TRUE(plugin.wait_state(State::running));

  ASSERT_EQ(0, ::kill(plugin.program().view().pid, SIGKILL));

  ASSERT_TRUE(plugin.wait_state(State::parked));
  EXPECT_EQ("the plugin was called first and is now called second", plugin.program().view().problem);
  EXPECT_EQ("first", plugin.program().info().name());
}

TEST(Misbehaviour, ADeathInStartTaskIsTriedOnceMore) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"dies-in-first-start"});

  EXPECT_TRUE(plugin->start_task(task()).ok());

  ASSERT_EQ(1u, plugin.program().view().crashes.size());
  EXPECT_EQ("signal 9 (Killed)", plugin.program().view().crashes[0].reason);
}

TEST(Misbehaviour, ADeathInEveryStartTaskIsForTheRestartPolicy) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"dies-in-every-start"});

  EXPECT_EQ(Code::failed_precondition, plugin->start_task(task()).status().code());
}

TEST(Misbehaviour, AnErrorOfTheDriverIsNotTakenForItsEnd) {
  RunningPlugin plugin(DROVER_ODD_PROGRAM, {"well"});

  EXPECT_EQ(Status(Code::unknown, "not today"), plugin->signal_task("web", "SIGHUP"));
  EXPECT_TRUE(plugin.program().view().crashes.empty());
}

}  // namespace
}  // namespace drover::plugin_programs
