#include "node/node_rpc.h"

#include "drover/v1/node_host_volume.pb.h"
#include "node/node_state.pb.h"

namespace drover::host_volumes {
namespace {

template <typename Request>
Result<StoredVolume> order_of(const Request& request) {
  if (request.id().size() != 16 || request.name().empty()) return invalid_argument("the order names no volume");
  StoredVolume order;
  order.set_id(request.id());
  order.set_name(request.name());
  order.set_namespace_(request.namespace_());
  order.set_plugin_id(request.plugin_id());
  order.set_node_id(request.node_id());
  order.set_node_pool(request.node_pool());
  *order.mutable_parameters() = request.parameters();
  order.set_is_registered(request.is_registered());
  order.set_host_path(request.host_path());
  order.set_step_index(request.step_index());
  return order;
}

}  // namespace

Status NodeRpc::declare(Declarations& declare) {
  return declare.service("drover.v1.NodeHostVolumes",
                         {method<&NodeRpc::make>("Make", this), method<&NodeRpc::erase>("Delete", this)});
}

Result<v1::MakeHostVolumeResponse> NodeRpc::make(const v1::MakeHostVolumeRequest& request, Call& call) {
  DROVER_TRY(StoredVolume order, order_of(request));
  order.set_capacity_min(request.capacity_min());
  order.set_capacity_max(request.capacity_max());
  DROVER_TRY(const MadeVolume made, volumes_.make(std::move(order), request.leader_term(), call.stop()));
  v1::MakeHostVolumeResponse response;
  response.set_host_path(made.path);
  response.set_capacity(made.bytes);
  return response;
}

Result<v1::DeleteNodeHostVolumeResponse> NodeRpc::erase(const v1::DeleteNodeHostVolumeRequest& request, Call& call) {
  DROVER_TRY(StoredVolume order, order_of(request));
  DROVER_RETURN_IF_ERROR(volumes_.erase(std::move(order), request.leader_term(), call.stop()));
  return v1::DeleteNodeHostVolumeResponse();
}

}  // namespace drover::host_volumes
