// server members, join and force-leave; system gc, monitor, operator api, operator metrics.
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/api/members.pb.h"
#include "drover/api/nodes.pb.h"
#include "drover/api/system.pb.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

int server_members(Run& run) {
  auto members = run.client.call<v1::ServerMembership::Members>({});
  if (!members) return run.fail("Error querying servers", members.status());
  auto leader = run.client.call<v1::ClusterStatus::Leader>({});
  const std::string leads = leader ? leader->message.leader() : "";
  if (wants_object(run)) return *print_object(run, members->json()["Members"]);
  const bool is_long = run.verbose() || run.arguments.on("detailed");
  std::vector<std::vector<std::string>> rows = {
      {"Name", "Address", "Port", "Status", "Leader", "Raft Version", "Build", "Datacenter", "Region"}};
  if (is_long) {
    rows[0].insert(rows[0].begin() + 5, "Protocol");
    rows[0].push_back("Tags");
  }
  for (const v1::AgentMember& each : members->message.members()) {
    auto tags = sorted(each.tags());
    std::string all;
    for (const auto& [name, value] : tags) all += (all.empty() ? "" : ",") + name + "=" + value;
    const bool is_leader = tags["rpc_addr"] + ":" + tags["port"] == leads;
    rows.push_back({each.name(), each.addr(), std::to_string(each.port()), each.status(), yes_no(is_leader),
                    tags["raft_vsn"], tags["build"], tags["dc"], tags["region"]});
    if (!is_long) continue;
    rows.back().insert(rows.back().begin() + 5, std::to_string(each.protocol_cur()));
    rows.back().push_back(all);
  }
  run.out << format_list(rows);
  if (leads.empty()) run.out << "\nError determining leaders: 1 error occurred:\n\t* Region has no leader\n";
  return 0;
}

int server_join(Run& run) {
  v1::JoinRequest request;
  for (const std::string& address : run.arguments.positional()) request.add_address(address);
  auto answer = run.client.call<v1::ServerMembership::Join>(request);
  if (!answer) return run.fail("Error joining", answer.status());
  const v1::JoinResponse& joined = answer->message;
  if (joined.num_joined() == 0) return run.fail("Error joining", unavailable(joined.error()));
  run.out << "Joined " << joined.num_joined() << " servers successfully\n";
  if (!joined.error().empty()) run.err << joined.error() << "\n";
  return 0;
}

int server_force_leave(Run& run) {
  v1::ForceLeaveRequest request;
  request.set_node(run.arguments.positional()[0]);
  auto answer = run.client.call<v1::ServerMembership::ForceLeave>(request);
  return answer ? 0 : run.fail("Error force-leaving server " + run.arguments.positional()[0], answer.status());
}

int system_gc(Run& run) {
  auto answer = run.client.call<v1::SystemMaintenance::GarbageCollect>({});
  return answer ? 0 : run.fail("Error running system garbage-collection", answer.status());
}

int monitor(Run& run) {
  v1::MonitorRequest request;
  if (run.arguments.is_set("node-id") && run.arguments.is_set("server-id"))
    return run.usage("-node-id and -server-id exclude each other: one agent is asked at a time");
  if (const std::string node = run.arguments.value("node-id"); !node.empty()) {
    auto found = find_node(run, node);
    if (!found) return run.fail("Error querying node", found.status());
    request.set_node_id(found->message.node().node().id());
  }
  request.set_server_id(run.arguments.value("server-id"));
  request.set_plain(true);
  request.set_log_level(run.arguments.value("log-level"));
  request.set_log_json(run.arguments.on("json"));
  leave_on_interrupt();
  const Status status = run.client.stream<v1::AgentInformation::Monitor>(request, run.printer());
  return status.ok() ? 0 : run.fail("Error starting monitor", status);
}

int operator_api(Run& run) {
  const auto& words = run.arguments.positional();
  std::string path = words[0].starts_with('/') ? words[0] : "/" + words[0];
  if (!path.starts_with("/v1/")) path = "/v1" + path;
  std::string body;
  if (words.size() > 1)
    body = words[1] == "-" ? std::string(std::istreambuf_iterator<char>(run.host.in()), {}) : words[1];
  const std::string verb = run.arguments.is_set("X") ? run.arguments.value("X") : body.empty() ? "GET" : "PUT";
  auto answer = run.client.send({.verb = verb, .path = path, .body = body});
  if (!answer) return run.fail("Error", answer.status());
  run.out << answer->dump(4) << "\n";
  return 0;
}

int operator_metrics(Run& run) {
  const std::string format = run.arguments.value("format");
  if (format != "json" && format != "prometheus")
    return run.usage("-format: \"" + format + "\" is neither json nor prometheus");
  if (format == "prometheus") {
    v1::MetricsRequest request;
    request.set_format("prometheus");
    const Status status = run.client.stream<v1::AgentMetrics::Get>(request, run.printer());
    return status.ok() ? 0 : run.fail("Error querying metrics", status);
  }
  auto answer = run.client.call<v1::AgentMetrics::Get>({});
  if (!answer) return run.fail("Error querying metrics", answer.status());
  if (auto code = print_object(run, *answer)) return *code;
  run.out << answer->json().dump(run.arguments.on("pretty") ? 4 : -1) << "\n";
  return 0;
}

}  // namespace

std::vector<Definition> agent_commands() {
  return {{"server members", "Lists the servers.", "", "",
           with_object_flags(
               {on_off("verbose", "Also the protocol and all tags"), on_off("detailed", "The same as -verbose")}),
           0, 0, server_members},
          {"server join",
           "Makes the server join others.",
           "<address> [<address>...]",
           "  The addresses are those of the gossip, port 4648 unless another is said.\n",
           {},
           1,
           64,
           server_join},
          {"server force-leave",
           "Says of a failed server that it has left and will not return.",
           "<name>",
           "  A server that lives objects and stays. The name is one that server members shows.\n",
           {},
           1,
           1,
           server_force_leave},
          {"system gc",
           "Forgets at once what is over: evaluations, allocations, jobs, nodes.",
           "",
           "",
           {},
           0,
           0,
           system_gc},
          {"monitor",
           "Shows the agent's log as it is written, or that of a node or a server.",
           "",
           "",
           {with_value("node-id", "", "The agent of this node"),
            with_value("server-id", "", "This server: its name, its identifier, or leader"),
            with_value("log-level", "", "Least severe lines: TRACE, DEBUG, INFO, WARN, ERROR"),
            on_off("json", "One JSON object a line")},
           0,
           0,
           monitor},
          {"operator api",
           "Calls any path of the API.",
           "<path> [body]",
           "  The body is taken from standard input when it is \"-\".\n",
           {with_value("X", "", "The verb; GET without a body, else PUT")},
           1,
           2,
           operator_api},
          {"operator metrics", "Shows the agent's metrics.", "", "",
           with_object_flags({with_value("format", "json", "json or prometheus"), on_off("pretty", "Indented JSON")}),
           0, 0, operator_metrics}};
}

}  // namespace drover::cli
