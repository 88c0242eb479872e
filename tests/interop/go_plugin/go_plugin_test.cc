// Both ends against Debian's go-plugin: a driver in Go under this host, and this tree's driver program under a host in
// Go; in the clear and over TLS (AutoMTLS). The programs are built here; without Go or its packages the tests skip and
// say what to install.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "plugins/plugin_programs/testing/running_plugin.h"
#include "sdk/testing/exec_caller.h"

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kPackage = "/usr/share/gocode/src/github.com/hashicorp/go-plugin";
constexpr const char* kId = "5f1c7d2e-0000-4000-8000-000000000001/web/0a1b2c3d";
const std::string kFolder = PROGRAMS;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Is `over_tls`.
class GoPlugin : public ::testing::TestWithParam<bool> {
 protected:
  static void SetUpTestSuite() {
    if (!missing().empty()) return;
    fs::create_directories(kFolder);
    const std::string build =
        "'" SOURCES "/build.sh' '" SOURCES "' '" PROTOS "' '" + kFolder + "' > '" + kFolder + "/build.log' 2>&1";
    is_built_ = std::system(build.c_str()) == 0;
  }
  void SetUp() override {
    if (!missing().empty())
      GTEST_SKIP() << "the programs in Go cannot be built: install the Debian package " << missing();
    ASSERT_TRUE(is_built_) << read_file(kFolder + "/build.log");
  }
  static std::string missing() {
    if (std::system("go version > /dev/null 2>&1") != 0) return "golang-go";
    if (!fs::exists(kPackage)) return "golang-github-hashicorp-go-plugin-dev";
    if (std::system("command -v protoc-gen-go > /dev/null 2>&1") != 0) return "golang-goprotobuf-dev";
    return {};
  }
  static inline bool is_built_ = false;
};

INSTANTIATE_TEST_SUITE_P(Over, GoPlugin, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Tls" : "PlainText"; });

driver::TaskConfig task() {
  driver::TaskConfig config;
  config.set_id(kId);
  config.set_name("web");
  config.set_alloc_id("5f1c7d2e-0000-4000-8000-000000000001");
  config.set_msgpack_driver_config("\x80");
  return config;
}

TEST_P(GoPlugin, ADriverInGoLivesUnderThisHost) {
  RunningPlugin plugin(kFolder + "/go_driver", PluginSettings{.asks_for_tls = GetParam()}, quick_times());
  ASSERT_EQ("gopher", plugin.program().info().name()) << plugin.program().describe();
  ASSERT_TRUE(
      plugin.eventually([&] { return plugin->fingerprint().health() == driver::FingerprintResponse::HEALTHY; }));
  EXPECT_TRUE(plugin->capabilities().must_create_network());

  ASSERT_TRUE(plugin->start_task(task()).ok());
  EXPECT_FALSE(plugin->start_task(task()).ok());
  EXPECT_EQ(driver::RUNNING, plugin->inspect_task(kId)->task().state());
  ASSERT_TRUE(plugin.replace());  // and the task is found again
  ASSERT_TRUE(plugin->stop_task(kId, 1s, "SIGINT").ok());
  const auto exit = plugin->wait_task(kId, {});
  ASSERT_TRUE(exit.ok()) << exit.status().to_string();
  EXPECT_EQ(130, exit->exit_code());
  EXPECT_TRUE(plugin->destroy_task(kId, false).ok());
  EXPECT_EQ(Code::not_found, plugin->wait_task(kId, {}).status().code());
}

TEST_P(GoPlugin, CommandsEventsAndNetworksOfADriverInGo) {
  RunningPlugin plugin(kFolder + "/go_driver", PluginSettings{.asks_for_tls = GetParam()}, quick_times());
  std::mutex mutex;
  std::string heard;
  const std::jthread follower([&](std::stop_token stop) {
    plugin->follow_events(
        [&](const driver::DriverTaskEvent& event) {
          const std::lock_guard lock(mutex);
          heard += event.task_name() + " " + event.message() + " " + event.annotations().at("depth") + ";";
        },
        std::move(stop));
  });
  ASSERT_TRUE(plugin->start_task(task()).ok());

  const auto answer = plugin->exec_task({.task_id = kId, .command = {"dig", "deep"}, .tty = false}, 20s);
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ("dig deep", answer->stdout());
  EXPECT_EQ(4, answer->result().exit_code());

  ExecCaller caller;
  caller.resize(24, 80);
  caller.input("abc");
  caller.end_input();
  const Status status = plugin->exec_task_streaming({.task_id = kId, .command = {"dig"}, .tty = true}, caller);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ("24x80;ABC", caller.out());
  EXPECT_EQ(5, caller.result()->exit_code());

  driver::CreateNetworkRequest wanted;
  wanted.set_alloc_id("a1");
  const auto network = plugin->create_network(wanted);
  ASSERT_TRUE(network.ok()) << network.status().to_string();
  EXPECT_EQ("/burrow/a1", network->isolation_spec().path());
  driver::DestroyNetworkRequest gone;
  gone.set_alloc_id("a1");
  *gone.mutable_isolation_spec() = network->isolation_spec();
  EXPECT_TRUE(plugin->destroy_network(gone).ok());

  EXPECT_TRUE(plugin.eventually([&] {
    const std::lock_guard lock(mutex);
    return heard == "web dug a hole 3;";
  }));
}

TEST_P(GoPlugin, AHostInGoDrivesThisTreesDriver) {
  const std::string log = kFolder + (GetParam() ? "/tls.log" : "/plain.log");
  const std::string command =
      "'" + kFolder + "/go_host' '" DROVER_MOCK_PROGRAM "' " + (GetParam() ? "tls" : "plain") + " > '" + log + "' 2>&1";

  EXPECT_EQ(0, std::system(command.c_str()));

  EXPECT_EQ(
      "info: mock_driver DRIVER [v0.1.0]\n"
      "capabilities: signals true exec true\n"
      "fingerprint: HEALTHY\n"
      "event: web one [driver=mock_driver]\n"
      "exec: TTY: true Stdin: hello -- close -- exit code 0\n"
      "wait: exit code 143 signal 15\n"
      "inspect: EXITED\n"
      "gone: rpc error: code = Unknown desc = task not found for given id\n"
      "end: true, in time true\n",
      read_file(log));
}

}  // namespace
}  // namespace drover::plugin_programs
