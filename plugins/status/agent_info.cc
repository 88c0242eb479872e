#include "agent_info.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "drover/agent_stats.h"
#include "drover/config.h"
#include "drover/duration.h"
#include "drover/json.h"

namespace drover::status {

namespace {

using nlohmann::json;

// Servers are named by identifiers, which Nomad's clients know as protocol 3 (see also RaftProtocol of the server
// list).
constexpr const char* kProtocol = "3";
constexpr const char* kSnapshot = "1";  // docs/formats/state-snapshot.md

json text(uint64_t number) { return std::to_string(number); }
json text(bool is_so) { return is_so ? "true" : "false"; }

json runtime_stats(const AgentInfo& agent) {
  utsname machine{};
  uname(&machine);
  const std::string_view name = machine.machine;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const std::string processors = std::to_string(std::thread::hardware_concurrency());
  return {{"arch", name == "x86_64"    ? "amd64"
                   : name == "aarch64" ? "arm64"
                                       : name},
          {"cpu_count", processors},
          {"max_procs", processors},
          {"kernel.name", "linux"},
          {"max_rss_kb", std::to_string(usage.ru_maxrss)},
          {"version", agent.version}};
}

std::string contact_of(const RaftInfo& raft) {
  if (raft.is_leader) return "0";
  return raft.last_contact ? format_duration(*raft.last_contact) : "never";
}

std::string members_of(const RaftInfo& raft) {
  std::string out;
  for (const RaftServer& server : raft.servers) {
    out += std::string(out.empty() ? "" : " ") + "{Suffrage:" + (server.is_voter ? "Voter" : "Nonvoter") +
           " ID:" + server.id.to_string() + " Address:" + server.address + "}";
  }
  return "[" + out + "]";
}

json raft_stats(const RaftInfo& raft) {
  std::string state = raft.role;
  if (!state.empty()) state[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(state[0])));
  return {{"state", state},
          {"term", text(raft.term)},
          {"last_log_index", text(raft.last_index)},
          {"last_log_term", text(raft.last_term)},
          {"commit_index", text(raft.commit_index)},
          {"applied_index", text(raft.applied_index)},
          {"fsm_pending", text(raft.commit_index - std::min(raft.commit_index, raft.applied_index))},
          {"last_snapshot_index", text(raft.snapshot_index)},
          {"last_snapshot_term", text(raft.snapshot_term)},
          {"protocol_version", kProtocol},
          {"protocol_version_min", kProtocol},
          {"protocol_version_max", kProtocol},
          {"snapshot_version_min", kSnapshot},
          {"snapshot_version_max", kSnapshot},
          {"latest_configuration_index", text(raft.configuration_index)},
          {"latest_configuration", members_of(raft)},
          {"num_peers", text(raft.servers.empty() ? uint64_t{0} : raft.servers.size() - 1)},
          {"last_contact", contact_of(raft)},
          {"damaged", text(raft.is_damaged)}};
}

json gossip_stats(const Known& known) {
  const auto count = [&](ServerStatus status) {
    return text(static_cast<uint64_t>(std::ranges::count(known.servers, status, &ServerMember::status)));
  };
  return {{"members", text(uint64_t{known.servers.size()})},
          {"failed", count(ServerStatus::failed)},
          {"left", count(ServerStatus::left)},
          {"encrypted", text(known.has_gossip_key)}};
}

}  // namespace

Known known_of(const Host& host) {
  Known known{.agent = host.agent(), .raft = host.raft()};
  for (const std::string& group : host.extensions<AgentStats>()) {
    if (auto stats = host.extension<AgentStats>(group)->stats(); !stats.empty()) known.groups[group] = std::move(stats);
  }
  if (const auto* directory = host.extension<ServerDirectory>("gossip")) known.servers = directory->servers();
  const ConfigBlock* server = host.configuration("server");
  known.has_gossip_key = server && !server->string("encrypt").empty();
  return known;
}

std::string stats_json(const Known& known) {
  json stats = {{"runtime", runtime_stats(known.agent)}};
  if (known.agent.server) {
    std::set<std::string> regions = {known.agent.region};
    for (const ServerMember& server : known.servers) regions.insert(server.region);
    stats["nomad"] = {{"server", "true"},
                      {"leader", text(known.raft.is_leader)},
                      {"leader_addr", known.raft.leader_address},
                      {"bootstrap", text(known.raft.servers.size() == 1)},
                      {"known_regions", text(uint64_t{regions.size()})}};
    stats["raft"] = raft_stats(known.raft);
    stats["serf"] = gossip_stats(known);
  }
  for (const auto& [group, values] : known.groups) stats[group] = values;
  return stats.dump();
}

std::string config_json(const std::string& configuration, const Known& known) {
  json config = json::parse(configuration);
  const AgentInfo& agent = known.agent;
  config["Version"] = {
      {"Version", agent.version}, {"VersionPrerelease", ""}, {"VersionMetadata", ""}, {"Revision", ""}};
  config["NodeName"] = agent.name;
  config["AdvertiseAddrs"] = {
      {"HTTP", agent.advertise_http}, {"RPC", agent.advertise_rpc}, {"Serf", agent.advertise_serf}};
  if (json& ui = config["UI"]; ui.is_null()) ui = {{"Enabled", false}};  // nothing here serves one
  return config.dump();
}

Result<v1::HealthResponse> health_of(const Host& host, const v1::HealthRequest& request, bool node_is_known) {
  if (!request.type().empty() && request.type() != "client" && request.type() != "server") {
    return invalid_argument("type must be client or server");
  }
  v1::HealthResponse response;
  bool well = true;
  const auto add = [&](v1::RoleHealth& role, bool ok, std::string_view why) {
    role.set_ok(ok);
    role.set_message(ok ? "ok" : std::string(why));
    well = well && ok;
  };
  const AgentInfo& info = host.agent();
  if (request.type() != "server" && (info.client || request.type() == "client")) {
    add(*response.mutable_client(), info.client && node_is_known,
        info.client ? "the node has not registered yet" : "client not enabled");
  }
  if (request.type() != "client" && (info.server || request.type() == "server")) {
    const RaftInfo raft = host.raft();
    add(*response.mutable_server(), info.server && (raft.is_leader || !raft.leader_address.empty()),
        info.server ? "no leader" : "server not enabled");
  }
  if (well) return response;
  return with_http_status(unavailable(message_to_json(response)), 500);
}

}  // namespace drover::status
