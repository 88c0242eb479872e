// node status, node eligibility.
#include <map>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

using nlohmann::json;

std::string yes_no(const json& value) { return value == true ? "true" : "false"; }

int list_nodes(Run& run) {
  auto nodes = run.client.get("/v1/nodes");
  if (!nodes) return run.fail("Error querying node status", nodes.status());
  const bool verbose = run.verbose();
  if (auto code = print_object(run, *nodes)) return *code;
  std::vector<std::vector<std::string>> rows;
  if (verbose) {
    rows.push_back({"ID", "DC", "Name", "Class", "Address", "Version", "Drain", "Eligibility", "Status"});
  } else {
    rows.push_back({"ID", "DC", "Name", "Class", "Drain", "Eligibility", "Status"});
  }
  for (const json& node : *nodes) {
    if (run.arguments.on("quiet")) {
      run.out << short_id(text(node, "ID"), verbose) << "\n";
      continue;
    }
    std::vector<std::string> row = {short_id(text(node, "ID"), verbose), text(node, "Datacenter"), text(node, "Name"),
                                    text(node, "NodeClass")};
    if (verbose) row.insert(row.end(), {text(node, "Address"), text(node, "Version")});
    row.insert(row.end(), {yes_no(member(node, "Drain")), text(node, "SchedulingEligibility"), text(node, "Status")});
    rows.push_back(std::move(row));
  }
  if (!run.arguments.on("quiet")) run.out << format_list(rows);
  return 0;
}

// Of each group: how many instances allocations hold, how many are healthy, and what is wrong with the others. Empty
// when the node has none.
std::string devices_of(const json& node, const json& allocs) {
  std::map<std::string, size_t> taken;
  for (const json& alloc : allocs) {
    const std::string status = text(alloc, "ClientStatus");
    if (status != "running" && status != "pending") continue;
    for (const auto& [task, each] : member(member(alloc, "AllocatedResources"), "Tasks").items()) {
      for (const json& device : member(each, "Devices"))
        taken[text(device, "Vendor") + "/" + text(device, "Type") + "/" + text(device, "Name")] +=
            member(device, "DeviceIDs").size();
    }
  }
  std::vector<std::vector<std::string>> rows = {{"Device", "Taken", "Healthy", "Problems"}};
  for (const json& device : member(member(node, "NodeResources"), "Devices")) {
    const std::string name = text(device, "Vendor") + "/" + text(device, "Type") + "/" + text(device, "Name");
    size_t healthy = 0, all = 0;
    std::string problems;
    for (const json& instance : member(device, "Instances")) {
      ++all;
      if (member(instance, "Healthy") == true) {
        ++healthy;
      } else {
        problems += (problems.empty() ? "" : "; ") + text(instance, "ID") + ": " + text(instance, "HealthDescription");
      }
    }
    rows.push_back({name, std::to_string(taken[name]) + "/" + std::to_string(all), std::to_string(healthy), problems});
  }
  return rows.size() > 1 ? "\nDevices\n" + format_list(rows) : "";
}

// "Cluster", or "Driver: docker".
std::string subsystem(const json& event) {
  const std::string driver = text(member(event, "Details"), "driver");
  return text(event, "Subsystem") + (driver.empty() ? "" : ": " + driver);
}

int show_node(Run& run, const std::string& id) {
  auto node = find_node(run, id);
  if (!node) return run.fail("Error querying node info", node.status());
  if (auto code = print_object(run, *node)) return *code;
  const bool verbose = run.verbose();
  std::string drivers;
  for (const auto& [name, driver] : member(*node, "Drivers").items()) {
    if (member(driver, "Detected") != true) continue;
    drivers += (drivers.empty() ? "" : ",") + name + (member(driver, "Healthy") == true ? "" : " (unhealthy)");
  }
  run.out << format_pairs({{"ID", text(*node, "ID")},
                           {"Name", text(*node, "Name")},
                           {"Class", text(*node, "NodeClass")},
                           {"DC", text(*node, "Datacenter")},
                           {"Drain", yes_no(member(*node, "Drain"))},
                           {"Eligibility", text(*node, "SchedulingEligibility")},
                           {"Status", text(*node, "Status")},
                           {"Driver Status", drivers}});
  std::vector<std::vector<std::string>> events = {{"Time", "Subsystem", "Message"}};
  const json& list = member(*node, "Events");
  for (auto event = list.rbegin(); event != list.rend(); ++event)
    events.push_back({text(*event, "Timestamp"), subsystem(*event), text(*event, "Message")});
  if (!run.arguments.on("short")) run.out << "\nNode Events\n" << format_list(events);

  auto allocs = run.client.get("/v1/node/" + text(*node, "ID") + "/allocations");
  if (!allocs) return run.fail("Error querying node allocations", allocs.status());
  int64_t cpu = 0, memory = 0, disk = 0;
  std::vector<std::vector<std::string>> rows = {
      {"ID", "Node ID", "Task Group", "Version", "Desired", "Status", "Created", "Modified"}};
  for (const json& alloc : *allocs) {
    const std::string status = text(alloc, "ClientStatus");
    if (status == "running" || status == "pending") {
      const json& resources = member(alloc, "AllocatedResources");
      for (const auto& [task, each] : member(resources, "Tasks").items()) {
        cpu += number(member(each, "Cpu"), "CpuShares");
        memory += number(member(each, "Memory"), "MemoryMB");
      }
      disk += number(member(resources, "Shared"), "DiskMB");
    }
    rows.push_back({short_id(text(alloc, "ID"), verbose), short_id(text(alloc, "NodeID"), verbose),
                    text(alloc, "TaskGroup"), text(member(alloc, "Job"), "Version"), text(alloc, "DesiredStatus"),
                    status, relative_time(number(alloc, "CreateTime"), now_ns()),
                    relative_time(number(alloc, "ModifyTime"), now_ns())});
  }
  const json& resources = member(*node, "NodeResources");
  run.out << "\nAllocated Resources\n"
          << format_list({{"CPU", "Memory", "Disk"},
                          {std::to_string(cpu) + "/" + text(member(resources, "Cpu"), "CpuShares") + " MHz",
                           std::to_string(memory) + "/" + text(member(resources, "Memory"), "MemoryMB") + " MiB",
                           std::to_string(disk) + "/" + text(member(resources, "Disk"), "DiskMB") + " MiB"}});
  run.out << devices_of(*node, *allocs);
  run.out << "\nAllocations\n" << (rows.size() > 1 ? format_list(rows) : "No allocations placed\n");
  if (verbose) {
    std::vector<std::pair<std::string, std::string>> attributes, meta;
    for (const auto& [key, value] : member(*node, "Attributes").items())
      attributes.emplace_back(key, value.get<std::string>());
    for (const auto& [key, value] : member(*node, "Meta").items()) meta.emplace_back(key, value.get<std::string>());
    run.out << "\nAttributes\n" << format_pairs(attributes);
    if (!meta.empty()) run.out << "\nMeta\n" << format_pairs(meta);
  }
  return 0;
}

int node_status(Run& run) {
  return run.arguments.positional().empty() ? list_nodes(run) : show_node(run, run.arguments.positional()[0]);
}

int node_eligibility(Run& run) {
  if (run.arguments.on("enable") == run.arguments.on("disable"))
    return run.usage("Either the '-enable' or '-disable' flag must be set");
  auto node = find_node(run, run.arguments.positional()[0]);
  if (!node) return run.fail("Error toggling eligibility", node.status());
  const std::string wanted = run.arguments.on("enable") ? "eligible" : "ineligible";
  auto answer = run.client.write("PUT", "/v1/node/" + text(*node, "ID") + "/eligibility", {},
                                 json{{"Eligibility", wanted}}.dump());
  if (!answer) return run.fail("Error updating scheduling eligibility", answer.status());
  run.out << "Node \"" << text(*node, "ID") << "\" scheduling eligibility set: " << wanted << " for scheduling\n";
  return 0;
}

}  // namespace

std::vector<Definition> node_commands() {
  return {{"node status", "Shows the nodes, or one node with its resources and allocations.", "[node]", "",
           with_object_flags({on_off("short", "Leave out the events"), on_off("quiet", "Only identifiers"),
                              on_off("verbose", "Full identifiers and attributes")}),
           0, 1, node_status},
          {"node eligibility",
           "Lets the scheduler place allocations on a node, or not.",
           "<node>",
           "",
           {on_off("enable", "Make it eligible"), on_off("disable", "Make it ineligible")},
           1,
           1,
           node_eligibility}};
}

}  // namespace drover::cli
