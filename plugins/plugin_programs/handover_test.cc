// One version of a plugin takes over from another: good ones, and bad ones after which the old one serves on.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "drover/device_plugin.h"
#include "testing/running_plugin.h"

#include "nomad/plugins/device.pb.h"

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using State = Upgrade::State;

constexpr const char* kId = "5f1c7d2e-0000-4000-8000-000000000001/web/0a1b2c3d";

driver::TaskConfig task(const std::string& id = kId) {
  driver::TaskConfig config;
  config.set_id(id);
  config.set_name("web");
  config.set_alloc_id("5f1c7d2e-0000-4000-8000-000000000001");
  const std::vector<uint8_t> bytes = Json::to_msgpack(Json{{"run_for", "1h"}});
  config.set_msgpack_driver_config(std::string(bytes.begin(), bytes.end()));
  return config;
}

// A plugin whose versions are small scripts in a folder.
class Handover : public testing::Test {
 protected:
  Handover() {
    char name[] = "/tmp/drover-handover-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~Handover() override {
    plugin_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // Replaces the file as an installer does, by another one.
  void write(const std::string& file, const std::string& command) const {
    std::ofstream(file + "~") << "#!/bin/sh\nexec " << command << "\n";
    ASSERT_EQ(0, ::chmod((file + "~").c_str(), 0755));
    ASSERT_EQ(0, ::rename((file + "~").c_str(), file.c_str()));
  }
  std::string file() const { return folder_ + "/acme"; }
  static std::string mock() { return DROVER_MOCK_PROGRAM; }
  // The odd one, under the name of the driver that runs.
  std::string odd(const std::string& mode) const {
    return std::string(DROVER_ODD_PROGRAM) + " " + mode + " " + folder_ + " mock_driver 2.0.0";
  }
  RunningPlugin& start(SupervisionTimes times = quick_times()) {
    write(file(), mock());
    plugin_.emplace(file(), std::vector<std::string>(), times);
    EXPECT_TRUE(plugin_->wait_state(Supervision::State::running));
    return *plugin_;
  }
  UpgradeReport upgrade(const std::string& to = {}) {
    const Status status = plugin_->program().begin_upgrade(to);
    EXPECT_TRUE(status.ok()) << status.to_string();
    EXPECT_TRUE(plugin_->eventually([&] { return plugin_->program().upgrade().state >= State::upgraded; }, 90s));
    return plugin_->program().upgrade();
  }
  // A task that runs, and somebody who waits for it.
  std::future<Result<driver::ExitResult>> start_waited_task() {
    EXPECT_TRUE((*plugin_)->start_task(task()).ok());
    auto waiting = std::async(std::launch::async, [this] { return (*plugin_)->wait_task(kId, std::stop_token()); });
    EXPECT_TRUE(plugin_->eventually([&] { return plugin_->program().calls().size() == 1; }));
    return waiting;
  }
  // The task is still the one that was started, whoever waited for it still does, and it can be stopped.
  void expect_unharmed(std::future<Result<driver::ExitResult>>& waiting) {
    EXPECT_EQ(std::future_status::timeout, waiting.wait_for(0s));
    const auto found = (*plugin_)->inspect_task(kId);
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    EXPECT_EQ(driver::RUNNING, found->task().state());
    EXPECT_TRUE(plugin_->eventually(
        [&] { return (*plugin_)->fingerprint().health() == driver::FingerprintResponse::HEALTHY; }));
    EXPECT_TRUE((*plugin_)->stop_task(kId, 1s, "SIGKILL").ok());
    ASSERT_EQ(std::future_status::ready, waiting.wait_for(30s));
    const auto result = waiting.get();
    EXPECT_TRUE(result.ok()) << result.status().to_string();
  }

  std::string folder_;
  std::optional<RunningPlugin> plugin_;
};

TEST_F(Handover, AReplacedFileTakesOverUnderARunningTask) {
  RunningPlugin& plugin = start();
  auto waiting = start_waited_task();
  const pid_t former = plugin.program().view().pid;
  EXPECT_FALSE(plugin.program().has_new_file());

  write(file(), mock() + "  # 2");
  EXPECT_TRUE(plugin.program().has_new_file());
  const UpgradeReport report = upgrade();

  EXPECT_EQ(State::upgraded, report.state) << report.reason;
  EXPECT_EQ("", report.reason);
  EXPECT_EQ(1u, report.tasks);
  EXPECT_GT(report.pause, 0ns);
  EXPECT_NE(former, plugin.program().view().pid);
  EXPECT_NE(0, ::kill(former, 0));
  EXPECT_TRUE(plugin.program().view().crashes.empty());
  EXPECT_FALSE(plugin.program().has_new_file());
  expect_unharmed(waiting);
}

TEST_F(Handover, AFileFromElsewhereTakesThePlaceOfTheOldOne) {
  RunningPlugin& plugin = start();
  auto waiting = start_waited_task();
  const std::string next = folder_ + "/next-version";
  write(next, mock() + "  # 2");

  const UpgradeReport report = upgrade(next);

  ASSERT_EQ(State::upgraded, report.state) << report.reason;
  const auto installed = PluginFile::open(file(), {}), given = PluginFile::open(next, {});
  ASSERT_TRUE(installed.ok() && given.ok());
  EXPECT_EQ((*given)->digest(), (*installed)->digest());
  EXPECT_EQ((*given)->digest(), plugin.program().view().digest);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/.acme.previous"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/.acme.next"));
  // And it is what is started after a crash.
  ASSERT_TRUE(plugin.replace());
  EXPECT_EQ((*given)->digest(), plugin.program().view().digest);
  expect_unharmed(waiting);
}

// A version that must not be taken, and words of the reason.
struct Bad {
  const char* name;
  const char* mode;
  State end;
  const char* reason;
};

TEST_F(Handover, ABadVersionIsNotTakenAndTheOldOneServesOn) {
  const std::vector<Bad> cases = {
      {"ends at once", "exits", State::refused, "there is no licence"},
      {"is no plugin", "noise", State::refused, "does not speak the plugin protocol"},
      {"speaks another version", "other-version", State::refused, "speaks version 3 of the plugin protocol, not 2"},
      {"is not healthy here", "unwell", State::refused, "there is no hardware"},
      {"does not find the task", "well", State::returned, "was not recovered"},
      {"dies when it is given the task", "forgets-and-dies", State::returned, "was not recovered"},
  };
  RunningPlugin& plugin = start();
  auto waiting = start_waited_task();
  const std::string digest = plugin.program().view().digest;
  for (const Bad& bad : cases) {
    SCOPED_TRACE(bad.name);
    const pid_t former = plugin.program().view().pid;
    const std::string next = folder_ + "/next-version";
    write(next, odd(bad.mode));

    const UpgradeReport report = upgrade(next);

    EXPECT_EQ(to_string(bad.end), to_string(report.state)) << report.reason;
    EXPECT_NE(std::string::npos, report.reason.find(bad.reason)) << report.reason;
    EXPECT_EQ(bad.end == State::refused, former == plugin.program().view().pid);
    EXPECT_EQ(digest, plugin.program().view().digest);
    EXPECT_EQ(Supervision::State::running, plugin.program().view().state);
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/.acme.next"));
    const auto installed = PluginFile::open(file(), {});
    ASSERT_TRUE(installed.ok());
    EXPECT_EQ(digest, (*installed)->digest());
  }
  expect_unharmed(waiting);
}

TEST_F(Handover, AVersionThatHangsIsNotWaitedForLong) {
  SupervisionTimes times = quick_times();
  times.start = 4s;
  RunningPlugin& plugin = start(times);
  const pid_t former = plugin.program().view().pid;
  write(file(), odd("hangs"));

  const UpgradeReport report = upgrade();

  EXPECT_EQ(State::refused, report.state);
  EXPECT_EQ("the new version: no handshake within 4s", report.reason);
  EXPECT_EQ(former, plugin.program().view().pid);
}

TEST_F(Handover, TheOldVersionComesBackThoughItsFileIsGone) {
  RunningPlugin& plugin = start();
  auto waiting = start_waited_task();
  const std::string digest = plugin.program().view().digest;

  write(file(), odd("well"));
  const UpgradeReport report = upgrade();

  EXPECT_EQ(State::returned, report.state) << report.reason;
  EXPECT_EQ(digest, plugin.program().view().digest);
  expect_unharmed(waiting);
}

TEST_F(Handover, AnotherVersionThatFindsTheTasksIsTaken) {
  RunningPlugin& plugin = start();
  ASSERT_TRUE(plugin->start_task(task()).ok());
  write(file(), odd("finds-all"));

  const UpgradeReport report = upgrade();

  EXPECT_EQ(State::upgraded, report.state) << report.reason;
  EXPECT_EQ("2.0.0", report.to_version);
  EXPECT_EQ("2.0.0", plugin.program().info().plugin_version());
}

TEST_F(Handover, CallsWaitAndAreAnsweredByWhoeverServesThen) {
  RunningPlugin& plugin = start();
  write(file(), mock() + "  # 2");
  std::atomic<bool> is_over = false;
  std::atomic<int> failures = 0, calls = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; !is_over; ++i) {
        const std::string id =
            "5f1c7d2e-0000-4000-8000-000000000001/" + std::to_string(caller) + "/" + std::to_string(i);
        if (!plugin->start_task(task(id)).ok() || !plugin->inspect_task(id).ok() ||
            !plugin->stop_task(id, 1s, "SIGKILL").ok() || !plugin->destroy_task(id, true).ok())
          ++failures;
        ++calls;
      }
    });
  }
  ASSERT_TRUE(plugin.eventually([&] { return calls > 20; }));

  const UpgradeReport report = upgrade();
  const int before = calls;
  EXPECT_TRUE(plugin.eventually([&] { return calls > before + 20; }));
  is_over = true;
  for (std::thread& caller : callers) caller.join();

  EXPECT_EQ(State::upgraded, report.state) << report.reason;
  EXPECT_EQ(0, failures);
}

TEST_F(Handover, DevicesStayWhileTheirPluginIsReplaced) {
  std::ofstream(folder_ + "/tty0") << "four";
  const hcl::Object device{{"vendor", "acme"}, {"type", "serial"}, {"name", "usb"}, {"pattern", folder_ + "/tty*"}};
  write(file(), DROVER_FILE_PROGRAM);
  plugin_.emplace(file(), std::vector<std::string>(), quick_times(),
                  hcl::Value(hcl::Object{{"device", hcl::List{device}}}));
  ASSERT_TRUE(plugin_->eventually([&] { return plugin_->as<DevicePlugin>().fingerprint().ok(); }));
  std::atomic<bool> is_over = false;
  std::atomic<int> missing = 0;
  std::thread watcher([&] {
    while (!is_over) {
      const auto print = plugin_->as<DevicePlugin>().fingerprint();
      if (!print || print->device_group_size() != 1) ++missing;
      std::this_thread::yield();
    }
  });

  write(file(), DROVER_FILE_PROGRAM "  # 2");
  const UpgradeReport report = upgrade();
  is_over = true;
  watcher.join();

  EXPECT_EQ(State::upgraded, report.state) << report.reason;
  EXPECT_EQ(0, missing);
  EXPECT_TRUE(plugin_->as<DevicePlugin>().reserve(std::vector<std::string>{folder_ + "/tty0"}).ok());
}

TEST_F(Handover, WhatRunsAlreadyIsNoUpgrade) {
  RunningPlugin& plugin = start();

  const UpgradeReport report = upgrade();

  EXPECT_EQ(State::refused, report.state);
  EXPECT_EQ(file() + " is the version that runs already", report.reason);
  EXPECT_EQ(Code::invalid_argument, plugin.program().begin_upgrade("next-version").code());
  const Status elsewhere = plugin.program().begin_upgrade("/bin/true");
  EXPECT_EQ(Code::permission_denied, elsewhere.code());
  EXPECT_NE(std::string::npos, elsewhere.message().find("must lie in the plugin's own folder, " + folder_));
}

TEST_F(Handover, AFileThatIsNotPinnedIsRefused) {
  write(file(), mock());
  const auto opened = PluginFile::open(file(), {});
  ASSERT_TRUE(opened.ok());
  plugin_.emplace(file(), PluginSettings{.digests = {(*opened)->digest()}}, quick_times());
  ASSERT_TRUE(plugin_->wait_state(Supervision::State::running));
  const std::string next = folder_ + "/next-version";
  write(next, mock() + "  # 2");

  const UpgradeReport report = upgrade(next);

  EXPECT_EQ(State::refused, report.state);
  EXPECT_NE(std::string::npos, report.reason.find("the configuration pins " + (*opened)->digest())) << report.reason;
}

TEST_F(Handover, AFileOfAnotherDigestDoesNotStart) {
  write(file(), mock());
  plugin_.emplace(file(), PluginSettings{.digests = {std::string(64, '0')}}, quick_times());

  ASSERT_TRUE(plugin_->wait_state(Supervision::State::parked));
  EXPECT_NE(std::string::npos, plugin_->program().view().problem.find("the configuration pins 000"));
}

TEST_F(Handover, ARestartTakesARepairedFileWhereNothingRuns) {
  write(file(), odd("noise"));
  plugin_.emplace(file(), std::vector<std::string>());
  ASSERT_TRUE(plugin_->wait_state(Supervision::State::parked));

  write(file(), mock());
  ASSERT_TRUE(plugin_->program().restart().ok());

  EXPECT_TRUE(plugin_->wait_state(Supervision::State::running)) << plugin_->program().view().problem;
}

TEST_F(Handover, ARestartKeepsTasksAndIsNoCrash) {
  RunningPlugin& plugin = start();
  auto waiting = start_waited_task();
  const pid_t former = plugin.program().view().pid;

  ASSERT_TRUE(plugin.program().restart().ok());

  ASSERT_TRUE(plugin.eventually([&] {
    const auto view = plugin.program().view();
    return view.pid != former && view.state == Supervision::State::running;
  }));
  EXPECT_EQ(1u, plugin.program().view().restarts);
  EXPECT_TRUE(plugin.program().view().crashes.empty());
  expect_unharmed(waiting);
}

}  // namespace
}  // namespace drover::plugin_programs
