// The driver over a real process, which is killed at every step.
#include "kinds/driver_plugin.h"

#include <future>
#include <nlohmann/json.hpp>

#include "testing/running_plugin.h"

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr const char* kId = "5f1c7d2e-0000-4000-8000-000000000001/web/0a1b2c3d";

driver::TaskConfig task(const std::string& id, const Json& options) {
  driver::TaskConfig config;
  config.set_id(id);
  config.set_name("web");
  config.set_alloc_id("5f1c7d2e-0000-4000-8000-000000000001");
  const std::vector<uint8_t> bytes = Json::to_msgpack(options);
  config.set_msgpack_driver_config(std::string(bytes.begin(), bytes.end()));
  return config;
}

driver::TaskState state_of(TaskDriver& driver) {
  const auto inspected = driver.inspect_task(kId);
  return inspected ? inspected->task().state() : driver::UNKNOWN;
}

TEST(DriverProgram, SaysWhatItIs) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM);

  EXPECT_EQ("mock_driver", plugin.program().info().name());
  EXPECT_EQ("0.1.0", plugin.program().info().plugin_version());
  EXPECT_TRUE(plugin->capabilities().send_signals());
  ASSERT_TRUE(
      plugin.eventually([&] { return plugin->fingerprint().health() == driver::FingerprintResponse::HEALTHY; }));
  EXPECT_EQ("1", plugin->fingerprint().attributes().at("driver.mock_driver").string_val());
}

TEST(DriverProgram, ServesUnderAnotherName) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM, {"--name"});  // the folder follows

  EXPECT_EQ(plugin.folder(), plugin.program().info().name());
  ASSERT_TRUE(
      plugin.eventually([&] { return plugin->fingerprint().health() == driver::FingerprintResponse::HEALTHY; }));
  EXPECT_TRUE(plugin->fingerprint().attributes().contains("driver." + plugin.folder()));
}

TEST(DriverProgram, ConvertsAndChecksATasksConfig) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM);

  const auto bytes = plugin->encode_config(R"({"run_for": 1000000, "exit_code": "3", "ignore_kill": "false"})");
  ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
  driver::TaskConfig config = task(kId, {});
  config.set_msgpack_driver_config(*bytes);
  ASSERT_TRUE(plugin->start_task(config).ok());
  EXPECT_EQ(3, plugin->wait_task(kId, {})->exit_code());

  EXPECT_EQ(Code::invalid_argument, plugin->encode_config(R"({"exit_code": "many"})").status().code());
}

TEST(DriverProgram, TellsErrorsThatMayBeTriedAgainFromOthers) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM);

  EXPECT_EQ(Status(Code::unknown, "no"), plugin->start_task(task(kId, {{"start_error", "no"}})).status());
  const Status later =
      plugin->start_task(task(kId, {{"start_error", "later"}, {"start_error_recoverable", true}})).status();
  EXPECT_EQ(Code::failed_precondition, later.code());
  EXPECT_EQ("later", later.message());
}

TEST(DriverProgram, NeverLeavesOutATime) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM);
  ASSERT_TRUE(plugin->start_task(task(kId, {{"run_for", "1h"}})).ok());

  const auto inspected = plugin->inspect_task(kId);
  ASSERT_TRUE(inspected.ok());
  EXPECT_TRUE(inspected->task().has_started_at());
  EXPECT_EQ(-62135596800, inspected->task().completed_at().seconds());
  EXPECT_TRUE(inspected->task().has_result());
  const auto stats = plugin->task_stats(kId);
  ASSERT_TRUE(stats.ok());
  EXPECT_TRUE(stats->has_timestamp());
  EXPECT_TRUE(stats->agg_resource_usage().has_cpu());
  EXPECT_TRUE(plugin->destroy_task(kId, true).ok());
}

TEST(DriverProgram, EndsWhenToldAndTakesItsSocketWithIt) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM);
  const pid_t pid = plugin.program().view().pid;
  ASSERT_TRUE(plugin->start_task(task(kId, {{"run_for", "1h"}})).ok());
  auto waiting = std::async(std::launch::async, [&] { return plugin->wait_task(kId, {}).status(); });

  plugin.program().stop();

  EXPECT_FALSE(waiting.get().ok());
  EXPECT_NE(0, ::kill(pid, 0));
  EXPECT_TRUE(plugin.program().view().crashes.empty());
  for (const auto& entry : std::filesystem::directory_iterator(plugin.folder()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("plugin")) << entry.path();
}

TEST(DriverProgram, KilledWhileIdleItFindsItsTasksAgain) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM);
  ASSERT_TRUE(plugin->start_task(task(kId, {{"run_for", "1h"}})).ok());

  ASSERT_TRUE(plugin.replace());

  EXPECT_EQ(driver::RUNNING, state_of(*plugin));
  const auto view = plugin.program().view();
  ASSERT_EQ(1u, view.crashes.size());
  EXPECT_EQ("signal 9 (Killed)", view.crashes[0].reason);
  EXPECT_EQ(1u, view.restarts);
  EXPECT_TRUE(plugin->signal_task(kId, "SIGHUP").ok());
  EXPECT_TRUE(plugin->destroy_task(kId, true).ok());
}

TEST(DriverProgram, KilledUnderAWaitItGoesOnWaiting) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM);
  ASSERT_TRUE(plugin->start_task(task(kId, {{"run_for", "1h"}})).ok());
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return plugin->wait_task(kId, stop.get_token()); });
  EXPECT_EQ(std::future_status::timeout, waiting.wait_for(50ms));

  ASSERT_TRUE(plugin.replace());
  EXPECT_EQ(std::future_status::timeout, waiting.wait_for(50ms));
  ASSERT_TRUE(plugin->stop_task(kId, 10s, "SIGTERM").ok());

  if (waiting.wait_for(30s) != std::future_status::ready) stop.request_stop();
  const auto result = waiting.get();
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(15, result->signal());
}

TEST(DriverProgram, AWaitGoesOnHoweverManyProcessesEnd) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM);
  ASSERT_TRUE(plugin->start_task(task(kId, {{"run_for", "1h"}})).ok());
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return plugin->wait_task(kId, stop.get_token()); });

  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(plugin.replace());
    ASSERT_EQ(std::future_status::timeout, waiting.wait_for(20ms)) << i << ": " << waiting.get().status().to_string();
  }

  ASSERT_TRUE(plugin->stop_task(kId, 10s, "SIGTERM").ok());
  if (waiting.wait_for(30s) != std::future_status::ready) stop.request_stop();
  EXPECT_TRUE(waiting.get().ok());
}

SupervisionTimes parks_at_once() {
  SupervisionTimes times = quick_times();
  times.crashes = 1;
  return times;
}

TEST(DriverProgram, WhileItIsParkedItsTasksAreWaitedFor) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM, PluginSettings{}, parks_at_once());
  ASSERT_TRUE(plugin->start_task(task(kId, {{"run_for", "1h"}})).ok());
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return plugin->wait_task(kId, stop.get_token()); });
  ASSERT_EQ(0, ::kill(plugin.program().view().pid, SIGKILL));
  ASSERT_TRUE(plugin.wait_state(Supervision::State::parked));
  EXPECT_EQ(std::future_status::timeout, waiting.wait_for(50ms));
  EXPECT_EQ(Code::unavailable, plugin->inspect_task(kId).status().code());

  ASSERT_TRUE(plugin.program().restart().ok());
  ASSERT_TRUE(plugin.wait_state(Supervision::State::running));

  EXPECT_EQ(driver::RUNNING, state_of(*plugin));
  ASSERT_TRUE(plugin->stop_task(kId, 10s, "SIGTERM").ok());
  if (waiting.wait_for(30s) != std::future_status::ready) stop.request_stop();
  EXPECT_TRUE(waiting.get().ok());
}

TEST(DriverProgram, ATaskThatIsGivenUpWhileNoProcessIsThereIsEndedByTheNext) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM, PluginSettings{}, parks_at_once());
  ASSERT_TRUE(plugin->start_task(task(kId, {{"run_for", "1h"}})).ok());
  ASSERT_EQ(0, ::kill(plugin.program().view().pid, SIGKILL));
  ASSERT_TRUE(plugin.wait_state(Supervision::State::parked));
  EXPECT_EQ(Code::unavailable, plugin->destroy_task(kId, true).code());

  ASSERT_TRUE(plugin.program().restart().ok());
  ASSERT_TRUE(plugin.wait_state(Supervision::State::running));

  EXPECT_TRUE(plugin.hosted().tasks().empty());
  EXPECT_EQ(Code::not_found, plugin->inspect_task(kId).status().code());
}

TEST(DriverProgram, KilledUnderStatisticsItGivesThemAgain) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM);
  ASSERT_TRUE(plugin->start_task(task(kId, {{"run_for", "1h"}})).ok());
  ASSERT_TRUE(plugin->task_stats(kId).ok());

  ASSERT_TRUE(plugin.replace());

  EXPECT_TRUE(plugin.eventually([&] { return plugin->task_stats(kId).ok(); }));
  EXPECT_TRUE(plugin->destroy_task(kId, true).ok());
}

TEST(DriverProgram, ATaskThatANewProcessDoesNotFindIsLost) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM);
  ASSERT_TRUE(plugin->start_task(task(kId, {{"run_for", "1h"}, {"lose_handle", true}})).ok());

  ASSERT_TRUE(plugin.replace());

  EXPECT_EQ("the plugin was restarted and did not find the task again: task not found for given id",
            plugin->wait_task(kId, {}).status().message());
}

TEST(DriverProgram, StatisticsEndWithTheTask) {
  RunningPlugin plugin(DROVER_MOCK_PROGRAM);
  ASSERT_TRUE(plugin->start_task(task(kId, {{"run_for", "1h"}})).ok());
  ASSERT_TRUE(plugin->task_stats(kId).ok());

  ASSERT_TRUE(plugin->stop_task(kId, 10s, "").ok());

  EXPECT_TRUE(plugin.eventually([&] { return plugin->task_stats(kId).status().code() == Code::unavailable; }));
}

}  // namespace
}  // namespace drover::plugin_programs
