#include "agent_info.h"

#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "drover/json.h"

namespace drover::system {

std::string stats_json(Host& host) {
  nlohmann::json stats = nlohmann::json::object();
  const AgentInfo& info = host.agent();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  stats["runtime"] = {
      {"version", info.version}, {"max_rss_kb", std::to_string(usage.ru_maxrss)}, {"kernel.name", "linux"}};
  if (info.server) {
    const RaftInfo raft = host.raft();
    stats["nomad"] = {{"server", "true"},
                      {"leader", raft.is_leader ? "true" : "false"},
                      {"leader_addr", raft.leader_address},
                      {"known_regions", "1"}};
    stats["raft"] = {{"state", raft.is_leader ? "Leader" : "Follower"},
                     {"term", std::to_string(raft.term)},
                     {"last_log_index", std::to_string(raft.last_index)},
                     {"commit_index", std::to_string(raft.commit_index)},
                     {"applied_index", std::to_string(raft.applied_index)},
                     {"damaged", raft.is_damaged ? "true" : "false"},
                     {"num_peers", std::to_string(raft.servers.empty() ? 0 : raft.servers.size() - 1)}};
  }
  return stats.dump();
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

}  // namespace drover::system
