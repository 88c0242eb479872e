#include "growth.h"

#include <algorithm>

namespace drover::gossip {

Growth decide_growth(const RaftInfo& raft, const std::vector<ServerMember>& servers, const std::string& region) {
  Growth growth;
  for (const ServerMember& server : servers) {
    if (server.region != region || server.status != ServerStatus::alive) continue;
    if (!server.cluster_id.is_zero() && server.cluster_id != raft.cluster_id) {
      growth.strangers.push_back(server.name);
      continue;
    }
    if (!growth.edits.empty()) continue;
    const auto known = std::ranges::find(raft.servers, server.id, &RaftServer::id);
    if (known == raft.servers.end()) {
      growth.edits.push_back({.kind = RaftEdit::Kind::add_learner, .id = server.id, .address = server.rpc_address});
    } else if (known->address != server.rpc_address) {
      growth.edits.push_back({.kind = known->is_voter ? RaftEdit::Kind::add_voter : RaftEdit::Kind::add_learner,
                              .id = server.id,
                              .address = server.rpc_address});
    }
  }
  return growth;
}

}  // namespace drover::gossip
