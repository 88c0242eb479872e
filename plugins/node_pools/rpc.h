// The handlers of the NodePools service. Reads are functions of the call's view.
#pragma once

#include "drover/plugin.h"
#include "tables.h"

namespace drover::v1 {
class ApplyNodePoolRequest;
class ApplyNodePoolResponse;
class DeleteNodePoolResponse;
class ListNodePoolsRequest;
class ListNodePoolsResponse;
class NodePoolRequest;
class NodePoolResponse;
}  // namespace drover::v1

namespace drover::node_pools {

class Rpc {
 public:
  explicit Rpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);

 private:
  Result<v1::ListNodePoolsResponse> list(const v1::ListNodePoolsRequest& request, Call& call);
  Result<v1::NodePoolResponse> get(const v1::NodePoolRequest& request, Call& call);
  Result<Write<v1::ApplyNodePoolResponse>> apply(const v1::ApplyNodePoolRequest& request, Call& call);
  Result<Write<v1::DeleteNodePoolResponse>> erase(const v1::NodePoolRequest& request, Call& call);

  const Tables& tables_;
};

}  // namespace drover::node_pools
