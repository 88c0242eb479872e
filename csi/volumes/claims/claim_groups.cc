#include "claims/claim_groups.h"

#include "drover/message_fields.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node.pb.h"
#include "volumes.pb.h"

namespace drover::volumes {
namespace {

// Reads only a number or two of nodes and allocations, without decoding them: there are many, and they are large.
bool is_away(const ReadView& view, TableId nodes, const std::string& node_id) {
  const auto node = view.get(nodes, node_id);
  return !node || number_field(*node, v1::Node::kStatusFieldNumber) == v1::NODE_STATUS_DOWN;
}

int64_t ended_at(const ReadView& view, TableId allocs, const std::string& alloc_id) {
  const auto alloc = view.get(allocs, alloc_id);
  return alloc ? static_cast<int64_t>(number_field(*alloc, v1::Allocation::kModifyTimeFieldNumber)) : 0;
}

bool is_plugin_gone(const ReadView& view, const Tables& tables, const std::string& plugin_id) {
  return !view.scan(tables.nodes, kNodesByCsiPlugin, of_csi_plugin(plugin_id))->valid() &&
         !view.scan(tables.jobs, kJobsByCsiPlugin, of_csi_plugin(plugin_id))->valid();
}

}  // namespace

std::map<Remote, std::vector<ClaimFacts>> claim_groups(const ReadView& view, const Tables& tables) {
  std::map<Remote, std::vector<ClaimFacts>> groups;
  tables.claims.scan(view, kPrimary, KeyRange::all(), [&](v1::CsiClaim& claim, std::string_view) {
    ClaimFacts facts{
        .has_ended = has_ended(view, tables, claim.alloc_id()),
        .ended_at = ended_at(view, tables.allocs, claim.alloc_id()),
        .is_node_away = is_away(view, tables.nodes, claim.node_id()),
        .is_volume_gone = !view.get(tables.volumes.id(), csi_volume_key(claim.namespace_(), claim.volume_id()))};
    facts.is_plugin_gone = facts.is_volume_gone && is_plugin_gone(view, tables, claim.plugin_id());
    facts.claim = std::move(claim);
    groups[{facts.claim.plugin_id(), facts.claim.external_volume_id()}].push_back(std::move(facts));
    return true;
  });
  return groups;
}

v1::CsiClaimMove move_of(const v1::CsiClaim& claim, v1::CsiClaimStep to) {
  v1::CsiClaimMove move;
  move.mutable_name()->set_namespace_(claim.namespace_());
  move.mutable_name()->set_volume_id(claim.volume_id());
  move.mutable_name()->set_alloc_id(claim.alloc_id());
  move.set_from(claim.step());
  move.set_to(to);
  return move;
}

v1::CsiClaimMove written(const std::vector<ClaimFacts>& facts, const NextStep& step) {
  v1::CsiClaimMove move = move_of(facts[step.claim].claim, step.to);
  if (step.attached_as) *move.mutable_publish_context() = facts[*step.attached_as].claim.publish_context();
  return move;
}

bool is_final(Code code) {
  switch (code) {
    case Code::invalid_argument:
    case Code::permission_denied:
    case Code::unauthenticated:
    case Code::out_of_range:
    case Code::unimplemented:
      return true;
    default:
      return false;
  }
}

}  // namespace drover::volumes
