// alloc status, logs, restart, signal, stop.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/time.h"
#include "eval_monitor.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"
#include "placement.h"

namespace drover::cli {
namespace {

using nlohmann::json;

int64_t time_of(const json& object, std::string_view key) {
  const std::string value = text(object, key);
  if (value.empty()) return 0;
  return parse_time(value).value_or(0);
}

std::string moment(const json& object, std::string_view key) {
  const int64_t at = time_of(object, key);
  return at == 0 ? "N/A" : full_time(at);
}

void show_task(Run& run, const json& alloc, const std::string& name, const json& state) {
  run.out << "\nTask \"" << name << "\" is \"" << text(state, "State") << "\"\n";
  const json& resources = member(member(member(alloc, "AllocatedResources"), "Tasks"), name);
  if (!resources.is_null()) {
    run.out << "Task Resources:\n"
            << format_list({{"CPU", "Memory", "Disk"},
                            {text(member(resources, "Cpu"), "CpuShares") + " MHz",
                             text(member(resources, "Memory"), "MemoryMB") + " MiB",
                             text(member(member(alloc, "AllocatedResources"), "Shared"), "DiskMB") + " MiB"}});
  }
  run.out << "\nTask Events:\n"
          << format_pairs({{"Started At", moment(state, "StartedAt")},
                           {"Finished At", moment(state, "FinishedAt")},
                           {"Total Restarts", text(state, "Restarts")},
                           {"Last Restart", moment(state, "LastRestart")}});
  std::vector<std::vector<std::string>> rows = {{"Time", "Type", "Description"}};
  const json& events = member(state, "Events");
  for (auto event = events.rbegin(); event != events.rend(); ++event) {  // the newest first
    rows.push_back({full_time(number(*event, "Time")), text(*event, "Type"), text(*event, "DisplayMessage")});
  }
  run.out << "\nRecent Events:\n" << format_list(rows);
}

int alloc_status(Run& run) {
  auto alloc = find_alloc(run, run.arguments.positional()[0]);
  if (!alloc) return run.fail("Error querying allocation", alloc.status());
  if (auto code = print_object(run, *alloc)) return *code;
  const bool verbose = run.verbose();
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"ID", text(*alloc, "ID")},
      {"Eval ID", short_id(text(*alloc, "EvalID"), verbose)},
      {"Name", text(*alloc, "Name")},
      {"Node ID", short_id(text(*alloc, "NodeID"), verbose)},
      {"Node Name", text(*alloc, "NodeName")},
      {"Job ID", text(*alloc, "JobID")},
      {"Job Version", text(member(*alloc, "Job"), "Version")},
      {"Client Status", text(*alloc, "ClientStatus")},
      {"Client Description", text(*alloc, "ClientDescription")},
      {"Desired Status", text(*alloc, "DesiredStatus")},
      {"Desired Description", text(*alloc, "DesiredDescription")},
      {"Created", relative_time(number(*alloc, "CreateTime"), now_ns())},
      {"Modified", relative_time(number(*alloc, "ModifyTime"), now_ns())}};
  if (std::string previous = text(*alloc, "PreviousAllocation"); !previous.empty())
    pairs.emplace_back("Replacement For", short_id(previous, verbose));
  if (std::string next = text(*alloc, "NextAllocation"); !next.empty())
    pairs.emplace_back("Replaced By", short_id(next, verbose));
  run.out << format_pairs(pairs);
  const json& ports = member(member(member(*alloc, "AllocatedResources"), "Shared"), "Ports");
  if (!ports.empty()) {
    std::vector<std::vector<std::string>> rows = {{"Label", "Dynamic", "Address"}};
    const json* network = nullptr;
    for (const json& group : member(member(*alloc, "Job"), "TaskGroups")) {
      if (text(group, "Name") == text(*alloc, "TaskGroup") && !member(group, "Networks").empty())
        network = &member(group, "Networks").front();
    }
    for (const json& port : ports) {
      bool dynamic = true;
      if (network) {
        for (const json& reserved : member(*network, "ReservedPorts"))
          dynamic = dynamic && text(reserved, "Label") != text(port, "Label");
      }
      rows.push_back(
          {"*" + text(port, "Label"), dynamic ? "yes" : "no", text(port, "HostIP") + ":" + text(port, "Value")});
    }
    run.out << "\nAllocation Addresses:\n" << format_list(rows);
  }
  const json& states = member(*alloc, "TaskStates");
  if (run.arguments.on("short")) {
    std::vector<std::vector<std::string>> rows = {{"Name", "State", "Last Event", "Time", "Lifecycle"}};
    for (const auto& [name, state] : states.items()) {
      const json& events = member(state, "Events");
      std::string hook = "main";
      for (const json& group : member(member(*alloc, "Job"), "TaskGroups")) {
        for (const json& task : member(group, "Tasks")) {
          if (text(task, "Name") == name && !member(task, "Lifecycle").is_null())
            hook = text(member(task, "Lifecycle"), "Hook");
        }
      }
      rows.push_back({name, text(state, "State"), events.empty() ? "" : text(events.back(), "Type"),
                      events.empty() ? "" : full_time(number(events.back(), "Time")), hook});
    }
    run.out << "\nTasks\n" << format_list(rows);
  } else {
    for (const auto& [name, state] : states.items()) show_task(run, *alloc, name, state);
  }
  if (verbose) {
    run.out << "\nPlacement Metrics\n" << format_metric(member(*alloc, "Metrics"), "  ");
    std::vector<std::vector<std::string>> rows = {{"Node", "Score"}};
    for (const json& score : member(member(*alloc, "Metrics"), "ScoreMetaData"))
      rows.push_back({text(score, "NodeID"), text(score, "NormScore")});
    if (rows.size() > 1) run.out << format_list(rows);
  }
  return 0;
}

// The last `lines` lines of a text that ends where the log ends.
std::string last_lines(const std::string& whole, size_t lines) {
  size_t at = whole.size();
  if (at > 0 && whole[at - 1] == '\n') --at;
  while (at > 0 && lines > 0) {
    at = whole.rfind('\n', at - 1);
    if (at == std::string::npos) return whole;
    --lines;
  }
  return lines == 0 ? whole.substr(at + 1) : whole;
}

int alloc_logs(Run& run) {
  const auto& words = run.arguments.positional();
  std::string alloc_id = words[0];
  if (run.arguments.is_set("job")) {
    auto allocs = run.client.get("/v1/job/" + escape(words[0]) + "/allocations");
    if (!allocs) return run.fail("Error querying job allocations", allocs.status());
    alloc_id.clear();
    for (const json& each : *allocs) {
      if (alloc_id.empty() || text(each, "ClientStatus") == "running") alloc_id = text(each, "ID");
    }
    if (alloc_id.empty()) return run.usage("Error: job \"" + words[0] + "\" has no allocations");
  }
  auto alloc = find_alloc(run, alloc_id);
  if (!alloc) return run.fail("Error querying allocation", alloc.status());
  auto task = pick_task(*alloc, words.size() > 1 ? words[1] : run.arguments.value("task"));
  if (!task) return run.fail("Error", task.status());
  const std::string path = "/v1/client/fs/logs/" + text(*alloc, "ID");
  const bool follow = run.arguments.on("f");
  if (follow) leave_on_interrupt();
  const bool tail = run.arguments.on("tail") || run.arguments.is_set("n") || run.arguments.is_set("c");
  Parameters parameters = {
      {"task", *task}, {"type", run.arguments.on("stderr") ? "stderr" : "stdout"}, {"plain", "true"}};
  const auto print = [&](std::string_view bytes) {
    run.out << bytes << std::flush;
    return static_cast<bool>(run.out);
  };
  Status status;
  if (!tail) {
    if (follow) parameters["follow"] = "true";
    status = run.client.stream(path, parameters, print);
  } else if (run.arguments.is_set("c")) {
    parameters["origin"] = "end";
    parameters["offset"] = run.arguments.value("c");
    if (follow) parameters["follow"] = "true";
    status = run.client.stream(path, parameters, print);
  } else {
    const size_t lines = static_cast<size_t>(std::max(0, std::atoi(run.arguments.value("n").c_str())));
    constexpr size_t kBytesPerLine = 120;  // enough for most; what is more is cut
    parameters["origin"] = "end";
    parameters["offset"] = std::to_string(std::max<size_t>(lines * kBytesPerLine, 16384));
    std::string whole;
    status = run.client.stream(path, parameters, [&](std::string_view bytes) { return whole.append(bytes), true; });
    if (status.ok()) print(last_lines(whole, lines));
    if (status.ok() && follow) {
      parameters["offset"] = "0";
      parameters["follow"] = "true";
      status = run.client.stream(path, parameters, print);
    }
  }
  return status.ok() ? 0 : run.fail("Error reading logs", status);
}

int alloc_restart(Run& run) {
  const auto& words = run.arguments.positional();
  auto alloc = find_alloc(run, words[0]);
  if (!alloc) return run.fail("Error querying allocation", alloc.status());
  const std::string task = words.size() > 1 ? words[1] : run.arguments.value("task");
  if (!task.empty() && run.arguments.on("all-tasks"))
    return run.usage("The -all-tasks option is not allowed when restarting a specific task.");
  if (!task.empty()) {
    if (auto known = pick_task(*alloc, task); !known) return run.fail("Error", known.status());
  }
  auto answer = run.client.write("PUT", "/v1/client/allocation/" + text(*alloc, "ID") + "/restart", {},
                                 json{{"TaskName", task}, {"AllTasks", run.arguments.on("all-tasks")}}.dump());
  return answer ? 0 : run.fail("Failed to restart allocation", answer.status());
}

int alloc_signal(Run& run) {
  const auto& words = run.arguments.positional();
  auto alloc = find_alloc(run, words[0]);
  if (!alloc) return run.fail("Error querying allocation", alloc.status());
  const std::string task = words.size() > 1 ? words[1] : run.arguments.value("task");
  if (!task.empty()) {
    if (auto known = pick_task(*alloc, task); !known) return run.fail("Error", known.status());
  }
  auto answer = run.client.write("PUT", "/v1/client/allocation/" + text(*alloc, "ID") + "/signal", {},
                                 json{{"Task", task}, {"Signal", run.arguments.value("s")}}.dump());
  return answer ? 0 : run.fail("Error signalling allocation", answer.status());
}

int alloc_stop(Run& run) {
  auto alloc = find_alloc(run, run.arguments.positional()[0]);
  if (!alloc) return run.fail("Error querying allocation", alloc.status());
  Parameters parameters;
  if (run.arguments.on("no-shutdown-delay")) parameters["no_shutdown_delay"] = "true";
  auto answer = run.client.write("PUT", "/v1/allocation/" + text(*alloc, "ID") + "/stop", parameters);
  if (!answer) return run.fail("Error stopping allocation", answer.status());
  const std::string eval = text(*answer, "EvalID");
  if (run.arguments.on("detach")) {
    run.out << eval << "\n";
    return 0;
  }
  return monitor_evaluation(run, eval);
}

Definition logs(std::string name) {
  return {
      std::move(name),
      "Shows what a task wrote.",
      "<allocation> [task]",
      "  Standard output unless -stderr is given. -f follows what is still being written.\n",
      {on_off("f", "Follow"), on_off("stderr", "Standard error"), on_off("stdout", "Standard output, the default"),
       on_off("tail", "Only the end"), with_value("n", "10", "Lines of the end"),
       with_value("c", "", "Bytes of the end"), with_value("task", "", "The task, where there are several"),
       on_off("job", "The argument is a job: take one of its allocations"), on_off("verbose", "Show full identifiers")},
      1,
      2,
      alloc_logs};
}

}  // namespace

std::vector<Definition> alloc_commands() {
  return {{"alloc status", "Shows an allocation, its tasks and their latest events.", "<allocation>", "",
           with_object_flags(
               {on_off("short", "One line a task"), on_off("verbose", "Full identifiers and placement metrics")}),
           1, 1, alloc_status},
          logs("alloc logs"),
          logs("logs"),
          {"alloc restart",
           "Restarts the tasks of an allocation where they are.",
           "<allocation> [task]",
           "",
           {on_off("all-tasks", "Also those that have ended"), with_value("task", "", "Only this task"),
            on_off("verbose", "Show full identifiers")},
           1,
           2,
           alloc_restart},
          {"alloc signal",
           "Sends a signal to the tasks of an allocation.",
           "<allocation> [task]",
           "",
           {with_value("s", "SIGKILL", "The signal"), with_value("task", "", "Only this task"),
            on_off("verbose", "Show full identifiers")},
           1,
           2,
           alloc_signal},
          {"alloc stop",
           "Stops an allocation; the scheduler places another where the job wants one.",
           "<allocation>",
           "",
           {on_off("detach", "Do not wait for the evaluation"), on_off("verbose", "Show full identifiers"),
            on_off("no-shutdown-delay", "Leave out the group's and tasks' shutdown_delay")},
           1,
           1,
           alloc_stop}};
}

}  // namespace drover::cli
