// A plugin's program and the driver over it, in a folder of its own, as the agent would have them.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>

#include "drover/metrics.h"
#include "drover/plugin_programs/handshake.h"
#include "drover/task_driver.h"
#include "kinds/hosted_plugin.h"

#include "nomad/plugins/driver.pb.h"

extern char** environ;

namespace drover::plugin_programs {

// Short, so that a test needs no patience.
inline SupervisionTimes quick_times() {
  return {.start = std::chrono::seconds(30),
          .check_every = std::chrono::seconds(10),
          .backoff_first = std::chrono::milliseconds(5),
          .backoff_last = std::chrono::milliseconds(20),
          .crashes = 100};
}

class RunningPlugin {
 public:
  // The program is told its folder behind its arguments, if there are any.
  explicit RunningPlugin(std::string file, std::vector<std::string> arguments = {},
                         SupervisionTimes times = quick_times(), std::optional<hcl::Value> config = {})
      : RunningPlugin(std::move(file), PluginSettings{.arguments = std::move(arguments), .config = std::move(config)},
                      times) {}
  RunningPlugin(std::string file, PluginSettings settings, SupervisionTimes times)
      : file_(std::move(file)), settings_(std::move(settings)), times_(times) {
    char name[] = "/tmp/drover-programs-XXXXXX";
    folder_ = ::mkdtemp(name);
    if (!settings_.user.empty()) std::filesystem::permissions(folder_, std::filesystem::perms(0777));
    pipes_.emplace(
        Launcher::Options{.folder = folder_ + "/launcher", .program = {}, .grace = std::chrono::milliseconds(50)});
    start();
  }
  ~RunningPlugin() {
    plugin_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // Require: it has said that it is one.
  TaskDriver& operator*() { return as<TaskDriver>(); }
  TaskDriver* operator->() { return &as<TaskDriver>(); }
  template <typename Interface>
  Interface& as() {
    Interface* const found = plugin_->find<Interface>();
    DROVER_CHECK(found != nullptr);
    return *found;
  }
  HostedPlugin& hosted() { return *plugin_; }
  ProgramHost& program() { return plugin_->program(); }
  const std::string& folder() const { return folder_; }

  void restart() {
    plugin_.reset();
    start();
  }

  // Waits, asking anew whenever the plugin reports something and now and then.
  bool eventually(const std::function<bool()>& is_true, std::chrono::nanoseconds limit = std::chrono::seconds(30)) {
    const SteadyTime deadline = clock_.steady() + limit;
    std::unique_lock lock(mutex_);
    while (clock_.steady() < deadline) {
      lock.unlock();
      if (is_true()) return true;
      lock.lock();
      changed_.wait_for(lock, std::chrono::milliseconds(5));
    }
    return false;
  }
  bool wait_state(Supervision::State state) {
    return eventually([&] { return plugin_->program().view().state == state; });
  }
  // Kills the process and waits for the next one to serve.
  bool replace() {
    const pid_t former = plugin_->program().view().pid;
    if (former <= 1 || ::kill(former, SIGKILL) != 0) return false;
    return eventually([&] {
      const auto view = plugin_->program().view();
      return view.pid != former && view.state == Supervision::State::running;
    });
  }

 private:
  void start() {
    HostedPluginOptions options{.program = {.file = file_,
                                            .settings = settings_,
                                            .environment = plugin_environment(environ),
                                            .cgroups = detect_cgroups(),
                                            .cgroup = std::filesystem::path(folder_).filename().string(),
                                            .times = times_},
                                .cgroups = &cgroups_,
                                .pipes = &*pipes_,
                                .changed = [this](std::string_view) { changed_.notify_all(); }};
    if (!settings_.arguments.empty()) options.program.settings.arguments.push_back(folder_);
    options.program.environment["TMPDIR"] = folder_;
    plugin_ = std::make_unique<HostedPlugin>(std::move(options), clock_, metrics_);
    plugin_->program().start();
    EXPECT_TRUE(plugin_->program().wait_first(clock_.steady() + std::chrono::seconds(30)));
  }

  const std::string file_;
  const PluginSettings settings_;
  const SupervisionTimes times_;
  std::string folder_;
  SystemClock clock_;
  Metrics metrics_;
  TaskCgroups cgroups_{CgroupLayout{}, "nobody"};
  std::optional<LogPipes> pipes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<HostedPlugin> plugin_;
};

}  // namespace drover::plugin_programs
