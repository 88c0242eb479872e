// plugin status, plugin restart, plugin upgrade.
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/duration.h"
#include "lookup.h"
#include "output.h"

namespace drover::cli {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto kAskEvery = 200ms;
constexpr auto kRestartTime = 90s;
constexpr auto kUpgradeTime = 5min;

std::string size_text(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 10 * 1024 && unit + 1 < std::size(kUnits)) bytes /= 1024, ++unit;
  return std::to_string(bytes) + " " + kUnits[unit];
}

std::string of_limit(int64_t used, int64_t limit, const std::function<std::string(int64_t)>& text) {
  return text(used) + (limit > 0 ? " of " + text(limit) : "");
}

std::string duration_text(int64_t ns) {
  const std::chrono::nanoseconds exact(ns);
  return format_duration(exact < 1s ? std::chrono::nanoseconds(std::chrono::floor<std::chrono::milliseconds>(exact))
                                    : std::chrono::nanoseconds(std::chrono::floor<std::chrono::seconds>(exact)));
}

// To the second.
std::string moment(const json& object, std::string_view key) {
  const std::string exact = text(object, key);
  const size_t point = exact.find('.');
  return point == std::string::npos ? exact : exact.substr(0, point) + "Z";
}

std::string joined(const json& list) {
  std::string out;
  for (const json& item : list) out += (out.empty() ? "" : ", ") + item.get<std::string>();
  return out.empty() ? "<none>" : out;
}

// The node that was named, as parameters of a call; empty: the one of the agent that answers.
Result<Parameters> node_of(Run& run) {
  const std::string node = run.arguments.value("node");
  if (node.empty()) return Parameters();
  DROVER_TRY(const json found, find_node(run, node));
  return Parameters{{"node_id", text(found, "ID")}};
}

std::string short_digest(const json& plugin, bool verbose) {
  const std::string digest = text(plugin, "Digest");
  return verbose ? digest : digest.substr(0, 12);
}

void print_lists(Run& run, const json& plugin) {
  for (const auto& [title, key] :
       {std::pair("Remarks", "Remarks"), std::pair("Tasks", "Tasks"), std::pair("Calls in flight", "Calls")}) {
    const json& list = member(plugin, key);
    if (list.empty()) continue;
    run.out << "\n" << title << "\n";
    for (const json& item : list) run.out << item.get<std::string>() << "\n";
  }
}

void print_grants(Run& run, const json& plugin) {
  std::vector<std::vector<std::string>> rows = {{"Method", "Granted", "Calls"}};
  for (const json& grant : member(plugin, "Grants"))
    rows.push_back({text(grant, "Method"), "yes", text(grant, "Used")});
  for (const auto& [method, times] : member(plugin, "Refused").items()) rows.push_back({method, "no", times.dump()});
  if (rows.size() > 1) run.out << "\nWhat it may call\n" << format_list(rows);
}

void print_crashes(Run& run, const json& plugin) {
  const json& crashes = member(plugin, "Crashes");
  const size_t shown = run.verbose() ? crashes.size() : std::min<size_t>(1, crashes.size());
  for (size_t i = 0; i < shown; ++i) {
    const json& crash = crashes[i];
    run.out << "\n"
            << (i == 0 ? "Last crash" : "Crash before") << "\n"
            << format_pairs({{"At", moment(crash, "At")},
                             {"Reason", text(crash, "Reason")},
                             {"Uptime", duration_text(number(crash, "Uptime"))},
                             {"Calls in flight", joined(member(crash, "Calls"))}});
    const json& lines = member(crash, "LastLines");
    if (lines.empty()) continue;
    run.out << "It said last:\n";
    const size_t from = run.verbose() || lines.size() < 5 ? 0 : lines.size() - 5;
    for (size_t at = from; at < lines.size(); ++at) run.out << "    " << lines[at].get<std::string>() << "\n";
  }
}

void print_upgrade(Run& run, const json& plugin) {
  const json& upgrade = member(plugin, "Upgrade");
  if (!upgrade.is_object()) return;
  run.out << "\nLast upgrade\n"
          << format_pairs({{"At", moment(upgrade, "At")},
                           {"State", text(upgrade, "State")},
                           {"File", text(upgrade, "File")},
                           {"From", text(upgrade, "FromVersion")},
                           {"To", text(upgrade, "ToVersion")},
                           {"Tasks", text(upgrade, "Tasks")},
                           {"Calls waited", duration_text(number(upgrade, "Pause"))},
                           {"Reason", text(upgrade, "Reason")}});
}

void print_plugin(Run& run, const json& plugin) {
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"Name", text(plugin, "Name")},
      {"Called", text(plugin, "Called")},
      {"Type", text(plugin, "Type")},
      {"Form", text(plugin, "Form")},
      {"Path", text(plugin, "Path")},
      {"Digest", short_digest(plugin, run.verbose()) + (member(plugin, "Pinned") == true ? " (pinned)" : "")},
      {"Version", text(plugin, "Version")},
      {"Protocol", text(plugin, "Protocol")},
      {"State", text(plugin, "State")},
      {"Since", moment(plugin, "Since")},
      {"Restarts", text(plugin, "Restarts")}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) pairs.emplace_back(name, value);
  };
  if (number(plugin, "PID") != 0) add("PID", text(plugin, "PID"));
  add("User", text(plugin, "User"));
  add("Problem", text(plugin, "Problem"));
  if (member(plugin, "NextTry").is_string()) add("Next try", moment(plugin, "NextTry"));
  add("Advice", text(plugin, "Advice"));
  if (const json& use = member(plugin, "Use"); use.is_object()) {
    const auto plain = [](int64_t count) { return std::to_string(count); };
    add("Memory", of_limit(number(use, "Memory"), number(use, "MemoryLimit"), size_text));
    add("CPU time", duration_text(number(use, "Cpu")));
    add("Processes", of_limit(number(use, "Processes"), number(use, "ProcessesLimit"), plain));
    add("Descriptors", of_limit(number(use, "Descriptors"), number(use, "DescriptorsLimit"), plain));
    add("Control group", text(use, "Cgroup"));
  }
  run.out << format_pairs(pairs);
  print_lists(run, plugin);
  print_grants(run, plugin);
  print_crashes(run, plugin);
  print_upgrade(run, plugin);
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

int list_plugins(Run& run, const Parameters& node) {
  auto plugins = run.client.get("/v1/agent/plugins", node);
  if (run.arguments.on("json")) {
    if (!plugins) return run.fail("Error querying plugins", plugins.status());
    run.out << plugins->dump(4) << "\n";
    return 0;
  }
  if (plugins) {
    std::vector<std::vector<std::string>> rows = {
        {"Name", "Called", "Version", "Form", "State", "Since", "Restarts", "Tasks"}};
    for (const json& plugin : *plugins) {
      rows.push_back({text(plugin, "Name"), text(plugin, "Called"), text(plugin, "Version"), text(plugin, "Form"),
                      text(plugin, "State"), moment(plugin, "Since"), text(plugin, "Restarts"),
                      std::to_string(member(plugin, "Tasks").size())});
    }
    run.out << (rows.size() > 1 ? format_list(rows) : "The node has no plugins of its own\n");
    for (const json& plugin : *plugins) {
      for (const json& remark : member(plugin, "Remarks"))
        run.out << "Remark on " << text(plugin, "Name") << ": " << remark.get<std::string>() << "\n";
      if (const std::string problem = text(plugin, "Problem"); !problem.empty())
        run.out << "Problem of " << text(plugin, "Name") << ": " << problem << "\n";
    }
  } else if (!node.empty()) {
    return run.fail("Error querying plugins", plugins.status());
  } else {  // no agent, or one that is no node
    run.err << "Only what is installed here is shown: " << plugins.status().message() << "\n";
  }
  if (!node.empty()) return 0;
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

int show_plugin(Run& run, const Parameters& node, const std::string& name) {
  auto plugin = run.client.get("/v1/agent/plugin/" + escape(name), node);
  if (plugin) {
    if (run.arguments.on("json")) {
      run.out << plugin->dump(4) << "\n";
    } else {
      print_plugin(run, *plugin);
    }
    return 0;
  }
  // What is a part of the agent is looked up beside this program.
  std::vector<Status> problems;
  if (node.empty() && !run.arguments.on("json")) {
    for (const InstalledPlugin& each : installed(run, problems)) {
      if (each.manifest.name != name) continue;
      print_installed(run, each);
      return each.verdict.ok() ? 0 : 1;
    }
  }
  return run.fail("Error querying plugin", plugin.status());
}

int plugin_status(Run& run) {
  const auto node = node_of(run);
  if (!node) return run.fail("Error querying plugins", node.status());
  const auto& names = run.arguments.positional();
  return names.empty() ? list_plugins(run, *node) : show_plugin(run, *node, names[0]);
}

// Asks again and again until `is_over`; what was seen last.
Result<json> watch(Run& run, const Parameters& node, const std::string& name, std::chrono::nanoseconds limit,
                   const std::function<bool(const json&)>& is_over) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::mutex mutex;
  std::condition_variable never;
  while (true) {
    DROVER_TRY(json plugin, run.client.get("/v1/agent/plugin/" + escape(name), node));
    if (is_over(plugin)) return plugin;
    if (std::chrono::steady_clock::now() >= deadline)
      return deadline_exceeded("it takes longer than " + format_duration(limit) + "; see drover plugin status " + name);
    std::unique_lock lock(mutex);
    never.wait_for(lock, kAskEvery);
  }
}

int plugin_restart(Run& run) {
  const std::string& name = run.arguments.positional()[0];
  const auto restart = [&]() -> Result<json> {
    DROVER_TRY(const Parameters node, node_of(run));
    DROVER_TRY(const json before, run.client.get("/v1/agent/plugin/" + escape(name), node));
    DROVER_RETURN_IF_ERROR(run.client.write("PUT", "/v1/agent/plugin/" + escape(name) + "/restart", node).status());
    return watch(run, node, name, kRestartTime, [&](const json& now) {
      if (number(now, "Restarts") == number(before, "Restarts")) return false;
      const std::string state = text(now, "State");
      return state == "running" || state == "parked" || state == "backoff";
    });
  };
  const auto plugin = restart();
  if (!plugin) return run.fail("Error restarting plugin", plugin.status());
  if (text(*plugin, "State") != "running") {
    run.err << "Plugin \"" << name << "\" does not run: " << text(*plugin, "Problem") << "\n";
    return 1;
  }
  run.out << "Plugin \"" << name << "\" runs again, as process " << text(*plugin, "PID") << "\n";
  return 0;
}

int plugin_upgrade(Run& run) {
  const auto& words = run.arguments.positional();
  const auto upgrade = [&]() -> Result<json> {
    DROVER_TRY(const Parameters node, node_of(run));
    json body = json::object();
    if (words.size() > 1) body["File"] = words[1];
    if (!node.empty()) body["NodeID"] = node.at("node_id");
    DROVER_RETURN_IF_ERROR(
        run.client.write("PUT", "/v1/agent/plugin/" + escape(words[0]) + "/upgrade", {}, body.dump()).status());
    std::string last;
    return watch(run, node, words[0], kUpgradeTime, [&](const json& plugin) {
      const json& now = member(plugin, "Upgrade");
      if (member(now, "IsOver") == true) return true;
      if (const std::string state = text(now, "State"); state != last) run.out << (last = state) << "\n" << std::flush;
      return false;
    });
  };
  const auto plugin = upgrade();
  if (!plugin) return run.fail("Error upgrading plugin", plugin.status());
  const json& done = member(*plugin, "Upgrade");
  if (text(done, "State") == "upgraded") {
    run.out << "Plugin \"" << words[0] << "\" was upgraded from " << text(done, "FromVersion") << " to "
            << text(done, "ToVersion") << "; " << text(done, "Tasks") << " tasks were handed over, calls waited "
            << duration_text(number(done, "Pause")) << "\n";
    return 0;
  }
  run.err << "Plugin \"" << words[0] << "\" was not upgraded (" << text(done, "State") << "): " << text(done, "Reason")
          << "\n";
  return 1;
}

Flag node_flag() { return with_value("node", "", "The node, instead of the agent's own"); }

}  // namespace

std::vector<Definition> plugin_commands() {
  return {
      {"plugin status",
       "Shows the plugins of a node, or one with its process, crashes, tasks and rights.",
       "[plugin]",
       "Plugins are named by their file or by what they call themselves. Without an agent, and for parts of the "
       "agent, the installed files and their checks are shown.\n",
       {node_flag(), on_off("verbose", "Every kept crash and all last lines"), on_off("json", "The API's object"),
        with_value("plugin-dir", "", "A further folder of installed plugins")},
       0,
       1,
       plugin_status},
      {"plugin restart",
       "Ends a plugin's process and starts the next one at once, also one that is parked.",
       "<plugin>",
       "Tasks go on.\n",
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
