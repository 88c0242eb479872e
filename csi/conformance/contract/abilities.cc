#include "contract/abilities.h"

#include "../check.h"
#include "../settings.h"
#include "csi/protocol/messages.h"

namespace drover::csi_kit {
namespace {

using Rpc = ::csi::v1::ControllerServiceCapability::RPC;
using NodeRpc = ::csi::v1::NodeServiceCapability::RPC;
using Service = ::csi::v1::PluginCapability::Service;

struct Row {
  uint32_t need;
  int type;
  const char* name;
};

constexpr Row kController[] = {
    {Check::create, Rpc::CREATE_DELETE_VOLUME, "CREATE_DELETE_VOLUME"},
    {Check::attach, Rpc::PUBLISH_UNPUBLISH_VOLUME, "PUBLISH_UNPUBLISH_VOLUME"},
    {Check::list, Rpc::LIST_VOLUMES, "LIST_VOLUMES"},
    {Check::capacity, Rpc::GET_CAPACITY, "GET_CAPACITY"},
    {Check::snapshots, Rpc::CREATE_DELETE_SNAPSHOT, "CREATE_DELETE_SNAPSHOT"},
    {Check::list_snapshots, Rpc::LIST_SNAPSHOTS, "LIST_SNAPSHOTS"},
    {Check::clone, Rpc::CLONE_VOLUME, "CLONE_VOLUME"},
    {Check::read_only, Rpc::PUBLISH_READONLY, "PUBLISH_READONLY"},
    {Check::expand, Rpc::EXPAND_VOLUME, "EXPAND_VOLUME"},
    {Check::published_nodes, Rpc::LIST_VOLUMES_PUBLISHED_NODES, "LIST_VOLUMES_PUBLISHED_NODES"},
    {Check::get, Rpc::GET_VOLUME, "GET_VOLUME"},
    {Check::get_snapshot, Rpc::GET_SNAPSHOT, "GET_SNAPSHOT"}};
constexpr Row kNode[] = {{Check::stage, NodeRpc::STAGE_UNSTAGE_VOLUME, "STAGE_UNSTAGE_VOLUME"},
                         {Check::stats, NodeRpc::GET_VOLUME_STATS, "GET_VOLUME_STATS"},
                         {Check::node_expand, NodeRpc::EXPAND_VOLUME, "EXPAND_VOLUME of the node"},
                         {Check::condition, NodeRpc::VOLUME_CONDITION, "VOLUME_CONDITION of the node"}};

template <typename Rows>
std::string lacking(uint32_t needs, const Rows& rows, const std::set<int>& has) {
  for (const Row& row : rows) {
    if ((needs & row.need) && !has.contains(row.type)) return std::string("the plugin lacks ") + row.name;
  }
  return {};
}

uint32_t all_of(const auto& rows) {
  uint32_t bits = 0;
  for (const Row& row : rows) bits |= row.need;
  return bits;
}

std::string missing_service(uint32_t needs, const Abilities& abilities) {
  const bool wants_controller = needs & (Check::controller | all_of(kController));
  const bool wants_node = needs & (Check::node | Check::mounts | all_of(kNode));
  if (wants_controller && !abilities.has_controller) return "this instance serves no controller";
  if (wants_node && !abilities.has_node) return "this instance serves no node";
  if ((needs & Check::places) && !abilities.plugin.contains(Service::VOLUME_ACCESSIBILITY_CONSTRAINTS))
    return "the plugin lacks VOLUME_ACCESSIBILITY_CONSTRAINTS";
  return {};
}

// Names an ability that the plugin has and the check is not for; empty: none.
std::string surplus(uint32_t needs, const Abilities& abilities) {
  if ((needs & Check::no_modify) && abilities.controller.contains(Rpc::MODIFY_VOLUME))
    return "the plugin has MODIFY_VOLUME";
  if ((needs & Check::no_groups) && abilities.plugin.contains(Service::GROUP_CONTROLLER_SERVICE))
    return "the plugin has GROUP_CONTROLLER_SERVICE";
  return {};
}

std::string missing_here(uint32_t needs, const Abilities& abilities, const Settings& settings) {
  if ((needs & Check::volume) && settings.volume.empty() &&
      !(abilities.has_controller && abilities.controller.contains(Rpc::CREATE_DELETE_VOLUME)))
    return "the plugin lacks CREATE_DELETE_VOLUME, and none is named (-existing-volume)";
  if ((needs & Check::mounts) && !abilities.why_no_mounts.empty()) return abilities.why_no_mounts;
  if ((needs & Check::mounts) && abilities.plugin.contains(Service::CONTROLLER_SERVICE) && !abilities.has_controller)
    return "this instance serves no controller, which may have to attach first";
  if ((needs & Check::program) && settings.program.empty()) return "the plugin was not started here (-endpoint)";
  if ((needs & Check::file_system) && settings.is_block()) return "block devices are tried";
  return {};
}

}  // namespace

std::string missing(uint32_t needs, const Abilities& abilities, const Settings& settings) {
  if (std::string why = missing_service(needs, abilities); !why.empty()) return why;
  if (std::string why = lacking(needs, kController, abilities.controller); !why.empty()) return why;
  if (std::string why = lacking(needs, kNode, abilities.node); !why.empty()) return why;
  if (std::string why = surplus(needs, abilities); !why.empty()) return why;
  // Volumes of a controller are attached to a node, which tells its name.
  if ((needs & Check::attach) && abilities.node_id.empty()) return "this instance serves no node to attach to";
  return missing_here(needs, abilities, settings);
}

}  // namespace drover::csi_kit
