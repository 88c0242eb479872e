// server members, join and force-leave; system gc, monitor, operator api, operator metrics.
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/api/jobs.pb.h"
#include "drover/api/members.pb.h"
#include "drover/api/nodes.pb.h"
#include "drover/api/system.pb.h"
#include "drover/trim.h"
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

int reconcile_summaries(Run& run) {
  auto answer = run.client.call<v1::Jobs::ReconcileSummaries>({});
  return answer ? 0 : run.fail("Error reconciling system", answer.status());
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

// As a word of a shell's command.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) c == '\'' ? text += "'\\''" : text += c;
  return text + "'";
}

// The same request as a command of curl. The token stands there by its variable, not by its value.
std::string curl_command(const Run& run, const ApiRequest& request) {
  std::string text = "curl \\\n  -X " + quoted(request.verb);
  if (!run.client.options().token.empty()) text += " \\\n  -H \"X-Nomad-Token: ${NOMAD_TOKEN}\"";
  for (const auto& [name, value] : request.headers) text += " \\\n  -H " + quoted(name + ": " + value);
  if (!request.body.empty()) text += " \\\n  --data-binary " + quoted(request.body);
  const std::string& address = run.client.options().address;
  const std::string unix_scheme = "unix://";
  const bool is_socket = address.starts_with(unix_scheme);
  if (is_socket) text += " \\\n  --unix-socket " + quoted(address.substr(unix_scheme.size()));
  return text + " \\\n  " + quoted((is_socket ? "http://localhost" : address) + run.client.target(request)) + "\n";
}

int operator_api(Run& run) {
  const auto& words = run.arguments.positional();
  ApiRequest request{.path = words[0].starts_with('/') ? words[0] : "/" + words[0]};
  if (!request.path.starts_with("/v1/")) request.path = "/v1" + request.path;
  if (words.size() > 1)
    request.body = words[1] == "-" ? std::string(std::istreambuf_iterator<char>(run.host.in()), {}) : words[1];
  request.verb = run.arguments.is_set("X") ? run.arguments.value("X") : request.body.empty() ? "GET" : "PUT";
  if (run.arguments.is_set("filter")) request.parameters.emplace("filter", run.arguments.value("filter"));
  for (const std::string& header : run.arguments.values("H")) {
    const size_t colon = header.find(':');
    if (colon == 0 || colon == std::string::npos)
      return run.usage("-H: \"" + header + "\" is no header such as \"Name: value\"");
    request.headers[header.substr(0, colon)] = trim(std::string_view(header).substr(colon + 1));
  }
  if (run.arguments.on("dryrun")) {
    run.out << curl_command(run, request);
    return 0;
  }
  auto answer = run.client.fetch(request);
  if (!answer) return run.fail("Error", answer.status());
  if (nlohmann::json::accept(answer->body)) {
    run.out << answer->json().dump(4) << "\n";
  } else {
    run.out << answer->body;
  }
  return 0;
}

// The program's own command by the name that people know: it needs the loader of plugins, which commands do not have.
int config_validate(Run& run) {
  std::vector<std::string> words = {"drover", "plugin", "validate-config"};
  for (const std::string& path : run.arguments.positional()) words.insert(words.end(), {"-config", path});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  run.out.flush();
  ::execv("/proc/self/exe", pointers.data());
  return run.fail("Error validating configuration", errno_status(errno, "start this program anew"));
}

int agent_info(Run& run) {
  auto self = run.client.call<v1::AgentInformation::Self>({});
  if (!self) return run.fail("Error querying agent info", self.status());
  if (wants_object(run)) return *print_object(run, *self);
  const nlohmann::json stats = self->json().value("stats", nlohmann::json::object());
  for (const auto& [group, values] : stats.items()) {
    run.out << group << "\n";
    for (const auto& [name, value] : values.items())
      run.out << "  " << name << " = " << (value.is_string() ? value.get<std::string>() : value.dump()) << "\n";
  }
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
          {"config validate",
           "Checks the files of an agent's configuration.",
           "<path> [<path>...]",
           "  Files, and folders of them, are joined as an agent would join them. Nothing is started.\n",
           {},
           1,
           64,
           config_validate},
          {"agent-info", "Shows the numbers of this agent.", "", "", with_object_flags({}), 0, 0, agent_info},
          {"system gc",
           "Forgets at once what is over: evaluations, allocations, jobs, nodes.",
           "",
           "",
           {},
           0,
           0,
           system_gc},
          {"system reconcile summaries",
           "Counts the allocations in all jobs' summaries anew.",
           "",
           "  Summaries are kept with every change, so this changes nothing unless they are wrong.\n",
           {},
           0,
           0,
           reconcile_summaries},
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
           {with_value("X", "", "The verb; GET without a body, else PUT"),
            with_value("H", "", "A further header, \"Name: value\"; may be repeated"),
            with_value("filter", "", "Only the objects of a list that match"),
            on_off("dryrun", "Show the request as a command of curl, and do not send it")},
           1,
           2,
           operator_api},
          {"operator metrics", "Shows the agent's metrics.", "", "",
           with_object_flags({with_value("format", "json", "json or prometheus"), on_off("pretty", "Indented JSON")}),
           0, 0, operator_metrics}};
}

}  // namespace drover::cli
