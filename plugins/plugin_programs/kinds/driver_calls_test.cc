// The calls beside a task's life over a real program: commands in both directions, events, networks; in the clear and
// over TLS.
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sdk/testing/exec_caller.h"
#include "testing/running_plugin.h"

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr const char* kId = "5f1c7d2e-0000-4000-8000-000000000001/web/0a1b2c3d";

driver::TaskConfig task(const Json& options) {
  driver::TaskConfig config;
  config.set_id(kId);
  config.set_name("web");
  config.set_alloc_id("5f1c7d2e-0000-4000-8000-000000000001");
  const std::vector<uint8_t> bytes = Json::to_msgpack(options);
  config.set_msgpack_driver_config(std::string(bytes.begin(), bytes.end()));
  return config;
}

const Json kRunsLong = {{"run_for", "1h"}, {"exec_command", {{"stdout_string", "out"}, {"exit_code", 3}}}};

class DriverCalls : public ::testing::TestWithParam<bool> {
 protected:
  RunningPlugin plugin_{DROVER_MOCK_PROGRAM, PluginSettings{.asks_for_tls = GetParam()}, quick_times()};
};

INSTANTIATE_TEST_SUITE_P(Over, DriverCalls, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Tls" : "PlainText"; });

TEST_P(DriverCalls, ACommandSpeaksInBothDirections) {
  ASSERT_TRUE(plugin_->start_task(task(kRunsLong)).ok());
  ExecCaller caller;
  caller.input("one ");
  caller.input("two");
  caller.end_input();

  const Status status = plugin_->exec_task_streaming({.task_id = kId, .command = {"showinput"}, .tty = true}, caller);

  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ("TTY: true\nStdin:\none two\n-- close --\n", caller.out());
  EXPECT_EQ(2, caller.ends());
  ASSERT_TRUE(caller.result());
  EXPECT_EQ(0, caller.result()->exit_code());
}

TEST_P(DriverCalls, ACommandWithoutInputAnswersAtOnce) {
  ASSERT_TRUE(plugin_->start_task(task(kRunsLong)).ok());

  const auto answer = plugin_->exec_task({.task_id = kId, .command = {"anything"}, .tty = false}, 20s);

  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ("out", answer->stdout());
  EXPECT_EQ(3, answer->result().exit_code());
}

TEST_P(DriverCalls, ManyMessagesKeepTheirOrder) {
  ASSERT_TRUE(plugin_->start_task(task(kRunsLong)).ok());
  ExecCaller caller;
  std::string said;
  for (int i = 0; i < 2000; ++i) {
    said += std::to_string(i) + ",";
    caller.input(std::to_string(i) + ",");
  }
  caller.end_input();

  ASSERT_TRUE(plugin_->exec_task_streaming({.task_id = kId, .command = {"showinput"}, .tty = false}, caller).ok());

  EXPECT_EQ("TTY: false\nStdin:\n" + said + "\n-- close --\n", caller.out());
}

TEST_P(DriverCalls, ErrorsOfACommandAreTheDrivers) {
  ExecCaller caller;
  const ExecCommand command{.task_id = kId, .command = {"x"}, .tty = false};
  EXPECT_EQ(Code::not_found, plugin_->exec_task_streaming(command, caller).code());

  ASSERT_TRUE(plugin_->start_task(task({{"run_for", "1h"}})).ok());
  const Status status = plugin_->exec_task_streaming(command, caller);
  EXPECT_EQ(Code::failed_precondition, status.code());
  EXPECT_EQ("no exec command is configured", status.message());
}

TEST_P(DriverCalls, ACallerThatGoesEndsItsCommand) {
  Json options = kRunsLong;
  options["exec_command"]["run_for"] = "1h";
  ASSERT_TRUE(plugin_->start_task(task(options)).ok());
  ExecCaller caller;
  std::thread leaver([&] {
    EXPECT_TRUE(caller.wait_output("out"));
    caller.leave();
  });

  const Status status = plugin_->exec_task_streaming({.task_id = kId, .command = {"x"}, .tty = false}, caller);

  leaver.join();
  EXPECT_EQ(Code::cancelled, status.code()) << status.to_string();
}

TEST_P(DriverCalls, APluginThatDiesTakesItsCommandsWithIt) {
  Json options = kRunsLong;
  options["exec_command"]["run_for"] = "1h";
  ASSERT_TRUE(plugin_->start_task(task(options)).ok());
  ExecCaller caller;
  std::thread killer([&] {
    EXPECT_TRUE(caller.wait_output("out"));
    EXPECT_TRUE(plugin_.replace());
  });

  const Status status = plugin_->exec_task_streaming({.task_id = kId, .command = {"x"}, .tty = false}, caller);

  killer.join();
  EXPECT_EQ(Code::unavailable, status.code()) << status.to_string();
  EXPECT_FALSE(caller.result());
}

TEST_P(DriverCalls, EventsComeFromEachProcessOnce) {
  std::mutex mutex;
  std::vector<std::string> heard;
  std::jthread follower([&](std::stop_token stop) {
    plugin_->follow_events(
        [&](const driver::DriverTaskEvent& event) {
          const std::lock_guard lock(mutex);
          heard.push_back(event.task_name() + ":" + event.message() + ":" + event.annotations().at("driver"));
        },
        std::move(stop));
  });
  const auto count = [&] {
    const std::lock_guard lock(mutex);
    return heard.size();
  };
  Json options = kRunsLong;
  options["events"] = {"pulled", "unpacked"};

  ASSERT_TRUE(plugin_->start_task(task(options)).ok());
  ASSERT_TRUE(plugin_.eventually([&] { return count() == 2; }));
  ASSERT_TRUE(plugin_.replace());
  ASSERT_TRUE(plugin_->destroy_task(kId, true).ok());
  options["events"] = {"again"};
  ASSERT_TRUE(plugin_->start_task(task(options)).ok());
  ASSERT_TRUE(plugin_.eventually([&] { return count() == 3; }));

  const std::lock_guard lock(mutex);
  EXPECT_EQ((std::vector<std::string>{"web:pulled:mock_driver", "web:unpacked:mock_driver", "web:again:mock_driver"}),
            heard);
}

TEST_P(DriverCalls, ADriverWithoutNetworksSaysSo) {
  driver::CreateNetworkRequest request;
  request.set_alloc_id("a");

  const auto made = plugin_->create_network(request);

  EXPECT_EQ(Code::unimplemented, made.status().code());
  EXPECT_EQ("CreateNetwork RPC not supported by driver", made.status().message());
  EXPECT_EQ(Code::unimplemented, plugin_->destroy_network({}).code());
}

TEST(AutoMtls, APluginThatDoesNotSpeakItIsLeftAlone) {
  char name[] = "/tmp/drover-mtls-XXXXXX";
  const std::string folder = ::mkdtemp(name), file = folder + "/plain";
  std::ofstream(file) << "#!/bin/sh\necho '1|2|unix|/tmp/nobody|grpc|'\nexec sleep 1000\n";
  ASSERT_EQ(0, ::chmod(file.c_str(), 0700));

  RunningPlugin plugin(file, PluginSettings{.asks_for_tls = true}, quick_times());

  ASSERT_TRUE(plugin.wait_state(Supervision::State::parked));
  EXPECT_TRUE(plugin.program().view().problem.find("answers without a certificate") != std::string::npos)
      << plugin.program().view().problem;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace drover::plugin_programs
