#include "claims/claim_groups.h"

#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node.pb.h"
#include "volumes.pb.h"

namespace drover::volumes {
namespace {

bool is_away(const ReadView& view, TableId nodes, const std::string& node_id) {
  const auto node = Table<v1::Node>(nodes).get(view, node_id);
  return !node || node->status() == v1::NODE_STATUS_DOWN;
}

bool is_plugin_gone(const ReadView& view, const Tables& tables, const std::string& plugin_id) {
  return !view.scan(tables.nodes, kNodesByCsiPlugin, of_csi_plugin(plugin_id))->valid() &&
         !view.scan(tables.jobs, kJobsByCsiPlugin, of_csi_plugin(plugin_id))->valid();
}

}  // namespace

std::map<Remote, std::vector<ClaimFacts>> claim_groups(const ReadView& view, const Tables& tables) {
  std::map<Remote, std::vector<ClaimFacts>> groups;
  tables.claims.scan(view, kPrimary, KeyRange::all(), [&](v1::CsiClaim& claim, std::string_view) {
    const auto alloc = Table<v1::Allocation>(tables.allocs).get(view, claim.alloc_id());
    ClaimFacts facts{
        .has_ended = has_ended(view, tables, claim.alloc_id()),
        .ended_at = alloc ? alloc->modify_time() : 0,
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
  if (step.attached_as >= 0)
    *move.mutable_publish_context() = facts[static_cast<size_t>(step.attached_as)].claim.publish_context();
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
