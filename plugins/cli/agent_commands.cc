// server members, join and force-leave; system gc, monitor, operator api, operator metrics.
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

using nlohmann::json;

int server_members(Run& run) {
  auto members = run.client.get("/v1/agent/members");
  if (!members) return run.fail("Error querying servers", members.status());
  auto leader = run.client.get("/v1/status/leader");
  const std::string leads = leader && leader->is_string() ? leader->get<std::string>() : "";
  if (auto code = print_object(run, member(*members, "Members"))) return *code;
  const bool is_long = run.verbose() || run.arguments.on("detailed");
  std::vector<std::vector<std::string>> rows = {
      {"Name", "Address", "Port", "Status", "Leader", "Raft Version", "Build", "Datacenter", "Region"}};
  if (is_long) {
    rows[0].insert(rows[0].begin() + 5, "Protocol");
    rows[0].push_back("Tags");
  }
  for (const json& each : member(*members, "Members")) {
    const json& tags = member(each, "Tags");
    const bool is_leader = text(tags, "rpc_addr") + ":" + text(tags, "port") == leads;
    rows.push_back({text(each, "Name"), text(each, "Addr"), text(each, "Port"), text(each, "Status"),
                    is_leader ? "true" : "false", text(tags, "raft_vsn"), text(tags, "build"), text(tags, "dc"),
                    text(tags, "region")});
    if (!is_long) continue;
    std::string all;
    for (const auto& [name, value] : tags.items())
      all += (all.empty() ? "" : ",") + name + "=" + value.get<std::string>();
    rows.back().insert(rows.back().begin() + 5, std::to_string(number(each, "ProtocolCur")));
    rows.back().push_back(all);
  }
  run.out << format_list(rows);
  if (leads.empty()) run.out << "\nError determining leaders: 1 error occurred:\n\t* Region has no leader\n";
  return 0;
}

int server_join(Run& run) {
  std::string query;
  for (const std::string& address : run.arguments.positional())
    query += (query.empty() ? "?address=" : "&address=") + escape(address);
  auto answer = run.client.write("PUT", "/v1/agent/join" + query);
  if (!answer) return run.fail("Error joining", answer.status());
  const int64_t joined = number(*answer, "num_joined");
  if (joined == 0) return run.fail("Error joining", unavailable(text(*answer, "error")));
  run.out << "Joined " << joined << " servers successfully\n";
  if (const std::string errors = text(*answer, "error"); !errors.empty()) run.err << errors << "\n";
  return 0;
}

int server_force_leave(Run& run) {
  auto answer = run.client.write("PUT", "/v1/agent/force-leave", {{"node", run.arguments.positional()[0]}});
  return answer ? 0 : run.fail("Error force-leaving server " + run.arguments.positional()[0], answer.status());
}

int system_gc(Run& run) {
  auto answer = run.client.write("PUT", "/v1/system/gc");
  return answer ? 0 : run.fail("Error running system garbage-collection", answer.status());
}

int monitor(Run& run) {
  Parameters parameters = {{"plain", "true"}};
  if (run.arguments.is_set("log-level")) parameters["log_level"] = run.arguments.value("log-level");
  if (run.arguments.on("json")) parameters["log_json"] = "true";
  leave_on_interrupt();
  Status status = run.client.stream("/v1/agent/monitor", parameters, [&](std::string_view bytes) {
    run.out << bytes << std::flush;
    return static_cast<bool>(run.out);
  });
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
  auto answer = run.client.write(verb, path, {}, body);
  if (!answer) return run.fail("Error", answer.status());
  run.out << answer->dump(4) << "\n";
  return 0;
}

int operator_metrics(Run& run) {
  if (run.arguments.value("format") == "prometheus") {
    Status status = run.client.stream("/v1/metrics", {{"format", "prometheus"}}, [&](std::string_view bytes) {
      run.out << bytes;
      return true;
    });
    return status.ok() ? 0 : run.fail("Error querying metrics", status);
  }
  auto answer = run.client.get("/v1/metrics");
  if (!answer) return run.fail("Error querying metrics", answer.status());
  if (auto code = print_object(run, *answer)) return *code;
  run.out << answer->dump(run.arguments.on("pretty") ? 4 : -1) << "\n";
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
           "Shows the agent's log as it is written.",
           "",
           "",
           {with_value("log-level", "", "Least severe lines: TRACE, DEBUG, INFO, WARN, ERROR"),
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
