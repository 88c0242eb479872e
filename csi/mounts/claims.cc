#include "claims.h"

#include <algorithm>

#include "drover/node_calls.h"
#include "drover/v1/node_csi.pb.h"

namespace drover::mounts {
namespace {

using namespace std::chrono_literals;

constexpr auto kCallTime = 15s;
constexpr auto kWatchTime = 60s;  // one blocking look at a claim

const NodeCalls* node_calls(const Host& host) { return host.extension<NodeCalls>("agent"); }

Result<NodeProofOf> proof_of(const Host& host) {
  const NodeCalls* calls = node_calls(host);
  auto proof = calls ? calls->proof() : std::nullopt;
  if (!proof) return unavailable("the servers do not know this node yet");
  return *std::move(proof);
}

std::string waits_for(const v1::CsiClaim& claim) {
  if (claim.last_error().empty()) return "it is being attached to this node";
  return "attaching it to this node is tried again: " + claim.last_error();
}

}  // namespace

template <typename Response, typename Request>
Result<Response> Claims::ask(const char* method, const Request& request, const std::stop_token& stop,
                             uint64_t after_index, uint64_t* index) const {
  const std::chrono::nanoseconds wait = after_index > 0 ? kWatchTime : 0s;
  CallContext context =
      node_calls(*host_)->context(std::string("/drover.v1.CsiClaims/") + method, kCallTime + wait, stop);
  context.query.min_index = after_index;
  context.query.max_wait = wait;
  ReplyMeta meta;
  auto answer = call<Response>(host_->caller(), std::move(context), request, &meta);
  if (index) *index = meta.index;
  return answer;
}

Result<v1::CsiClaimName> Claims::name_of(const MountKey& key) const {
  DROVER_TRY(const NodeProofOf proof, proof_of(*host_));
  v1::CsiClaimName name;
  name.set_node_id(proof.id.bytes());
  name.set_secret_id(proof.secret);
  name.set_alloc_id(key.alloc.bytes());
  name.set_volume_id(key.volume_id);
  return name;
}

Result<v1::CsiClaim> Claims::claim(const MountKey& key, const Usage& usage, const v1::MountOptions& options,
                                   const std::stop_token& stop) {
  v1::CsiClaimRequest request;
  DROVER_TRY(*request.mutable_name(), name_of(key));
  request.set_read_only(usage.is_read_only);
  request.set_access_mode(usage.access_mode);
  request.set_attachment_mode(usage.attachment_mode);
  *request.mutable_mount_options() = options;
  DROVER_TRY(v1::CsiClaimResponse answer, ask<v1::CsiClaimResponse>("Claim", request, stop));
  return std::move(*answer.mutable_claim());
}

Result<v1::CsiClaimResponse> Claims::await_attached(const MountKey& key,
                                                    const std::function<void(const std::string&)>& waits,
                                                    const std::stop_token& stop) {
  DROVER_TRY(v1::CsiClaimName name, name_of(key));
  for (uint64_t index = 0;;) {
    auto looked = ask<v1::CsiClaimResponse>("Get", name, stop, index, &index);
    if (looked.status().code() == Code::permission_denied) {
      // The node's identity may have been replaced while this waited.
      const std::string shown = name.secret_id();
      DROVER_TRY(name, name_of(key));
      if (name.secret_id() != shown) continue;
    }
    DROVER_TRY(v1::CsiClaimResponse answer, std::move(looked));
    const v1::CsiClaim& claim = answer.claim();
    if (claim.is_final_error()) return internal_error(claim.last_error());
    if (claim.step() == v1::CSI_CLAIM_STEP_ATTACHED) return answer;
    if (claim.step() > v1::CSI_CLAIM_STEP_ATTACHED) return failed_precondition("its former claim is being given back");
    if (stop.stop_requested()) return cancelled("it is no longer wanted");
    waits(waits_for(claim));
    index = std::max<uint64_t>(index, 1);  // the next look waits
  }
}

Status Claims::released(const MountKey& key, const std::stop_token& stop) {
  DROVER_TRY(const v1::CsiClaimName name, name_of(key));
  const Status status = ask<v1::CsiReleasedResponse>("Released", name, stop).status();
  return status.code() == Code::not_found ? ok_status() : status;
}

Result<std::vector<NodeClaim>> Claims::of_node(const std::stop_token& stop) {
  DROVER_TRY(const NodeProofOf proof, proof_of(*host_));
  v1::CsiClaimsOfNodeRequest request;
  request.set_node_id(proof.id.bytes());
  request.set_secret_id(proof.secret);
  DROVER_TRY(const auto answer, ask<v1::CsiClaimsResponse>("OfNode", request, stop));
  std::vector<NodeClaim> out;
  for (const v1::CsiClaim& claim : answer.claims()) {
    // The node's part of the last step is done: the rest is a controller's.
    if (claim.step() != v1::CSI_CLAIM_STEP_NODE_RELEASED) out.push_back(node_claim_of(claim));
  }
  return out;
}

NodeClaim node_claim_of(const v1::CsiClaim& claim) {
  return {.key = {Uuid::from_bytes(claim.alloc_id()), claim.namespace_(), claim.volume_id()},
          .plugin_id = claim.plugin_id(),
          .external_volume_id = claim.external_volume_id(),
          .usage = {claim.read_only(), claim.access_mode(), claim.attachment_mode()}};
}

}  // namespace drover::mounts
