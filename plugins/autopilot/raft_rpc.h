// The operator's view and control of the cluster: its members, removals, the leader.
#pragma once

#include "drover/api/operator.pb.h"
#include "drover/plugin.h"

namespace drover::autopilot {

class RaftRpc {
 public:
  Status declare(Declarations& declare);
  void start(Host& host) { host_ = &host; }

 private:
  Result<v1::RaftConfigurationResponse> configuration(const v1::RaftConfigurationRequest& request, Call& call);
  Result<v1::RaftPeerResponse> remove_peer(const v1::RaftPeerRequest& request, Call& call);
  Result<v1::RaftPeerResponse> transfer_leadership(const v1::RaftPeerRequest& request, Call& call);

  Host* host_ = nullptr;
};

// The server that the request means. Errors: invalid_argument unless exactly one of id and address is set; not_found.
Result<RaftServer> find_peer(const RaftInfo& raft, const v1::RaftPeerRequest& request);

}  // namespace drover::autopilot
