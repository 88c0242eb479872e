#include "mock_driver.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>

#include "drover/hclspec.h"
#include "nomad/plugins/hclspec.pb.h"
#include "sdk/testing/driver_conformance.h"

namespace drover::mock {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

driver::TaskConfig task(const std::string& id, const Json& options) {
  driver::TaskConfig config;
  config.set_id(id);
  config.set_name("web");
  std::vector<uint8_t> bytes = Json::to_msgpack(options);
  config.set_msgpack_driver_config(std::string(bytes.begin(), bytes.end()));
  return config;
}

TEST(Mock, ExitsAsTold) {
  MockDriver mock;
  ASSERT_TRUE(mock.start_task(task("a", {{"run_for", "5ms"}, {"exit_code", 3}, {"exit_signal", 11}})).ok());

  auto result = mock.wait_task("a", {});

  ASSERT_TRUE(result.ok());
  EXPECT_EQ(3, result->exit_code());
  EXPECT_EQ(11, result->signal());
}

TEST(Mock, FailsTheWaitAsTold) {
  MockDriver mock;
  ASSERT_TRUE(mock.start_task(task("a", {{"exit_err_msg", "the wait broke"}})).ok());
  EXPECT_EQ("the wait broke", mock.wait_task("a", {}).status().message());
}

TEST(Mock, FailsTheStartForGoodOrRecoverably) {
  MockDriver mock;
  EXPECT_EQ(Status(Code::unknown, "no"), mock.start_task(task("a", {{"start_error", "no"}})).status());
  EXPECT_EQ(failed_precondition("later"),
            mock.start_task(task("a", {{"start_error", "later"}, {"start_error_recoverable", true}})).status());
  EXPECT_EQ(Code::not_found, mock.inspect_task("a").status().code());
}

TEST(Mock, BlocksTheStartAndGivesUpWhenTheDriverStops) {
  MockDriver mock;
  auto starting = std::async(std::launch::async, [&] {
    return mock.start_task(task("a", {{"start_block_for", "1h"}, {"run_for", "1h"}})).status();
  });
  mock.stop();
  EXPECT_EQ(Code::unavailable, starting.get().code());
}

TEST(Mock, DiesSomeTimeAfterTheSignal) {
  MockDriver mock;
  ASSERT_TRUE(mock.start_task(task("a", {{"run_for", "1h"}, {"kill_after", 30'000'000}})).ok());
  const auto before = std::chrono::steady_clock::now();

  ASSERT_TRUE(mock.stop_task("a", 1h, "SIGTERM").ok());

  EXPECT_GE(std::chrono::steady_clock::now() - before, 30ms);
  EXPECT_EQ(15, mock.wait_task("a", {})->signal());
}

TEST(Mock, IsKilledWhenItDiesTooLate) {
  MockDriver mock;
  ASSERT_TRUE(mock.start_task(task("a", {{"run_for", "1h"}, {"kill_after", "1h"}})).ok());
  ASSERT_TRUE(mock.stop_task("a", 20ms, "SIGTERM").ok());
  EXPECT_EQ(9, mock.wait_task("a", {})->signal());
}

TEST(Mock, RefusesSignalsAsTold) {
  MockDriver mock;
  ASSERT_TRUE(mock.start_task(task("a", {{"run_for", "1h"}, {"signal_error", "deaf"}})).ok());
  EXPECT_EQ("deaf", mock.signal_task("a", "SIGHUP").message());
  EXPECT_EQ(Code::invalid_argument, mock.signal_task("a", "SIGNOPE").code());
}

TEST(Mock, LosesItsHandleAsTold) {
  driver::TaskHandle handle;
  {
    MockDriver mock;
    handle = mock.start_task(task("a", {{"run_for", "1h"}, {"lose_handle", true}}))->handle();
    EXPECT_TRUE(mock.recover_task(handle).ok());
  }
  MockDriver next;
  EXPECT_EQ(Status(Code::not_found, std::string(kTaskNotFound)), next.recover_task(handle));
}

TEST(Mock, RunsOnlyForTheRestOfItsTimeAfterARecovery) {
  driver::TaskHandle handle;
  {
    MockDriver mock;
    handle = mock.start_task(task("a", {{"run_for", "1h"}, {"exit_code", 4}}))->handle();
  }
  handle.set_driver_state(R"({"version":1,"started_at":1})");  // long ago
  MockDriver next;
  ASSERT_TRUE(next.recover_task(handle).ok());
  EXPECT_EQ(4, next.wait_task("a", {})->exit_code());
}

TEST(Mock, BlocksStatisticsUntilTheEnd) {
  MockDriver mock;
  ASSERT_TRUE(mock.start_task(task("a", {{"run_for", "1h"}, {"block_stats", true}})).ok());
  auto stats = std::async(std::launch::async, [&] { return mock.task_stats("a").status(); });
  EXPECT_EQ(std::future_status::timeout, stats.wait_for(20ms));
  ASSERT_TRUE(mock.stop_task("a", 1s, "").ok());
  EXPECT_EQ(Code::failed_precondition, stats.get().code());
}

TEST(Mock, ReportsItsNetwork) {
  MockDriver mock;
  auto started = mock.start_task(
      task("a", {{"driver_ip", "10.1.2.3"}, {"driver_advertise", true}, {"driver_port_map", "http:8080"}}));
  ASSERT_TRUE(started.ok()) << started.status().to_string();
  EXPECT_EQ("10.1.2.3", started->network_override().addr());
  EXPECT_TRUE(started->network_override().auto_advertise());
  EXPECT_EQ(8080, started->network_override().port_map().at("http"));
}

TEST(Mock, NamesWhatIsWrongInItsOptions) {
  const struct {
    const char* json;
    const char* text;
  } cases[] = {
      {R"({"run_fro": "1s"})", "unknown config option \"run_fro\"; did you mean \"run_for\"?"},
      {R"({"run_for": "soon"})", "config option \"run_for\" must be a duration such as \"30s\""},
      {R"({"run_for": "-1s"})", "config option \"run_for\" must not be negative"},
      {R"({"exit_code": "many"})", "config option \"exit_code\" must be a whole number"},
      {R"({"ignore_kill": "maybe"})", "config option \"ignore_kill\" must be true or false"},
      {R"({"exit_signal": 65})", "config option \"exit_signal\" must be a signal number from 0 to 64"},
      {R"({"driver_port_map": "http"})", "config option \"driver_port_map\" must have the form \"label:port\""},
      {R"([1, 2])", "the driver's config must be a map of options"},
      {R"({)", "the driver's config is not valid JSON"},
  };
  MockDriver mock;
  for (const auto& c : cases) {
    SCOPED_TRACE(c.json);
    EXPECT_EQ(invalid_argument(c.text), mock.encode_config(c.json).status());
  }
  EXPECT_TRUE(mock.encode_config(R"({"run_for": 5000, "exit_code": "3"})").ok());
}

TEST(Mock, TakesEveryNameOfItsSchemaWithoutAValue) {
  MockDriver mock;
  const hclspec::Spec schema = mock.task_config_schema();
  ASSERT_TRUE(hclspec::check(schema).ok());
  driver::TaskConfig config = task("a", {});
  config.set_msgpack_driver_config(hclspec::to_msgpack(*hclspec::decode(schema, hcl::Value(hcl::Object()))));

  const Status started = mock.start_task(config).status();

  EXPECT_TRUE(started.ok()) << started.to_string();
  EXPECT_EQ(0, mock.wait_task("a", {})->exit_code());
}

TEST(Mock, HasEveryOptionInItsSchema) {
  const char* all = R"({"run_for": "1ms", "exit_code": 1, "exit_signal": 0, "exit_err_msg": "", "signal_error": "",
    "start_error": "", "start_error_recoverable": false, "start_block_for": 0, "kill_after": "0s",
    "ignore_kill": false, "lose_handle": false, "block_stats": false, "show_given": true, "driver_ip": "10.0.0.1", "driver_advertise": true,
    "driver_port_map": "http:80", "stdout_string": "x", "stdout_repeat": 1, "stdout_repeat_duration": "1ms",
    "stderr_string": "x", "stderr_repeat": 1, "stderr_repeat_duration": 1000000})";
  MockDriver mock;
  ASSERT_TRUE(mock.encode_config(all).ok());

  const auto decoded = hclspec::decode(mock.task_config_schema(), *hcl::from_json(all));

  ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
  driver::TaskConfig config = task("a", {});
  config.set_msgpack_driver_config(hclspec::to_msgpack(*decoded));
  ASSERT_TRUE(mock.start_task(config).ok());
  EXPECT_EQ(1, mock.wait_task("a", {})->exit_code());
}

TEST(Mock, WritesItsOutputToTheFifos) {
  char folder[] = "/tmp/drover-mock-XXXXXX";
  ASSERT_NE(nullptr, mkdtemp(folder));
  const std::string out = std::string(folder) + "/out", err = std::string(folder) + "/err";
  ASSERT_EQ(0, mkfifo(out.c_str(), 0600));
  ASSERT_EQ(0, mkfifo(err.c_str(), 0600));
  const int out_fd = open(out.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  const int err_fd = open(err.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  MockDriver mock;
  driver::TaskConfig config = task("a", {{"run_for", "50ms"},
                                         {"show_given", true},
                                         {"stdout_string", "hello\n"},
                                         {"stdout_repeat", 1},
                                         {"stdout_repeat_duration", "1ms"},
                                         {"stderr_string", "oops\n"}});
  config.set_stdout_path(out);
  config.set_stderr_path(err);
  (*config.mutable_device_env())["PORTS"] = "tty0";
  driver::Device& device = *config.add_devices();
  device.set_host_path("/dev/tty0");
  device.set_task_path("/dev/port");
  device.set_cgroup_permissions("rw");
  driver::Mount& mount = *config.add_mounts();
  mount.set_host_path("/usr/lib/acme");
  mount.set_task_path("/opt/acme");
  mount.set_readonly(true);

  ASSERT_TRUE(mock.start_task(config).ok());
  ASSERT_TRUE(mock.wait_task("a", {}).ok());

  char text[512];
  ssize_t n = read(out_fd, text, sizeof text);
  const std::string once =
      "variable PORTS=tty0\ndevice /dev/tty0 at /dev/port rw\nmount /usr/lib/acme at /opt/acme read-only\nhello\n";
  EXPECT_EQ(once + once, std::string(text, n > 0 ? static_cast<size_t>(n) : 0));
  n = read(err_fd, text, sizeof text);
  EXPECT_EQ("oops\n", std::string(text, n > 0 ? static_cast<size_t>(n) : 0));
  close(out_fd);
  close(err_fd);
  std::filesystem::remove_all(folder);
}

TEST(Mock, StopsWhileNobodyReadsItsOutput) {
  char folder[] = "/tmp/drover-mock-XXXXXX";
  ASSERT_NE(nullptr, mkdtemp(folder));
  const std::string out = std::string(folder) + "/out";
  ASSERT_EQ(0, mkfifo(out.c_str(), 0600));
  MockDriver mock;
  driver::TaskConfig config =
      task("a", {{"run_for", "1h"}, {"stdout_string", std::string(4096, 'x')}, {"stdout_repeat", 1000}});
  config.set_stdout_path(out);
  ASSERT_TRUE(mock.start_task(config).ok());

  EXPECT_TRUE(mock.stop_task("a", 1s, "SIGINT").ok());

  EXPECT_EQ(2, mock.wait_task("a", {})->signal());
  std::filesystem::remove_all(folder);
}

conformance::SubjectFactory subject() {
  return conformance::driver_subject([] { return std::make_unique<MockDriver>(); });
}
DROVER_DRIVER_CONFORMANCE(Mock, subject());

}  // namespace
}  // namespace drover::mock
