// plugin status, plugin restart, plugin upgrade.
#include <chrono>
#include <iostream>

#include "cli_command.h"
#include "drover/api/nodes.pb.h"
#include "drover/api/plugins.pb.h"
#include "drover/api/volumes.pb.h"
#include "drover/duration.h"
#include "drover/pause.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"
#include "volumes/plugin_status.h"

namespace drover::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kStorageType = "csi";
constexpr auto kAskEvery = 200ms;
constexpr auto kRestartTime = 90s;
constexpr auto kUpgradeTime = 5min;

std::string size_text(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 10 * 1024 && unit + 1 < std::size(kUnits)) bytes /= 1024, ++unit;
  return std::to_string(bytes) + " " + kUnits[unit];
}

std::string of_limit(uint64_t used, uint64_t limit, const std::function<std::string(uint64_t)>& text) {
  return text(used) + (limit > 0 ? " of " + text(limit) : "");
}

std::string duration_text(int64_t ns) {
  const std::chrono::nanoseconds exact(ns);
  return format_duration(exact < 1s ? std::chrono::nanoseconds(std::chrono::floor<std::chrono::milliseconds>(exact))
                                    : std::chrono::nanoseconds(std::chrono::floor<std::chrono::seconds>(exact)));
}

using Texts = google::protobuf::RepeatedPtrField<std::string>;

std::string moment(int64_t at) { return at == 0 ? "" : full_time(at); }

// The identifier of the node that was named; empty: the one of the agent that answers.
Result<std::string> node_of(Run& run) {
  const std::string node = run.arguments.value("node");
  if (node.empty()) return std::string();
  DROVER_TRY(const auto found, find_node(run, node));
  return found->node().node().id();
}

template <typename Method>
Result<Answer<v1::NodePluginResponse>> call_plugin(Run& run, const std::string& node, const std::string& name) {
  v1::NodePluginRequest request;
  request.set_node_id(node);
  request.set_name(name);
  return run.client.call<Method>(request);
}

void print_list(Run& run, const char* title, const Texts& list) {
  if (list.empty()) return;
  run.out << "\n" << title << "\n";
  for (const std::string& item : list) run.out << item << "\n";
}

void print_grants(Run& run, const v1::NodePlugin& plugin) {
  std::vector<std::vector<std::string>> rows = {{"Method", "Granted", "Calls"}};
  for (const v1::PluginGrant& grant : plugin.grants())
    rows.push_back({grant.method(), "yes", std::to_string(grant.used())});
  for (const auto& [method, times] : sorted(plugin.refused())) rows.push_back({method, "no", std::to_string(times)});
  if (rows.size() > 1) run.out << "\nWhat it may call\n" << format_list(rows);
}

void print_crashes(Run& run, const v1::NodePlugin& plugin) {
  const int shown = run.verbose() ? plugin.crashes_size() : std::min(1, plugin.crashes_size());
  for (int i = 0; i < shown; ++i) {
    const v1::PluginCrash& crash = plugin.crashes(i);
    run.out << "\n"
            << (i == 0 ? "Last crash" : "Crash before") << "\n"
            << format_pairs({{"At", moment(crash.at())},
                             {"Reason", crash.reason()},
                             {"Uptime", duration_text(crash.uptime())},
                             {"Calls in flight", joined(crash.calls(), ", ")}});
    const Texts& lines = crash.last_lines();
    if (lines.empty()) continue;
    run.out << "It said last:\n";
    const int from = run.verbose() ? 0 : std::max(0, lines.size() - 5);
    for (int at = from; at < lines.size(); ++at) run.out << "    " << lines[at] << "\n";
  }
}

void print_upgrade(Run& run, const v1::PluginUpgrade& upgrade) {
  run.out << "\nLast upgrade\n"
          << format_pairs({{"At", moment(upgrade.at())},
                           {"State", upgrade.state()},
                           {"File", upgrade.file()},
                           {"From", upgrade.from_version()},
                           {"To", upgrade.to_version()},
                           {"Tasks", std::to_string(upgrade.tasks())},
                           {"Calls waited", duration_text(upgrade.pause())},
                           {"Reason", upgrade.reason()}});
}

void print_plugin(Run& run, const v1::NodePlugin& plugin) {
  const std::string digest = plugin.digest().substr(0, run.verbose() ? std::string::npos : 12);
  std::vector<std::pair<std::string, std::string>> pairs = {{"Name", plugin.name()},
                                                            {"Called", plugin.called()},
                                                            {"Type", plugin.type()},
                                                            {"Form", plugin.form()},
                                                            {"Path", plugin.path()},
                                                            {"Digest", digest + (plugin.pinned() ? " (pinned)" : "")},
                                                            {"Version", plugin.version()},
                                                            {"Protocol", plugin.protocol()},
                                                            {"State", plugin.state()},
                                                            {"Since", moment(plugin.since())},
                                                            {"Restarts", std::to_string(plugin.restarts())}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) pairs.emplace_back(name, value);
  };
  if (plugin.pid() != 0) add("PID", std::to_string(plugin.pid()));
  add("User", plugin.user());
  add("Problem", plugin.problem());
  add("Next try", moment(plugin.next_try()));
  add("Advice", plugin.advice());
  if (plugin.has_use()) {
    const v1::PluginUse& use = plugin.use();
    const auto plain = [](uint64_t count) { return std::to_string(count); };
    add("Memory", of_limit(use.memory(), use.memory_limit(), size_text));
    add("CPU time", duration_text(use.cpu()));
    add("Processes", of_limit(use.processes(), use.processes_limit(), plain));
    add("Descriptors", of_limit(use.descriptors(), use.descriptors_limit(), plain));
    add("Control group", use.cgroup());
  }
  if (plugin.type() == kStorageType)
    std::erase_if(pairs, [](const auto& pair) { return pair.first == "Digest" || pair.first == "Protocol"; });
  run.out << format_pairs(pairs);
  print_list(run, "Remarks", plugin.remarks());
  print_list(run, "Tasks", plugin.tasks());
  print_list(run, "Calls in flight", plugin.calls());
  print_grants(run, plugin);
  print_crashes(run, plugin);
  if (plugin.has_upgrade()) print_upgrade(run, plugin.upgrade());
}

void print_installed(Run& run, const InstalledPlugin& plugin) {
  std::string provides, needs, roles;
  const auto join = [](std::string& out, const std::string& item) { out += (out.empty() ? "" : ", ") + item; };
  for (const std::string& capability : plugin.manifest.provides) join(provides, capability);
  for (const Requirement& needed : plugin.manifest.requirements)
    join(needs, needed.capability + (needed.optional ? "?" : ""));
  for (const std::string& role : plugin.manifest.roles) join(roles, role);
  run.out << format_pairs({{"Name", plugin.manifest.name},
                           {"Version", plugin.manifest.version},
                           {"File", plugin.file},
                           {"Tier", plugin.manifest.tier},
                           {"Kind", plugin.manifest.kind},
                           {"Roles", roles},
                           {"Provides", provides},
                           {"Requires", needs},
                           {"Form", "in-process"},
                           {"Checks", plugin.verdict.ok() ? "passed" : plugin.verdict.message()}});
}

std::vector<InstalledPlugin> installed(Run& run, std::vector<Status>& problems) {
  return run.host.installed(run.arguments.values("plugin-dir"), problems);
}

int list_plugins(Run& run, const std::string& node) {
  v1::NodePluginsRequest request;
  request.set_node_id(node);
  auto plugins = run.client.call<v1::NodePlugins::List>(request);
  if (wants_object(run))
    return plugins ? *print_object(run, *plugins) : run.fail("Error querying plugins", plugins.status());
  if (plugins) {
    std::vector<std::vector<std::string>> rows = {
        {"Name", "Called", "Version", "Form", "State", "Since", "Restarts", "Tasks"}};
    const auto& all = plugins->message.plugins();
    for (const v1::NodePlugin& plugin : all) {
      rows.push_back({plugin.name(), plugin.called(), plugin.version(), plugin.form(), plugin.state(),
                      moment(plugin.since()), std::to_string(plugin.restarts()), std::to_string(plugin.tasks_size())});
    }
    run.out << (rows.size() > 1 ? format_list(rows) : "The node has no plugins of its own\n");
    for (const v1::NodePlugin& plugin : all) {
      for (const std::string& remark : plugin.remarks())
        run.out << "Remark on " << plugin.name() << ": " << remark << "\n";
      if (!plugin.problem().empty()) run.out << "Problem of " << plugin.name() << ": " << plugin.problem() << "\n";
    }
  } else if (!node.empty()) {
    return run.fail("Error querying plugins", plugins.status());
  } else {  // no agent, or one that is no node
    run.err << "Only what is installed here is shown: " << plugins.status().message() << "\n";
  }
  if (!node.empty()) return 0;
  const bool is_reached = plugins || plugins.status().code() != Code::unavailable;
  if (is_reached && run.arguments.value("type").empty()) (void)list_storage_plugins(run, /*is_asked=*/false);
  std::vector<Status> problems;
  std::vector<std::vector<std::string>> rows = {{"Installed", "Version", "Tier", "Kind", "Checks"}};
  bool all_fit = true;
  for (const InstalledPlugin& plugin : installed(run, problems)) {
    all_fit = all_fit && plugin.verdict.ok();
    rows.push_back({plugin.manifest.name, plugin.manifest.version, plugin.manifest.tier, plugin.manifest.kind,
                    plugin.verdict.ok() ? "passed" : plugin.verdict.message()});
  }
  run.out << "\n" << format_list(rows);
  for (const Status& problem : problems) run.err << "Error: " << problem.message() << "\n";
  return all_fit && problems.empty() ? 0 : 1;
}

int show_plugin(Run& run, const std::string& node, const std::string& name) {
  auto plugin = call_plugin<v1::NodePlugins::Read>(run, node, name);
  // A storage plugin is first of all the cluster's.
  const bool is_storage = plugin && plugin->message.plugin().type() == kStorageType;
  if (is_storage && node.empty() && run.arguments.value("type").empty()) {
    const auto storage = find_storage_plugin(run, name);
    if (storage && storage->message.plugin().id() == name) {
      const int code = show_storage_plugin(run, *storage);
      if (wants_object(run) || run.arguments.on("short")) return code;
      run.out << "\nProgram on this node\n";
      print_plugin(run, plugin->message.plugin());
      return code;
    }
  }
  if (plugin) {
    if (auto code = print_object(run, *plugin)) return *code;
    print_plugin(run, plugin->message.plugin());
    return 0;
  }
  if (node.empty() && run.arguments.value("type").empty()) {
    const auto storage = find_storage_plugin(run, name);
    if (storage) return show_storage_plugin(run, *storage);
    if (storage.status().code() == Code::invalid_argument) return run.fail("Error querying plugin", storage.status());
  }
  // Plugins that are a part of the agent are looked up beside this program.
  std::vector<Status> problems;
  if (node.empty() && !wants_object(run)) {
    for (const InstalledPlugin& each : installed(run, problems)) {
      if (each.manifest.name != name) continue;
      print_installed(run, each);
      return each.verdict.ok() ? 0 : 1;
    }
  }
  return run.fail("Error querying plugin", plugin.status());
}

int storage_status(Run& run) {
  const auto& names = run.arguments.positional();
  if (names.empty()) return list_storage_plugins(run, /*is_asked=*/true);
  const auto found = find_storage_plugin(run, names[0]);
  return found ? show_storage_plugin(run, *found) : run.fail("Error querying CSI plugins", found.status());
}

int plugin_status(Run& run) {
  const std::string type = run.arguments.value("type");
  if (!type.empty() && type != "csi" && type != "node")
    return run.usage("-type: \"" + type + "\" is neither csi nor node");
  if (type == "csi") {
    if (run.arguments.is_set("node"))
      return run.usage("-node is for plugins of a node; those of the type csi are everybody's");
    return storage_status(run);
  }
  const auto node = node_of(run);
  if (!node) return run.fail("Error querying plugins", node.status());
  const auto& names = run.arguments.positional();
  return names.empty() ? list_plugins(run, *node) : show_plugin(run, *node, names[0]);
}

// Asks again and again until `is_over`; what was seen last.
Result<v1::NodePlugin> watch(Run& run, const std::string& node, const std::string& name, std::chrono::nanoseconds limit,
                             const std::function<bool(const v1::NodePlugin&)>& is_over) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    DROVER_TRY(const auto plugin, call_plugin<v1::NodePlugins::Read>(run, node, name));
    if (is_over(plugin->plugin())) return plugin->plugin();
    if (std::chrono::steady_clock::now() >= deadline)
      return deadline_exceeded("it takes longer than " + format_duration(limit) + "; see drover plugin status " + name);
    pause_for(kAskEvery, {});
  }
}

int plugin_restart(Run& run) {
  const std::string& name = run.arguments.positional()[0];
  const auto restart = [&]() -> Result<v1::NodePlugin> {
    DROVER_TRY(const std::string node, node_of(run));
    DROVER_TRY(const auto before, call_plugin<v1::NodePlugins::Read>(run, node, name));
    DROVER_RETURN_IF_ERROR(call_plugin<v1::NodePlugins::Restart>(run, node, name).status());
    return watch(run, node, name, kRestartTime, [&](const v1::NodePlugin& now) {
      if (now.restarts() == before->plugin().restarts()) return false;
      return now.state() == "running" || now.state() == "parked" || now.state() == "backoff";
    });
  };
  const auto plugin = restart();
  if (!plugin) return run.fail("Error restarting plugin", plugin.status());
  if (plugin->state() != "running") {
    run.err << "Plugin \"" << name << "\" does not run: " << plugin->problem() << "\n";
    return 1;
  }
  run.out << "Plugin \"" << name << "\" runs again, as process " << plugin->pid() << "\n";
  return 0;
}

int plugin_upgrade(Run& run) {
  const auto& words = run.arguments.positional();
  const auto upgrade = [&]() -> Result<v1::NodePlugin> {
    v1::UpgradePluginRequest request;
    DROVER_TRY(*request.mutable_node_id(), node_of(run));
    request.set_name(words[0]);
    if (words.size() > 1) request.set_file(words[1]);
    DROVER_RETURN_IF_ERROR(run.client.call<v1::NodePlugins::Upgrade>(request).status());
    std::string last;
    return watch(run, request.node_id(), words[0], kUpgradeTime, [&](const v1::NodePlugin& plugin) {
      const v1::PluginUpgrade& now = plugin.upgrade();
      if (now.is_over()) return true;
      if (now.state() != last) run.out << (last = now.state()) << "\n" << std::flush;
      return false;
    });
  };
  const auto plugin = upgrade();
  if (!plugin) return run.fail("Error upgrading plugin", plugin.status());
  const v1::PluginUpgrade& done = plugin->upgrade();
  if (done.state() == "upgraded") {
    run.out << "Plugin \"" << words[0] << "\" was upgraded from " << done.from_version() << " to " << done.to_version()
            << "; " << done.tasks() << " tasks were handed over, calls waited " << duration_text(done.pause()) << "\n";
    return 0;
  }
  run.err << "Plugin \"" << words[0] << "\" was not upgraded (" << done.state() << "): " << done.reason() << "\n";
  return 1;
}

Flag node_flag() { return with_value("node", "", "The node, instead of the agent's own"); }

}  // namespace

std::vector<Definition> plugin_commands() {
  return {
      {"plugin status", "Shows the plugins of a node and those of storage, or one of them.", "[plugin]",
       "A node's plugins are named by their file or by what they call themselves, and shown with process, crashes, "
       "tasks and rights; where there is none of that name, the storage plugin with that ID is shown. -type chooses "
       "one "
       "kind. Without an agent, and for parts of the agent, the installed files and their checks are shown.\n",
       with_object_flags(
           {node_flag(), with_value("type", "", "node or csi"),
            on_off("short", "Of a storage plugin leave out its allocations"),
            on_off("verbose", "Every kept crash and all last lines; what a storage plugin can do, and where"),
            with_value("plugin-dir", "", "A further folder of installed plugins")}),
       0, 1, plugin_status},
      {"plugin restart",
       "Ends a plugin's process and starts the next one at once, also one that is parked.",
       "<plugin>",
       "Tasks go on. Of storage plugins those are restarted that the node's configuration names; others are tasks of jobs.\n",
       {node_flag()},
       1,
       1,
       plugin_restart},
      {"plugin upgrade",
       "Lets another version of a plugin take over from the one that runs.",
       "<plugin> [file]",
       "The file is on the node, in the plugin's own folder unless its digest is pinned, and takes the place of the "
       "plugin's own; without one the new version is what lies there already. No task stops; where the new version "
       "does not do, the old one serves on.\n",
       {node_flag()},
       1,
       2,
       plugin_upgrade}};
}

}  // namespace drover::cli
