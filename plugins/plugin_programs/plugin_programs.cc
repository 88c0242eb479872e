// Plugins that are programs of their own, in any language, over the plugin protocol that those of Nomad speak: task
// drivers, device plugins, check providers, service providers and auth methods.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "discovery.h"
#include "drover/config.h"
#include "drover/log.h"
#include "drover/module.h"
#include "drover/mutex.h"
#include "drover/node_programs.h"
#include "drover/plugin_kind.h"
#include "drover/plugin_programs/handshake.h"
#include "drover/plugin_source.h"
#include "drover/process.h"
#include "drover/reload.h"
#include "drover/sha256.h"
#include "drover/stable_plugin.h"
#include "kinds/hosted_plugin.h"
#include "node_plugins.h"

extern char** environ;

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 10s;  // for the first start of all; plugins that need longer come later

std::vector<std::string> plugin_folders(const AgentInfo& agent, const ConfigBlock* configuration) {
  std::vector<std::string> folders{agent.data_dir + "/plugins"};
  if (const std::string more = configuration ? configuration->string("plugin_dir") : ""; !more.empty())
    folders.push_back(more);
  return folders;
}

// "1.10.0" after "1.9.2".
bool is_newer(const std::string& one, const std::string& other) { return ::strverscmp(one.c_str(), other.c_str()) > 0; }

class PluginPrograms final : public Plugin, public PluginSource, public Reloadable {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.extend<PluginSource>("plugin_programs", *this));
    DROVER_RETURN_IF_ERROR(declare.extend<Reloadable>("plugin_programs", *this));
    return declare.service(
        "drover.v1.NodePlugins",
        {method<&PluginPrograms::list>("List", this), method<&PluginPrograms::read>("Read", this),
         method<&PluginPrograms::restart>("Restart", this), method<&PluginPrograms::upgrade>("Upgrade", this)});
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
    layout_ = detect_cgroups();
    cgroups_.emplace(layout_, client ? client->string("cgroup_parent") : "");
    if (Status status = cgroups_->prepare(); !status.ok())
      log::warn("plugin", "tasks of plugins have no control groups", {{"error", status.message()}});
    for (const PluginProgram& program : found.programs) {
      if (program.settings.grants) {
        return invalid_argument("plugin \"" + std::filesystem::path(program.file).filename().string() +
                                "\": grants are for plugins inside the agent; a program has no way to call it");
      }
      add({.file = program.file, .settings = program.settings, .environment = plugin_environment(environ)},
          configuration);
    }
    for (const std::string& name : residents) {
      PluginSettings settings = settings_of(configuration ? *configuration : none, name);
      DROVER_RETURN_IF_ERROR(check_grants(settings.grants.value_or(std::vector<std::string>()), host.methods())
                                 .with_context("plugin \"" + name + "\""));
      warn_idle_options(configuration ? *configuration : none, name);
      add({.file = name,
           .resident = host.extension<StablePlugin>(name)->entry,
           .caller = &host.caller(),
           .settings = std::move(settings)},
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

  // Programs whose file was replaced are handed over to the new one. New files are found at the next start.
  void reload() override {
    for (const auto& plugin : plugins_) {
      if (!plugin->program().has_new_file()) continue;
      if (Status status = plugin->program().begin_upgrade(""); !status.ok())
        log::warn("plugin", "a new file is not taken", {{"reason", status.message()}});
    }
  }

 protected:
  std::vector<NamedPlugin<void>> find_plugins(std::string_view point) const override {
    struct Found {
      NamedPlugin<void> named;
      std::string version;
    };
    std::vector<Found> found;
    for (const auto& plugin : plugins_) {
      void* const implementation = plugin->find(point);
      if (!implementation) continue;
      const auto info = plugin->program().info();
      found.push_back({{.name = info.name(), .plugin = implementation}, info.plugin_version()});
    }
    std::ranges::stable_sort(found, [](const Found& one, const Found& other) {
      return one.named.name != other.named.name ? one.named.name < other.named.name
                                                : is_newer(one.version, other.version);
    });
    std::vector<NamedPlugin<void>> out;
    for (Found& each : found) out.push_back(std::move(each.named));
    return out;
  }

  void watch_plugins(std::string_view point, std::function<void()> changed) override {
    const MutexLock lock(mutex_);
    watchers_[std::string(point)] = std::move(changed);
  }

 private:
  // Those inside the agent whose kind is spoken here.
  static std::vector<std::string> resident_plugins(const Host& host) {
    std::vector<std::string> names = host.extensions<StablePlugin>();
    std::erase_if(names, [&](const std::string& name) {
      return kind_of_point(host.extension<StablePlugin>(name)->kind) == nullptr;
    });
    return names;
  }

  // Warns of options for a process in the block of a plugin that is none.
  static void warn_idle_options(const ConfigBlock& configuration, const std::string& name) {
    const ConfigBlock* block = configuration.block("plugin", name);
    for (const char* option : {"args", "user", "no_new_privileges", "oom_score", "limits"}) {
      if (!block || (!block->has(option) && !block->block(option))) continue;
      log::warn("plugin", "an option has no effect on a plugin inside the agent",
                {{"plugin", name}, {"option", option}, {"place", block->place.to_string()}});
    }
  }

  void add(ProgramHostOptions program, const ConfigBlock* configuration) {
    const ConfigBlock* client = configuration ? configuration->block("client") : nullptr;
    HostedPluginOptions options{.program = std::move(program), .cgroups = &*cgroups_, .pipes = &*pipes_};
    if (client) {
      options.program.min_port = static_cast<uint32_t>(client->integer("min_dynamic_port", options.program.min_port));
      options.program.max_port = static_cast<uint32_t>(client->integer("max_dynamic_port", options.program.max_port));
    }
    // Agents of one machine do not share the groups.
    options.program.cgroups = layout_;
    Sha256 folder;
    folder.add(host_->agent().data_dir);
    options.program.cgroup =
        std::filesystem::path(options.program.file).filename().string() + "-" + to_hex(folder.take()).substr(0, 8);
    const auto key = [file = options.program.file](pid_t pid) { return "process/" + file + "#" + std::to_string(pid); };
    options.program.launched = [this, key](pid_t pid, uint64_t start_time) {
      const LocalStore::Write row{.key = key(pid), .value = std::to_string(pid) + " " + std::to_string(start_time)};
      if (Status status = host_->local_store().write({&row, 1}); !status.ok())
        log::warn("plugin", "an agent after a crash will not know this process", {{"error", status.message()}});
    };
    options.program.collected = [this, key](pid_t pid) {
      const LocalStore::Write row{.key = key(pid), .value = std::nullopt};
      if (Status status = host_->local_store().write({&row, 1}); !status.ok())
        log::warn("plugin", "an ended process is not forgotten", {{"error", status.message()}});
    };
    options.changed = [this](std::string_view point) {
      const MutexLock lock(mutex_);
      const auto watcher = watchers_.find(point);
      if (watcher != watchers_.end() && watcher->second) watcher->second();
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
        log::info("plugin", "the plugin of a former agent was ended",
                  {{"plugin", key.substr(8, key.rfind('#') - 8)}, {"pid", pid}});
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

  // ---- drover.v1.NodePlugins [any]; stop() runs when no handler does any more

  Result<HostedPlugin*> find(const std::string& name) const {
    for (const auto& plugin : plugins_) {
      if (plugin->program().file_name() == name) return plugin.get();
    }
    for (const auto& plugin : plugins_) {
      if (plugin->program().info().name() == name) return plugin.get();
    }
    return not_found("this node has no plugin \"" + name + "\"");
  }
  // Those that other modules run.
  std::vector<v1::NodePlugin> others() const {
    std::vector<v1::NodePlugin> out;
    for (const std::string& name : host_->extensions<NodePrograms>()) {
      for (v1::NodePlugin& plugin : host_->extension<NodePrograms>(name)->list()) {
        if (plugin.pid() != 0) *plugin.mutable_use() = use_of(plugin.pid());
        out.push_back(std::move(plugin));
      }
    }
    return out;
  }
  Result<v1::NodePluginResponse> other(const std::string& name) const {
    for (v1::NodePlugin& plugin : others()) {
      if (plugin.name() != name) continue;
      v1::NodePluginResponse response;
      *response.mutable_plugin() = std::move(plugin);
      return response;
    }
    return not_found("this node has no plugin \"" + name + "\"");
  }
  Status restart_other(const std::string& name) const {
    Status status = not_found("this node has no plugin \"" + name + "\"");
    for (const std::string& module : host_->extensions<NodePrograms>()) {
      status = host_->extension<NodePrograms>(module)->restart(name);
      if (status.code() != Code::not_found) break;
    }
    return status;
  }
  Result<v1::NodePluginsResponse> list(const v1::NodePluginsRequest&, Call&) {
    v1::NodePluginsResponse response;
    for (const auto& plugin : plugins_) *response.add_plugins() = describe(*plugin);
    for (v1::NodePlugin& plugin : others()) *response.add_plugins() = std::move(plugin);
    return response;
  }
  static v1::NodePluginResponse response_of(const HostedPlugin& plugin) {
    v1::NodePluginResponse response;
    *response.mutable_plugin() = describe(plugin);
    return response;
  }
  Result<v1::NodePluginResponse> read(const v1::NodePluginRequest& request, Call&) {
    const auto plugin = find(request.name());
    if (!plugin) return other(request.name());
    return response_of(**plugin);
  }
  Result<v1::NodePluginResponse> restart(const v1::NodePluginRequest& request, Call&) {
    const auto plugin = find(request.name());
    if (!plugin) {
      DROVER_RETURN_IF_ERROR(restart_other(request.name()));
      return other(request.name());
    }
    log::info("plugin", "an operator restarts a plugin", {{"plugin", (*plugin)->program().file_name()}});
    DROVER_RETURN_IF_ERROR((*plugin)->program().restart());
    return response_of(**plugin);
  }
  Result<v1::NodePluginResponse> upgrade(const v1::UpgradePluginRequest& request, Call&) {
    if (const auto found = other(request.name()))
      return failed_precondition("plugin \"" + request.name() + "\" is of the type " + found->plugin().type() +
                                 ": put the new version in place of " + found->plugin().path() +
                                 ", then: drover plugin restart " + request.name());
    DROVER_TRY(HostedPlugin * plugin, find(request.name()));
    DROVER_RETURN_IF_ERROR(plugin->program().begin_upgrade(request.file()));
    return response_of(*plugin);
  }

  Mutex mutex_;
  std::map<std::string, std::function<void()>, std::less<>> watchers_ DROVER_GUARDED_BY(mutex_);  // by extension point
  Host* host_ = nullptr;
  CgroupLayout layout_;
  std::optional<TaskCgroups> cgroups_;
  std::optional<LogPipes> pipes_;
  std::vector<std::unique_ptr<HostedPlugin>> plugins_;  // constant after start
};

}  // namespace
}  // namespace drover::plugin_programs

DROVER_MODULE(drover::plugin_programs::PluginPrograms, "module", "plugin_programs", "0.1.0");
