// alloc status, restart, signal, stop.
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <optional>

#include "cli_command.h"
#include "deployments/deployment_text.h"
#include "drover/api/allocations.pb.h"
#include "drover/api/client.pb.h"
#include "drover/api/volumes.pb.h"
#include "evals/eval_monitor.h"
#include "lookup.h"
#include "nodes/stats_text.h"
#include "object_output.h"
#include "output.h"
#include "placement.h"
#include "service_checks/check_commands.h"
#include "volumes/volume_text.h"

namespace drover::cli {
namespace {

std::string moment(int64_t at) { return at == 0 ? "N/A" : full_time(at); }

// Volumes of the task, by type; of those that the servers keep -verbose tells more.
void show_volumes(Run& run, const v1::AllocationWithJob& alloc, const std::string& task) {
  std::vector<std::vector<std::string>> host = {{"ID", "Read Only"}}, storage = host;
  if (run.verbose()) storage = {{"ID", "Name", "Plugin", "Provider", "Schedulable", "Read Only", "Mount Options"}};
  for (const MountedVolume& volume : volumes_of(alloc, task)) {
    const std::string read_only = yes_no(volume.is_read_only);
    if (volume.type != "csi" || !run.verbose()) {
      (volume.type == "csi" ? storage : host).push_back({volume.id, read_only});
      continue;
    }
    v1::ReadVolumeRequest request;
    request.set_volume_id(volume.id);
    const auto found = run.client.call<v1::Volumes::Get>(request, {{"namespace", alloc.allocation().namespace_()}});
    if (!found) run.err << "Error querying volume \"" << volume.id << "\": " << found.status().message() << "\n";
    const v1::Volume row = found ? found->message.volume() : v1::Volume();
    storage.push_back({volume.id, row.name(), row.plugin_id(), row.provider(), found ? yes_no(row.schedulable()) : "",
                       read_only, mount_options_text(row.mount_options())});
  }
  if (host.size() > 1) run.out << "\nHost Volumes:\n" << format_list(host);
  if (storage.size() > 1) run.out << "\nCSI Volumes:\n" << format_list(storage);
}

// Uses of an allocation that runs, as its node tells them; nothing where they are not told, with a word why.
std::optional<v1::AllocationStatsResponse> use_of(Run& run, const v1::Allocation& alloc) {
  if (alloc.client_status() != v1::CLIENT_STATUS_RUNNING || run.arguments.on("short")) return std::nullopt;
  v1::AllocationStatsRequest request;
  request.set_alloc_id(alloc.id());
  auto stats = run.client.call<v1::ClientAllocations::Stats>(request);
  if (stats) return std::move(stats->message);
  run.out << "\nCouldn't retrieve stats: " << stats.status().message() << "\n";
  return std::nullopt;
}

// `use`: null where it is not known.
void show_task(Run& run, const v1::AllocationWithJob& alloc, const std::string& name, const v1::TaskState& state,
               const v1::ResourceUsage* use) {
  const v1::AllocatedResources& resources = alloc.allocation().allocated_resources();
  run.out << "\nTask \"" << name << "\" is \"" << state.state() << "\"\n";
  if (const auto own = resources.tasks().find(name); own != resources.tasks().end()) {
    run.out << "Task Resources:\n"
            << format_list({{"CPU", "Memory", "Disk"},
                            {task_cpu_text(use, own->second), task_memory_text(use, own->second),
                             std::to_string(resources.shared().disk_mb()) + " MiB"}});
  }
  if (use && run.arguments.on("stats")) run.out << "\n" << task_use_text(*use);
  show_volumes(run, alloc, name);
  run.out << "\nTask Events:\n"
          << format_pairs({{"Started At", moment(state.started_at())},
                           {"Finished At", moment(state.finished_at())},
                           {"Total Restarts", std::to_string(state.restarts())},
                           {"Last Restart", moment(state.last_restart())}});
  std::vector<std::vector<std::string>> rows = {{"Time", "Type", "Description"}};
  for (auto event = state.events().rbegin(); event != state.events().rend(); ++event) {  // the newest first
    rows.push_back({full_time(event->time()), event->type(), event->display_message()});
  }
  run.out << "\nRecent Events:\n" << format_list(rows);
}

// The group's first network, in the job that the allocation is of; null: it has none.
const v1::NetworkResource* network_of(const v1::AllocationWithJob& alloc) {
  for (const v1::TaskGroup& group : alloc.job().task_groups()) {
    if (group.name() == alloc.allocation().task_group() && !group.networks().empty()) return &group.networks(0);
  }
  return nullptr;
}

bool has_checks(const v1::AllocationWithJob& alloc) {
  const auto have_some = [](const auto& services) {
    return std::ranges::any_of(services, [](const v1::Service& service) { return !service.checks().empty(); });
  };
  return std::ranges::any_of(alloc.job().task_groups(), [&](const v1::TaskGroup& group) {
    return group.name() == alloc.allocation().task_group() &&
           (have_some(group.services()) ||
            std::ranges::any_of(group.tasks(), [&](const v1::Task& task) { return have_some(task.services()); }));
  });
}

std::string hook_of(const v1::Job& job, const std::string& name) {
  for (const v1::TaskGroup& group : job.task_groups()) {
    for (const v1::Task& task : group.tasks()) {
      if (task.name() == name && task.has_lifecycle()) return task.lifecycle().hook();
    }
  }
  return "main";
}

int alloc_status(Run& run) {
  auto found = find_alloc(run, run.arguments.positional()[0]);
  if (!found) return run.fail("Error querying allocation", found.status());
  if (auto code = print_object(run, *found)) return *code;
  const v1::AllocationWithJob& whole = found->message.allocation();
  const v1::Allocation& alloc = whole.allocation();
  const bool verbose = run.verbose();
  std::vector<std::pair<std::string, std::string>> pairs = {{"ID", id_text(alloc.id())},
                                                            {"Eval ID", id_text(alloc.eval_id(), verbose)},
                                                            {"Name", alloc.name()},
                                                            {"Node ID", id_text(alloc.node_id(), verbose)},
                                                            {"Node Name", alloc.node_name()},
                                                            {"Job ID", alloc.job_id()},
                                                            {"Job Version", std::to_string(whole.job().version())},
                                                            {"Client Status", word(alloc.client_status())},
                                                            {"Client Description", alloc.client_description()},
                                                            {"Desired Status", word(alloc.desired_status())},
                                                            {"Desired Description", alloc.desired_description()},
                                                            {"Created", relative_time(alloc.create_time(), now_ns())},
                                                            {"Modified", relative_time(alloc.modify_time(), now_ns())}};
  if (!alloc.deployment_id().empty()) {
    pairs.emplace_back("Deployment ID", id_text(alloc.deployment_id(), verbose));
    pairs.emplace_back("Deployment Health", health_of(alloc));
    if (alloc.deployment_status().canary()) pairs.emplace_back("Canary", "true");
  }
  if (!alloc.previous_allocation().empty())
    pairs.emplace_back("Replacement For", id_text(alloc.previous_allocation(), verbose));
  if (!alloc.next_allocation().empty()) pairs.emplace_back("Replaced By", id_text(alloc.next_allocation(), verbose));
  run.out << format_pairs(pairs);
  const auto& ports = alloc.allocated_resources().shared().ports();
  if (!ports.empty()) {
    std::vector<std::vector<std::string>> rows = {{"Label", "Dynamic", "Address"}};
    const v1::NetworkResource* network = network_of(whole);
    for (const v1::PortMapping& port : ports) {
      const bool is_reserved = network && std::ranges::any_of(network->reserved_ports(), [&](const v1::Port& reserved) {
                                 return reserved.label() == port.label();
                               });
      const std::string inside = port.to() > 0 ? " -> " + std::to_string(port.to()) : "";
      rows.push_back({"*" + port.label(), is_reserved ? "no" : "yes",
                      port.host_ip() + ":" + std::to_string(port.value()) + inside});
    }
    const std::string mode = network && !network->mode().empty() && network->mode() != "host"
                                 ? " (mode = \"" + network->mode() + "\")"
                                 : std::string();
    run.out << "\nAllocation Addresses" << mode << ":\n" << format_list(rows);
  }
  const bool has_ended =
      alloc.client_status() != v1::CLIENT_STATUS_PENDING && alloc.client_status() != v1::CLIENT_STATUS_RUNNING;
  if (!has_ended && has_checks(whole)) run.out << checks_section(run, alloc.id());
  const auto states = sorted(alloc.task_states());
  if (run.arguments.on("short")) {
    std::vector<std::vector<std::string>> rows = {{"Name", "State", "Last Event", "Time", "Lifecycle"}};
    for (const auto& [name, state] : states) {
      const v1::TaskEvent* last = state.events().empty() ? nullptr : &*state.events().rbegin();
      rows.push_back({name, state.state(), last ? last->type() : "", last ? full_time(last->time()) : "",
                      hook_of(whole.job(), name)});
    }
    run.out << "\nTasks\n" << format_list(rows);
  } else {
    const auto use = use_of(run, alloc);
    for (const auto& [name, state] : states) {
      const bool is_known = use && use->tasks().contains(name);
      show_task(run, whole, name, state, is_known ? &use->tasks().at(name).resource_usage() : nullptr);
    }
  }
  if (verbose) {
    run.out << "\nPlacement Metrics\n" << format_metric(alloc.metrics(), "  ");
    run.out << format_scores(alloc.metrics());
  }
  return 0;
}

int alloc_restart(Run& run) {
  const auto& words = run.arguments.positional();
  auto alloc = find_alloc(run, words[0]);
  if (!alloc) return run.fail("Error querying allocation", alloc.status());
  const std::string task = words.size() > 1 ? words[1] : run.arguments.value("task");
  if (!task.empty() && run.arguments.on("all-tasks"))
    return run.usage("The -all-tasks option is not allowed when restarting a specific task.");
  if (!task.empty()) {
    if (auto known = pick_task(alloc->message.allocation(), task); !known) return run.fail("Error", known.status());
  }
  v1::RestartAllocationRequest request;
  request.set_alloc_id(alloc->message.allocation().allocation().id());
  request.set_task_name(task);
  request.set_all_tasks(run.arguments.on("all-tasks"));
  auto answer = run.client.call<v1::ClientAllocations::Restart>(request);
  return answer ? 0 : run.fail("Failed to restart allocation", answer.status());
}

int alloc_signal(Run& run) {
  const auto& words = run.arguments.positional();
  auto alloc = find_alloc(run, words[0]);
  if (!alloc) return run.fail("Error querying allocation", alloc.status());
  const std::string task = words.size() > 1 ? words[1] : run.arguments.value("task");
  if (!task.empty()) {
    if (auto known = pick_task(alloc->message.allocation(), task); !known) return run.fail("Error", known.status());
  }
  v1::SignalAllocationRequest request;
  request.set_alloc_id(alloc->message.allocation().allocation().id());
  request.set_task(task);
  request.set_signal(run.arguments.value("s"));
  auto answer = run.client.call<v1::ClientAllocations::Signal>(request);
  return answer ? 0 : run.fail("Error signalling allocation", answer.status());
}

int alloc_stop(Run& run) {
  auto alloc = find_alloc(run, run.arguments.positional()[0]);
  if (!alloc) return run.fail("Error querying allocation", alloc.status());
  v1::StopAllocationRequest request;
  request.set_alloc_id(alloc->message.allocation().allocation().id());
  request.set_no_shutdown_delay(run.arguments.on("no-shutdown-delay"));
  auto answer = run.client.call<v1::Allocations::Stop>(request);
  if (!answer) return run.fail("Error stopping allocation", answer.status());
  const std::string& eval = answer->message.eval_id();
  if (run.arguments.on("detach")) {
    run.out << id_text(eval) << "\n";
    return 0;
  }
  return monitor_evaluation(run, eval);
}

}  // namespace

std::vector<Definition> alloc_commands() {
  return {{"alloc status", "Shows an allocation, its tasks and their latest events.", "<allocation>", "",
           with_object_flags(
               {on_off("short", "One line a task"), on_off("stats", "Also all that its tasks use now"),
                on_off("verbose", "Full identifiers and placement metrics")}),
           1, 1, alloc_status},
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
