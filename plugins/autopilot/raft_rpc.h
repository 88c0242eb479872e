// The operator's hands on the cluster: who is in it, who is taken out, who leads.
#pragma once

#include "autopilot.pb.h"
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
