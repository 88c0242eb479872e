// The handlers of the Nodes service: what operators and tools ask. Reads are functions of the call's view.
#pragma once

#include "drover/api/nodes.pb.h"
#include "drover/plugin.h"
#include "introductions.h"

namespace drover::nodes {

class Rpc {
 public:
  Rpc(const Table<v1::Node>& nodes, Introductions& introductions) : nodes_(nodes), introductions_(introductions) {}
  Status declare(Declarations& declare);
  Status start(Host& host);

 private:
  Result<v1::ListNodesResponse> list(const v1::ListNodesRequest& request, Call& call);
  Result<v1::ListNodesResponse> of_pool(const v1::ListNodesOfPoolRequest& request, Call& call);
  Result<v1::NodeResponse> get(const v1::NodeRequest& request, Call& call);
  Result<Write<v1::NodeUpdateResponse>> eligibility(const v1::NodeEligibilityRequest& request, Call& call);
  Result<Write<v1::NodeDrainResponse>> drain(const v1::NodeDrainRequest& request, Call& call);
  Result<Write<v1::NodeUpdateResponse>> evaluate(const v1::NodeRequest& request, Call& call);
  Result<Write<v1::NodeUpdateResponse>> purge(const v1::NodeRequest& request, Call& call);

  const Table<v1::Node>& nodes_;
  Introductions& introductions_;
  TableId allocs_;
  TableId jobs_;
  TableId node_pools_;
  Host* host_ = nullptr;
};

}  // namespace drover::nodes
