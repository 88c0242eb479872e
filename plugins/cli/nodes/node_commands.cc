// node status, node eligibility.
#include <algorithm>
#include <map>

#include "cli_command.h"
#include "drover/api/allocations.pb.h"
#include "drover/api/client.pb.h"
#include "drover/api/nodes.pb.h"
#include "drover/time.h"
#include "lookup.h"
#include "nodes/node_list.h"
#include "nodes/stats_text.h"
#include "object_output.h"
#include "output.h"
#include "paging.h"
#include "volumes/volume_text.h"

namespace drover::cli {
namespace {

// How many allocations run on the node.
Result<int> running_on(Run& run, const std::string& node) {
  v1::OfNodeRequest request;
  request.set_node_id(id_text(node));
  DROVER_TRY(const auto allocs, run.client.call<v1::Allocations::OfNode>(request));
  return static_cast<int>(std::ranges::count_if(allocs.message.allocations(), [](const v1::AllocationWithJob& each) {
    return each.allocation().client_status() == v1::CLIENT_STATUS_RUNNING;
  }));
}

int list_nodes(Run& run) {
  v1::ListNodesRequest request;
  request.set_os(run.arguments.on("os"));
  auto nodes = run.client.call<v1::Nodes::List>(request, page_of(run.arguments));
  if (!nodes) return run.fail("Error querying node status", nodes.status());
  const bool verbose = run.verbose();
  if (auto code = print_object(run, *nodes)) return *code;
  if (run.arguments.on("quiet")) {
    for (const v1::NodeListStub& node : nodes->message.nodes()) run.out << id_text(node.id(), verbose) << "\n";
  } else {
    auto rows = node_rows(nodes->message.nodes(), {.verbose = verbose, .os = request.os()});
    if (run.arguments.on("allocs")) {
      rows[0].push_back("Running Allocs");
      for (int i = 0; i < nodes->message.nodes_size(); ++i) {
        const auto count = running_on(run, nodes->message.nodes(i).id());
        if (!count) return run.fail("Error querying node allocations", count.status());
        rows[static_cast<size_t>(i) + 1].push_back(std::to_string(*count));
      }
    }
    run.out << format_list(rows);
  }
  print_next_page(run, "node status", nodes->next_token);
  return 0;
}

bool holds_resources(const v1::Allocation& alloc) {
  return alloc.client_status() == v1::CLIENT_STATUS_RUNNING || alloc.client_status() == v1::CLIENT_STATUS_PENDING;
}

template <typename Device>
std::string group_of(const Device& device) {
  return device.vendor() + "/" + device.type() + "/" + device.name();
}

// Says of each group how many instances allocations hold, how many are healthy, and what is wrong with the others.
// Empty when the node has none.
std::string devices_of(const v1::Node& node, const v1::FullAllocationsResponse& allocs) {
  std::map<std::string, int> taken;
  for (const v1::AllocationWithJob& alloc : allocs.allocations()) {
    if (!holds_resources(alloc.allocation())) continue;
    for (const auto& [task, each] : alloc.allocation().allocated_resources().tasks()) {
      for (const v1::AllocatedDevice& device : each.devices()) taken[group_of(device)] += device.device_ids_size();
    }
  }
  std::vector<std::vector<std::string>> rows = {{"Device", "Taken", "Healthy", "Problems"}};
  for (const v1::NodeDeviceResource& device : node.node_resources().devices()) {
    const std::string name = group_of(device);
    int healthy = 0;
    std::string problems;
    for (const v1::NodeDevice& instance : device.instances()) {
      healthy += instance.healthy() ? 1 : 0;
      if (instance.healthy()) continue;
      problems += (problems.empty() ? "" : "; ") + instance.id() + ": " + instance.health_description();
    }
    rows.push_back({name, std::to_string(taken[name]) + "/" + std::to_string(device.instances_size()),
                    std::to_string(healthy), problems});
  }
  return rows.size() > 1 ? "\nDevices\n" + format_list(rows) : "";
}

// "Cluster", or "Driver: docker".
std::string subsystem(const v1::NodeEvent& event) {
  const auto driver = event.details().find("driver");
  return event.subsystem() + (driver == event.details().end() ? "" : ": " + driver->second);
}

std::string or_none(std::string text) { return text.empty() ? "<none>" : std::move(text); }

template <typename Map>
std::string format_map(const Map& map) {
  const auto pairs = sorted(map);
  return format_pairs({pairs.begin(), pairs.end()});
}

// Asks the node what it and its allocations use. Errors: as fail() has said them; the rest is shown nevertheless.
int show_stats(Run& run, const v1::Node& node, const v1::FullAllocationsResponse& allocs) {
  AllocsUse use;
  for (const v1::AllocationWithJob& each : allocs.allocations()) {
    if (each.allocation().client_status() != v1::CLIENT_STATUS_RUNNING) continue;
    v1::AllocationStatsRequest request;
    request.set_alloc_id(each.allocation().id());
    auto stats = run.client.call<v1::ClientAllocations::Stats>(request);
    if (stats) {
      use.add(stats->message);
    } else if (stats.status().code() != Code::not_found) {  // it may have ended meanwhile
      return run.fail("Error querying the use of allocations", stats.status());
    }
  }
  v1::HostStatsRequest request;
  request.set_node_id(node.id());
  auto stats = run.client.call<v1::ClientStats::Host>(request);
  if (!stats) return run.fail("Error querying node stats", stats.status());
  run.out << "\nAllocation Resource Utilization\n"
          << allocs_use_text(use, node.node_resources()) << "\nHost Resource Utilization\n"
          << host_use_text(stats->message, node.node_resources()) << "\n"
          << host_detail_text(stats->message);
  return 0;
}

int show_node(Run& run, const std::string& id) {
  auto found = find_node(run, id);
  if (!found) return run.fail("Error querying node info", found.status());
  if (auto code = print_object(run, *found)) return *code;
  const v1::Node& node = found->message.node().node();
  const bool verbose = run.verbose();
  std::string drivers;
  for (const auto& [name, driver] : sorted(node.drivers())) {
    if (!driver.detected()) continue;
    drivers += (drivers.empty() ? "" : ",") + name + (driver.healthy() ? "" : " (unhealthy)");
  }
  run.out << format_pairs({{"ID", id_text(node.id())},
                           {"Name", node.name()},
                           {"Class", node.node_class()},
                           {"DC", node.datacenter()},
                           {"Drain", yes_no(node.drain())},
                           {"Eligibility", node.scheduling_eligibility()},
                           {"Status", word(node.status())},
                           {"CSI Controllers", or_none(controllers_of(node))},
                           {"CSI Drivers", or_none(drivers_of(node))},
                           {"Driver Status", drivers}});
  std::vector<std::vector<std::string>> events = {{"Time", "Subsystem", "Message"}};
  for (auto event = node.events().rbegin(); event != node.events().rend(); ++event)
    events.push_back({format_time(event->timestamp()), subsystem(*event), event->message()});
  if (!run.arguments.on("short")) run.out << "\nNode Events\n" << format_list(events);

  v1::OfNodeRequest request;
  request.set_node_id(id_text(node.id()));
  auto allocs = run.client.call<v1::Allocations::OfNode>(request);
  if (!allocs) return run.fail("Error querying node allocations", allocs.status());
  int64_t cpu = 0, memory = 0, disk = 0;
  std::vector<std::vector<std::string>> rows = {kAllocColumns};
  for (const v1::AllocationWithJob& each : allocs->message.allocations()) {
    const v1::Allocation& alloc = each.allocation();
    const v1::AllocatedResources& resources = alloc.allocated_resources();
    if (holds_resources(alloc)) {
      for (const auto& [name, task] : resources.tasks()) {
        cpu += task.cpu().cpu_shares();
        memory += task.memory().memory_mb();
      }
      disk += resources.shared().disk_mb();
    }
    rows.push_back(alloc_row(alloc, verbose));
  }
  const v1::NodeResources& resources = node.node_resources();
  run.out << "\nAllocated Resources\n"
          << format_list({{"CPU", "Memory", "Disk"},
                          {std::to_string(cpu) + "/" + std::to_string(resources.cpu().cpu_shares()) + " MHz",
                           std::to_string(memory) + "/" + std::to_string(resources.memory().memory_mb()) + " MiB",
                           std::to_string(disk) + "/" + std::to_string(resources.disk().disk_mb()) + " MiB"}});
  const int code = run.arguments.on("stats") ? show_stats(run, node, allocs->message) : 0;
  run.out << devices_of(node, allocs->message);
  run.out << "\nAllocations\n" << (rows.size() > 1 ? format_list(rows) : "No allocations placed\n");
  if (verbose) {
    if (!node.host_networks().empty()) {
      std::vector<std::vector<std::string>> networks = {{"Name", "CIDR", "Interface", "ReservedPorts"}};
      for (const auto& [name, network] : sorted(node.host_networks()))
        networks.push_back({name, network.cidr(), network.interface(), network.reserved_ports()});
      run.out << "\nHost Networks\n" << format_list(networks);
    }
    run.out << "\nAttributes\n" << format_map(node.attributes());
    if (!node.meta().empty()) run.out << "\nMeta\n" << format_map(node.meta());
  }
  return code;
}

int node_status(Run& run) {
  if (run.arguments.on("self") && !run.arguments.positional().empty())
    return run.usage("Name a node, or set '-self'");
  const auto node = named_or_own_node(run);
  if (!node) return run.fail("Error querying node status", node.status());
  if (run.arguments.on("stats") && node->empty()) return run.usage("-stats is about one node; name it");
  return node->empty() ? list_nodes(run) : show_node(run, *node);
}

int node_eligibility(Run& run) {
  if (run.arguments.on("enable") == run.arguments.on("disable"))
    return run.usage("Either the '-enable' or '-disable' flag must be set");
  if (run.arguments.on("self") == !run.arguments.positional().empty())
    return run.usage("Name a node, or set '-self'");
  const auto wanted = named_or_own_node(run);
  if (!wanted) return run.fail("Error toggling eligibility", wanted.status());
  auto node = find_node(run, *wanted);
  if (!node) return run.fail("Error toggling eligibility", node.status());
  v1::NodeEligibilityRequest request;
  request.set_node_id(node->message.node().node().id());
  request.set_eligibility(run.arguments.on("enable") ? "eligible" : "ineligible");
  auto answer = run.client.call<v1::Nodes::Eligibility>(request);
  if (!answer) return run.fail("Error updating scheduling eligibility", answer.status());
  run.out << "Node \"" << id_text(request.node_id()) << "\" scheduling eligibility set: " << request.eligibility()
          << " for scheduling\n";
  return 0;
}

int node_config(Run& run) {
  const bool updates = run.arguments.on("update-servers");
  if (updates == run.arguments.on("servers")) return run.usage("Either '-servers' or '-update-servers' must be set");
  if (updates != !run.arguments.positional().empty())
    return run.usage(updates ? "-update-servers needs the addresses of all servers" : "-servers takes no addresses");
  if (updates) {
    v1::SetKnownServersRequest request;
    for (const std::string& address : run.arguments.positional()) request.add_address(address);
    auto answer = run.client.call<v1::ClientServers::Set>(request);
    if (!answer) return run.fail("Error updating server list", answer.status());
    run.out << "Updated server list\n";
    return 0;
  }
  auto known = run.client.call<v1::ClientServers::List>({});
  if (!known) return run.fail("Error querying server list", known.status());
  for (const std::string& address : known->message.servers()) run.out << address << "\n";
  return 0;
}

}  // namespace

std::vector<Definition> node_commands() {
  return {{"node config",
           "Shows or changes the servers that this agent's node asks.",
           "[address...]",
           "  Those of its configuration always remain; the others are named anew by each server that answers.\n",
           {on_off("servers", "List them"), on_off("update-servers", "Ask these instead of those heard of before")},
           0,
           64,
           node_config},
          {"node status", "Shows the nodes, or one node with its resources and allocations.", "[node]", "",
           with_page_flags({on_off("short", "Leave out the events"), on_off("quiet", "Only identifiers"),
                            on_off("stats", "What the node and its allocations use now"),
                            on_off("self", "The node of this agent"), on_off("os", "Also the operating systems"),
                            on_off("allocs", "Also how many allocations run on each"),
                            on_off("verbose", "Full identifiers and attributes")},
                           "Status == ready and NodeClass == gpu"),
           0, 1, node_status},
          {"node eligibility",
           "Lets the scheduler place allocations on a node, or not.",
           "[node]",
           "",
           {on_off("enable", "Make it eligible"), on_off("disable", "Make it ineligible"),
            on_off("self", "The node of this agent")},
           0,
           1,
           node_eligibility}};
}

}  // namespace drover::cli
