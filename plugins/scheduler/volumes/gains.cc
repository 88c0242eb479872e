#include "volumes/gains.h"

#include <algorithm>
#include <set>

#include "drover/v1/csi.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {
namespace {

// One that has both a controller and a part on nodes is healthy twice.
std::set<std::pair<std::string, bool>> healthy_on(const v1::Node& node) {
  std::set<std::pair<std::string, bool>> healthy;
  if (node.status() != v1::NODE_STATUS_READY) return healthy;
  for (const auto& [id, plugin] : node.csi_controller_plugins()) {
    if (plugin.healthy()) healthy.emplace(id, true);
  }
  for (const auto& [id, plugin] : node.csi_node_plugins()) {
    if (plugin.healthy()) healthy.emplace(id, false);
  }
  return healthy;
}

}  // namespace

StorageGain gain_of(const v1::CsiVolume& volume) { return {volume.namespace_(), volume.id(), ""}; }

StorageGain gain_of(const v1::CsiClaim& claim) { return {claim.namespace_(), claim.volume_id(), claim.plugin_id()}; }

std::vector<std::string> plugins_gained(const v1::Node* before, const v1::Node& now) {
  std::vector<std::string> gained;
  if (now.csi_controller_plugins().empty() && now.csi_node_plugins().empty()) return gained;
  const auto known = before ? healthy_on(*before) : std::set<std::pair<std::string, bool>>();
  for (const auto& [id, is_controller] : healthy_on(now)) {
    if (known.contains({id, is_controller})) continue;
    if (gained.empty() || gained.back() != id) gained.push_back(id);
  }
  return gained;
}

bool concerns(const StorageGain& gain, const std::string& name_space, const v1::StorageWait& wait) {
  if (!gain.volume.empty() && gain.name_space == name_space &&
      std::ranges::find(wait.volumes(), gain.volume) != wait.volumes().end())
    return true;
  return !gain.plugin.empty() && std::ranges::find(wait.plugins(), gain.plugin) != wait.plugins().end();
}

}  // namespace drover::scheduler
