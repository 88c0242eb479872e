#include "raft_rpc.h"

#include <algorithm>

#include "drover/log.h"
#include "drover/server_directory.h"

namespace drover::autopilot {
namespace {

constexpr auto kChangeTime = std::chrono::seconds(10);

}  // namespace

Result<RaftServer> find_peer(const RaftInfo& raft, const v1::RaftPeerRequest& request) {
  if (request.id().empty() && request.address().empty())
    return invalid_argument("Must specify ?id with the peer's ID or ?address with IP:port of the peer");
  if (!request.id().empty() && !request.address().empty())
    return invalid_argument("Must specify only one of ?id or ?address");
  const auto at = std::ranges::find_if(raft.servers, [&](const RaftServer& server) {
    return request.id().empty() ? server.address == request.address() : server.id.to_string() == request.id();
  });
  if (at != raft.servers.end()) return *at;
  return not_found(request.id().empty()
                       ? "address \"" + request.address() + "\" was not found in the Raft configuration"
                       : "id \"" + request.id() + "\" was not found in the Raft configuration");
}

Status RaftRpc::declare(Declarations& declare) {
  return declare.service("drover.v1.OperatorRaft", {method<&RaftRpc::configuration>("Configuration", this),
                                                    method<&RaftRpc::remove_peer>("RemovePeer", this),
                                                    method<&RaftRpc::transfer_leadership>("TransferLeadership", this)});
}

Result<v1::RaftConfigurationResponse> RaftRpc::configuration(const v1::RaftConfigurationRequest&, Call& call) {
  const RaftInfo raft = host_->raft();
  std::vector<ServerMember> members;
  if (const auto* directory = host_->extension<ServerDirectory>("gossip")) members = directory->servers();
  v1::RaftConfigurationResponse response;
  response.set_index(raft.configuration_index);
  for (const RaftServer& server : raft.servers) {
    v1::RaftPeer& peer = *response.add_servers();
    const auto member = std::ranges::find(members, server.id, &ServerMember::id);
    peer.set_id(server.id.bytes());
    peer.set_node(member == members.end() ? "(unknown)" : member->name + "." + member->region);
    peer.set_address(server.address);
    peer.set_leader(server.is_leader);
    peer.set_voter(server.is_voter);
    peer.set_raft_protocol("3");
  }
  call.set_index(raft.configuration_index);
  return response;
}

Result<v1::RaftPeerResponse> RaftRpc::remove_peer(const v1::RaftPeerRequest& request, Call&) {
  DROVER_TRY(const RaftServer peer, find_peer(host_->raft(), request));
  const SteadyTime deadline = host_->clock().steady() + kChangeTime;
  DROVER_RETURN_IF_ERROR(
      host_->raft_control()->change_servers({{.kind = RaftEdit::Kind::remove, .id = peer.id}}, deadline));
  log::warn("raft", "an operator removed a server", {{"server", peer.id.to_string()}, {"address", peer.address}});
  return v1::RaftPeerResponse();
}

Result<v1::RaftPeerResponse> RaftRpc::transfer_leadership(const v1::RaftPeerRequest& request, Call&) {
  const RaftInfo raft = host_->raft();
  DROVER_TRY(const RaftServer peer, find_peer(raft, request));
  if (!peer.is_voter) return invalid_argument("the server " + peer.id.to_string() + " does not vote: it cannot lead");
  if (peer.id == raft.server_id) return v1::RaftPeerResponse();  // it leads already
  const SteadyTime deadline = host_->clock().steady() + kChangeTime;
  DROVER_RETURN_IF_ERROR(host_->raft_control()->transfer_leadership(peer.id, deadline));
  return v1::RaftPeerResponse();
}

}  // namespace drover::autopilot
