#include "server/choose_node.h"

#include "drover/model/constraint.h"
#include "drover/model/node.h"
#include "drover/uuid.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::host_volumes {
namespace {

// Why the node cannot have it, apart from its state; empty: it can.
std::string problem_of(const v1::Node& node, const v1::DynamicHostVolume& volume) {
  if (!volume.node_pool().empty() && pool_of(node) != volume.node_pool())
    return "it is not in pool \"" + volume.node_pool() + "\"";
  if (!volume.is_registered() && !node.attributes().contains(plugin_attribute(volume.plugin_id())))
    return "it does not have the plugin \"" + volume.plugin_id() + "\"";
  for (const v1::Constraint& constraint : volume.constraints()) {
    if (!meets_constraint(constraint, node)) return "it does not meet the constraint " + constraint_text(constraint);
  }
  return "";
}

}  // namespace

std::string plugin_attribute(const std::string& plugin_id) { return "plugins.host_volume." + plugin_id + ".version"; }

Status may_have(const v1::Node& node, const v1::DynamicHostVolume& volume) {
  const std::string name = "node " + Uuid::from_bytes(node.id()).to_string() + " is not feasible for volume: ";
  if (node.status() != v1::NODE_STATUS_READY) return failed_precondition(name + "it is not ready");
  const std::string problem = problem_of(node, volume);
  return problem.empty() ? ok_status() : failed_precondition(name + problem);
}

Result<const v1::Node*> choose_node(const std::vector<Candidate>& candidates, const v1::DynamicHostVolume& volume) {
  size_t existing = 0, away = 0, infeasible = 0;
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.has_name) {
      ++existing;
    } else if (candidate.node->status() != v1::NODE_STATUS_READY) {
      ++away;
    } else if (!problem_of(*candidate.node, volume).empty()) {
      ++infeasible;
    } else if (!best || candidate.volumes < best->volumes) {
      best = &candidate;
    }
  }
  if (best) return best->node;
  return failed_precondition("no node meets constraints: " + std::to_string(existing) + " nodes had existing volume, " +
                             std::to_string(away) + " nodes are not ready, " + std::to_string(infeasible) +
                             " nodes were infeasible");
}

}  // namespace drover::host_volumes
