#include "node_rpc.h"

#include <algorithm>

#include "drover/v1/node_csi.pb.h"

namespace drover::mounts {
namespace {

constexpr auto kCallTime = std::chrono::minutes(2);  // in all

}  // namespace

Status NodeRpc::declare(Declarations& declare) {
  return declare.service(
      "drover.v1.NodeCsi",
      {method<&NodeRpc::attach>("Attach", this), method<&NodeRpc::detach>("Detach", this),
       method<&NodeRpc::validate>("Validate", this), method<&NodeRpc::create>("Create", this),
       method<&NodeRpc::remove>("Delete", this), method<&NodeRpc::list>("List", this),
       method<&NodeRpc::expand>("Expand", this), method<&NodeRpc::create_snapshot>("CreateSnapshot", this),
       method<&NodeRpc::remove_snapshot>("DeleteSnapshot", this),
       method<&NodeRpc::list_snapshots>("ListSnapshots", this), method<&NodeRpc::release>("Release", this),
       method<&NodeRpc::expand_here>("NodeExpand", this)});
}

Result<Until> NodeRpc::until(const Call& call) const {
  if (!setup_) return unavailable("this agent is still starting");
  return Until{.end = std::min(call.context().deadline, setup_->host.clock().steady() + kCallTime),
               .stop = call.stop()};
}

Result<v1::CsiDoneResponse> NodeRpc::release(const v1::CsiReleaseRequest& request, Call& call) {
  DROVER_TRY(const Until until, this->until(call));
  DROVER_RETURN_IF_ERROR(leaders_.heed(request.leader_term()));
  DROVER_RETURN_IF_ERROR(setup_->keeper.release(node_claim_of(request.claim()), until));
  return v1::CsiDoneResponse();
}

Result<v1::CsiExpandResponse> NodeRpc::expand_here(const v1::CsiNodeExpandRequest& request, Call& call) {
  DROVER_TRY(const Until until, this->until(call));
  auto grown = setup_->keeper.expand(request, until);
  // It is not mounted (any more), or its plugin does nothing for it on nodes.
  const Code code = grown.status().code();
  if (code == Code::not_found || code == Code::unimplemented) return v1::CsiExpandResponse();
  return grown;
}

}  // namespace drover::mounts
