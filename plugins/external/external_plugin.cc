// Task drivers and device plugins that are programs of their own, in any language, over the plugin protocol that those
// of Nomad speak.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "discovery.h"
#include "drover/config.h"
#include "drover/external/handshake.h"
#include "drover/log.h"
#include "drover/plugin.h"
#include "drover/process.h"
#include "drover/stable_plugin.h"
#include "hosted_plugin.h"

extern char** environ;

namespace drover::external {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 10s;  // for the first start of all; who needs longer comes later

std::vector<std::string> plugin_folders(const AgentInfo& agent, const ConfigBlock* configuration) {
  std::vector<std::string> folders{agent.data_dir + "/plugins"};
  if (const std::string more = configuration ? configuration->string("plugin_dir") : ""; !more.empty())
    folders.push_back(more);
  return folders;
}

// "1.10.0" after "1.9.2".
bool is_newer(const std::string& one, const std::string& other) { return ::strverscmp(one.c_str(), other.c_str()) > 0; }

class ExternalPlugin final : public Plugin, public TaskDriverSource, public DeviceSource {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.extend<TaskDriverSource>("external", *this));
    return declare.extend<DeviceSource>("external", *this);
  }

  Status start(Host& host) override {
    host_ = &host;
    end_leftovers();
    const ConfigBlock* configuration = host.configuration("");
    const ConfigBlock none;
    const auto found = discover(plugin_folders(host.agent(), configuration), configuration ? *configuration : none);
    for (const Status& problem : found.problems)
      log::error("plugin", "a plugin is not started", {{"reason", problem.message()}});
    const std::vector<std::string> residents = resident_plugins(host);
    if (found.programs.empty() && residents.empty()) return ok_status();
    const ConfigBlock* client = configuration ? configuration->block("client") : nullptr;
    pipes_.emplace(Launcher::Options{.folder = host.agent().data_dir + "/launcher", .program = {}});
    cgroups_.emplace(detect_cgroups(), client ? client->string("cgroup_parent") : "");
    if (Status status = cgroups_->prepare(); !status.ok())
      log::warn("plugin", "tasks of plugins have no control groups", {{"error", status.message()}});
    for (const PluginProgram& program : found.programs) {
      add({.file = program.file,
           .arguments = program.arguments,
           .config = program.config,
           .environment = plugin_environment(environ),
           .asks_for_tls = program.asks_for_tls},
          configuration);
    }
    for (const std::string& name : residents) {
      add({.file = name,
           .resident = host.extension<StablePlugin>(name)->entry,
           .config = configuration ? config_of(*configuration, name) : std::nullopt},
          configuration);
    }
    for (const auto& plugin : plugins_) plugin->program().start();
    const SteadyTime deadline = host.clock().steady() + kPatience;
    for (const auto& plugin : plugins_) plugin->program().wait_first(deadline);
    return ok_status();
  }

  void stop(SteadyTime) override {
    std::vector<std::thread> ends;  // each may take its two seconds
    for (const auto& plugin : plugins_) ends.emplace_back([&plugin] { plugin->program().stop(); });
    for (std::thread& end : ends) end.join();
    forget_processes();
  }

  std::vector<std::string> driver_names() const override {
    std::vector<std::string> names;
    for (const auto& plugin : plugins_) {
      if (plugin->is_driver()) names.push_back(plugin->program().info().name());
    }
    return names;
  }

  // Of several with one name the newest.
  TaskDriver* find_driver(std::string_view name) const override {
    HostedPlugin* best = nullptr;
    std::string best_version;
    for (const auto& plugin : plugins_) {
      if (!plugin->is_driver()) continue;
      const auto info = plugin->program().info();
      if (info.name() != name || (best && !is_newer(info.plugin_version(), best_version))) continue;
      best = plugin.get();
      best_version = info.plugin_version();
    }
    return best ? &best->driver() : nullptr;
  }

  std::vector<Named> device_plugins() const override {
    std::vector<Named> found;
    for (const auto& plugin : plugins_) {
      if (plugin->is_device()) found.push_back({plugin->program().info().name(), &plugin->device()});
    }
    return found;
  }

  void watch_devices(std::function<void()> changed) override {
    const std::lock_guard lock(mutex_);
    devices_changed_ = std::move(changed);
  }

  void watch(std::function<void()> changed) override {
    const std::lock_guard lock(mutex_);
    changed_ = std::move(changed);
  }

 private:
  // Those inside the agent whose kind is spoken here.
  static std::vector<std::string> resident_plugins(const Host& host) {
    std::vector<std::string> names = host.extensions<StablePlugin>();
    std::erase_if(names, [&](const std::string& name) {
      const std::string& kind = host.extension<StablePlugin>(name)->kind;
      return kind != "task_driver" && kind != "device";
    });
    return names;
  }

  void add(ProgramHostOptions program, const ConfigBlock* configuration) {
    const ConfigBlock* client = configuration ? configuration->block("client") : nullptr;
    HostedPluginOptions options{.program = std::move(program), .driver = {.cgroups = &*cgroups_, .pipes = &*pipes_}};
    if (client) {
      options.program.min_port = static_cast<uint32_t>(client->integer("min_dynamic_port", options.program.min_port));
      options.program.max_port = static_cast<uint32_t>(client->integer("max_dynamic_port", options.program.max_port));
    }
    options.program.launched = [this, file = options.program.file](pid_t pid, uint64_t start_time) {
      const LocalStore::Write row{.key = "process/" + file,
                                  .value = std::to_string(pid) + " " + std::to_string(start_time)};
      if (Status status = host_->local_store().write({&row, 1}); !status.ok())
        log::warn("plugin", "an agent after a crash will not know this process", {{"error", status.message()}});
    };
    options.driver.changed = [this] {
      const std::lock_guard lock(mutex_);
      if (changed_) changed_();
    };
    options.devices_changed = [this] {
      const std::lock_guard lock(mutex_);
      if (devices_changed_) devices_changed_();
    };
    plugins_.push_back(std::make_unique<HostedPlugin>(std::move(options), host_->clock(), host_->metrics()));
  }

  // Programs of an agent that was killed. New ones find their tasks by the handles; two at once would both answer for
  // them.
  void end_leftovers() {
    const auto kept = host_->local_store().list("process/");
    if (!kept) return;
    for (const auto& [key, value] : *kept) {
      const size_t space = value.find(' ');
      const pid_t pid = std::atoi(value.c_str());
      const uint64_t start_time = space == std::string::npos ? 0 : std::strtoull(value.c_str() + space, nullptr, 10);
      if (pid > 1 && start_time != 0 && signal_process(pid, start_time, SIGKILL))
        log::info("plugin", "the plugin of a former agent was ended", {{"plugin", key.substr(8)}, {"pid", pid}});
    }
    forget_processes();
  }

  void forget_processes() {
    std::vector<LocalStore::Write> forget;
    if (const auto kept = host_->local_store().list("process/")) {
      for (const auto& [key, value] : *kept) forget.push_back({.key = key, .value = std::nullopt});
    }
    if (forget.empty()) return;
    if (Status status = host_->local_store().write(forget); !status.ok())
      log::warn("plugin", "ended processes are not forgotten", {{"error", status.message()}});
  }

  std::mutex mutex_;
  std::function<void()> changed_;          // guarded by mutex_
  std::function<void()> devices_changed_;  // guarded by mutex_
  Host* host_ = nullptr;
  std::optional<TaskCgroups> cgroups_;
  std::optional<LogPipes> pipes_;
  std::vector<std::unique_ptr<HostedPlugin>> plugins_;  // constant after start
};

}  // namespace
}  // namespace drover::external

DROVER_MODULE(drover::external::ExternalPlugin, "task_driver", "external", "0.1.0");
