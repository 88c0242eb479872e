#include "claim_rpc.h"

#include "claims/claim_groups.h"
#include "claims/claiming.h"
#include "drover/model/node.h"
#include "drover/schema.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/node_csi.pb.h"
#include "secrets.h"
#include "volumes.pb.h"

namespace drover::volumes {
namespace {

// The claim as nodes see it: secrets come beside it, open.
v1::CsiClaim shown(v1::CsiClaim claim) {
  claim.clear_secrets();
  return claim;
}

}  // namespace

Status ClaimRpc::declare(Declarations& declare) {
  return declare.service("drover.v1.CsiClaims",
                         {method<&ClaimRpc::claim>("Claim", this), method<&ClaimRpc::get>("Get", this),
                          method<&ClaimRpc::released>("Released", this), method<&ClaimRpc::of_node>("OfNode", this)});
}

void ClaimRpc::start(Host& host, Keyring& keys) {
  host_ = &host;
  keys_ = &keys;
}

Result<Write<v1::CsiClaimResponse>> ClaimRpc::claim(const v1::CsiClaimRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.name().node_id()));
  v1::CsiClaimed command;
  DROVER_TRY(*command.mutable_claim(), decide_claim(call.view(), tables_, request, host_->clock().wall_ns()));
  v1::CsiClaimResponse response;
  *response.mutable_claim() = shown(command.claim());
  if (command.claim().create_index() == 0) return Write<v1::CsiClaimResponse>(command, response);
  call.set_index(command.claim().modify_index());
  return Write(response);
}

Result<v1::CsiClaimResponse> ClaimRpc::get(const v1::CsiClaimName& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  DROVER_TRY(v1::CsiClaim claim, claim_of_caller(call.view(), tables_, request, host_->clock().wall_ns()));
  v1::CsiClaimResponse response;
  call.set_index(claim.modify_index());
  const auto volume = tables_.volumes.get(call.view(), csi_volume_key(claim.namespace_(), claim.volume_id()));
  if (volume && claim.step() == v1::CSI_CLAIM_STEP_ATTACHED) {
    DROVER_RETURN_IF_ERROR(open_secrets(*keys_, volume->secrets(), claim.namespace_(), claim.volume_id(),
                                        *response.mutable_secrets()));
  }
  *response.mutable_claim() = shown(std::move(claim));
  return response;
}

Result<Write<v1::CsiReleasedResponse>> ClaimRpc::released(const v1::CsiClaimName& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  const auto claim = claim_of_caller(call.view(), tables_, request, host_->clock().wall_ns());
  if (!claim && claim.status().code() != Code::not_found) return claim.status();
  if (!claim || claim->step() == v1::CSI_CLAIM_STEP_NODE_RELEASED) {
    call.set_index(call.view().index());
    return Write(v1::CsiReleasedResponse());
  }
  v1::CsiClaimsMoved command;
  command.set_time(host_->clock().wall_ns());
  *command.add_moves() = move_of(*claim, v1::CSI_CLAIM_STEP_NODE_RELEASED);
  return Write<v1::CsiReleasedResponse>(command, v1::CsiReleasedResponse());
}

Result<v1::CsiClaimsResponse> ClaimRpc::of_node(const v1::CsiClaimsOfNodeRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  const auto node = Table<v1::Node>(tables_.nodes).get(call.view(), request.node_id());
  if (!node || !is_proof_of(*node, request.secret_id(), host_->clock().wall_ns())) return access_denied();
  v1::CsiClaimsResponse response;
  tables_.claims.scan(call.view(), kClaimsByNode, of_id(request.node_id()), [&](v1::CsiClaim& claim, std::string_view) {
    claim.clear_secrets();
    claim.clear_volume_context();
    claim.clear_publish_context();
    *response.add_claims() = std::move(claim);
    return true;
  });
  call.set_index(call.view().table_index(tables_.claims.id()));
  return response;
}

}  // namespace drover::volumes
