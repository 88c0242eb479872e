#include "csi/protocol/convert.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "csi/protocol/redact.h"
#include "drover/messages.h"

namespace drover::csi {
namespace {

using Mode = v1::VolumeCapability::AccessMode::Mode;

// Sizes in bytes. Identifiers: of the specification. Contexts: sixteen times as much as the specification grants, for
// they go into the log, and plugins are generous.
constexpr size_t kMaxId = 128;
constexpr size_t kMaxNodeId = 256;
constexpr size_t kMaxContext = 64 * 1024;

struct ModeWord {
  std::string_view word;
  Mode mode;
};
constexpr std::array<ModeWord, 5> kModes = {{
    {"single-node-reader-only", v1::VolumeCapability::AccessMode::SINGLE_NODE_READER_ONLY},
    {"single-node-writer", v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER},
    {"multi-node-reader-only", v1::VolumeCapability::AccessMode::MULTI_NODE_READER_ONLY},
    {"multi-node-single-writer", v1::VolumeCapability::AccessMode::MULTI_NODE_SINGLE_WRITER},
    {"multi-node-multi-writer", v1::VolumeCapability::AccessMode::MULTI_NODE_MULTI_WRITER},
}};

using ControllerRpc = v1::ControllerServiceCapability::RPC;
using ControllerInfo = drover::v1::CsiControllerInfo;
struct ControllerCan {
  ControllerRpc::Type type;
  void (ControllerInfo::*set)(bool);
};
constexpr std::array<ControllerCan, 12> kControllerCan = {{
    {ControllerRpc::CREATE_DELETE_VOLUME, &ControllerInfo::set_supports_create_delete},
    {ControllerRpc::PUBLISH_UNPUBLISH_VOLUME, &ControllerInfo::set_supports_attach_detach},
    {ControllerRpc::LIST_VOLUMES, &ControllerInfo::set_supports_list_volumes},
    {ControllerRpc::GET_CAPACITY, &ControllerInfo::set_supports_get_capacity},
    {ControllerRpc::CREATE_DELETE_SNAPSHOT, &ControllerInfo::set_supports_create_delete_snapshot},
    {ControllerRpc::LIST_SNAPSHOTS, &ControllerInfo::set_supports_list_snapshots},
    {ControllerRpc::CLONE_VOLUME, &ControllerInfo::set_supports_clone},
    {ControllerRpc::PUBLISH_READONLY, &ControllerInfo::set_supports_read_only_attach},
    {ControllerRpc::EXPAND_VOLUME, &ControllerInfo::set_supports_expand},
    {ControllerRpc::LIST_VOLUMES_PUBLISHED_NODES, &ControllerInfo::set_supports_list_volumes_attached_nodes},
    {ControllerRpc::VOLUME_CONDITION, &ControllerInfo::set_supports_condition},
    {ControllerRpc::GET_VOLUME, &ControllerInfo::set_supports_get},
}};

using NodeRpc = v1::NodeServiceCapability::RPC;
using NodeInfo = drover::v1::CsiNodeInfo;
struct NodeCan {
  NodeRpc::Type type;
  void (NodeInfo::*set)(bool);
};
constexpr std::array<NodeCan, 4> kNodeCan = {{
    {NodeRpc::STAGE_UNSTAGE_VOLUME, &NodeInfo::set_requires_node_stage_volume},
    {NodeRpc::GET_VOLUME_STATS, &NodeInfo::set_supports_stats},
    {NodeRpc::EXPAND_VOLUME, &NodeInfo::set_supports_expand},
    {NodeRpc::VOLUME_CONDITION, &NodeInfo::set_supports_condition},
}};

Status check_id(std::string_view id, std::string_view what, size_t most = kMaxId) {
  if (id.empty()) return internal_error("the plugin's answer has no " + std::string(what));
  if (id.size() > most)
    return internal_error("the plugin's answer has a " + std::string(what) + " of " + std::to_string(id.size()) +
                          " bytes; there may be " + std::to_string(most));
  return {};
}

Status check_not_negative(int64_t number, std::string_view what) {
  if (number >= 0) return {};
  return internal_error("the plugin's answer has a negative " + std::string(what) + ": " + std::to_string(number));
}

using Texts = google::protobuf::Map<std::string, std::string>;

Status check_context(const Texts& context) {
  size_t size = 0;
  for (const auto& [key, value] : context) size += key.size() + value.size();
  if (size <= kMaxContext) return {};
  return internal_error("the plugin's answer has a volume context of " + std::to_string(size) +
                        " bytes; there may be " + std::to_string(kMaxContext));
}

Status check_volume(const v1::Volume& volume) {
  DROVER_RETURN_IF_ERROR(check_id(volume.volume_id(), "volume id"));
  DROVER_RETURN_IF_ERROR(check_not_negative(volume.capacity_bytes(), "capacity"));
  return check_context(volume.volume_context());
}

drover::v1::CsiTopology topology_of(const v1::Topology& topology) {
  drover::v1::CsiTopology out;
  *out.mutable_segments() = topology.segments();
  return out;
}

Result<drover::v1::CsiExternalVolume> external_of(const v1::ListVolumesResponse::Entry& entry) {
  const v1::Volume& volume = entry.volume();
  DROVER_RETURN_IF_ERROR(check_volume(volume));
  drover::v1::CsiExternalVolume out;
  out.set_external_id(volume.volume_id());
  out.set_capacity_bytes(volume.capacity_bytes());
  *out.mutable_volume_context() = volume.volume_context();
  out.set_clone_id(volume.content_source().volume().volume_id());
  out.set_snapshot_id(volume.content_source().snapshot().snapshot_id());
  *out.mutable_published_external_node_ids() = entry.status().published_node_ids();
  out.set_is_abnormal(entry.status().volume_condition().abnormal());
  out.set_status(entry.status().volume_condition().message());
  return out;
}

std::string words_of(const v1::VolumeCapability& capability) {
  const auto* at = std::ranges::find(kModes, capability.access_mode().mode(), &ModeWord::mode);
  std::string words = at == kModes.end() ? "an access mode without a name" : std::string(at->word);
  if (capability.has_block()) return words + " as block-device";
  words += " as file-system";
  if (!capability.mount().fs_type().empty()) words += " " + capability.mount().fs_type();
  return words + (capability.mount().mount_flags().empty() ? "" : " with mount flags");
}

// Plugins may leave these out; what they say must be what was asked.
bool differs(const Texts& confirmed, const Texts& asked) {
  if (confirmed.empty()) return false;
  return confirmed.size() != asked.size() || !std::ranges::all_of(confirmed, [&](const auto& entry) {
           const auto at = asked.find(entry.first);
           return at != asked.end() && at->second == entry.second;
         });
}

// Names what was asked and not confirmed; empty when all was.
std::string not_confirmed(const v1::ValidateVolumeCapabilitiesRequest& asked,
                          const v1::ValidateVolumeCapabilitiesResponse& answer) {
  if (!answer.has_confirmed()) return "anything";
  const auto& confirmed = answer.confirmed();
  for (const v1::VolumeCapability& wanted : asked.volume_capabilities()) {
    const std::string bytes = serialize(wanted);
    if (std::ranges::none_of(confirmed.volume_capabilities(), [&](const auto& had) { return serialize(had) == bytes; }))
      return words_of(wanted);
  }
  if (differs(confirmed.volume_context(), asked.volume_context())) return "the volume's context";
  if (differs(confirmed.parameters(), asked.parameters())) return "the volume's parameters";
  return {};
}

}  // namespace

Result<v1::VolumeCapability> capability_of(const std::string& access_mode, const std::string& attachment_mode,
                                           const drover::v1::MountOptions& options) {
  const auto* at = std::ranges::find(kModes, access_mode, &ModeWord::word);
  if (at == kModes.end()) return invalid_argument("no access mode: \"" + access_mode + "\"");
  v1::VolumeCapability out;
  out.mutable_access_mode()->set_mode(at->mode);
  if (attachment_mode == "block-device") {
    out.mutable_block();
  } else if (attachment_mode == "file-system") {
    out.mutable_mount()->set_fs_type(options.fs_type());
    *out.mutable_mount()->mutable_mount_flags() = options.mount_flags();
  } else {
    return invalid_argument("no attachment mode: \"" + attachment_mode + "\"");
  }
  return out;
}

drover::v1::CsiControllerInfo controller_info_of(const v1::ControllerGetCapabilitiesResponse& capabilities) {
  drover::v1::CsiControllerInfo out;
  for (const auto& each : capabilities.capabilities()) {
    // One of a later version, or of no use here, is passed over.
    const auto* at = std::ranges::find(kControllerCan, each.rpc().type(), &ControllerCan::type);
    if (at != kControllerCan.end()) (out.*at->set)(true);
  }
  return out;
}

Result<drover::v1::CsiNodeInfo> node_info_of(const v1::NodeGetInfoResponse& info,
                                             const v1::NodeGetCapabilitiesResponse& capabilities) {
  DROVER_RETURN_IF_ERROR(check_id(info.node_id(), "node id", kMaxNodeId));
  DROVER_RETURN_IF_ERROR(check_not_negative(info.max_volumes_per_node(), "number of volumes for a node"));
  drover::v1::CsiNodeInfo out;
  out.set_id(info.node_id());
  out.set_max_volumes(info.max_volumes_per_node() ? info.max_volumes_per_node() : std::numeric_limits<int64_t>::max());
  if (info.has_accessible_topology()) *out.mutable_accessible_topology() = topology_of(info.accessible_topology());
  for (const auto& each : capabilities.capabilities()) {
    const auto* at = std::ranges::find(kNodeCan, each.rpc().type(), &NodeCan::type);
    if (at != kNodeCan.end()) (out.*at->set)(true);
  }
  return out;
}

Result<drover::v1::CsiCreateResponse> created_of(const v1::CreateVolumeResponse& response) {
  const v1::Volume& volume = response.volume();
  DROVER_RETURN_IF_ERROR(check_volume(volume));
  drover::v1::CsiCreateResponse out;
  out.set_external_volume_id(volume.volume_id());
  out.set_capacity(volume.capacity_bytes());
  *out.mutable_volume_context() = volume.volume_context();
  for (const v1::Topology& each : volume.accessible_topology()) *out.add_topologies() = topology_of(each);
  return out;
}

Result<drover::v1::CsiListResponse> listed_of(const v1::ListVolumesResponse& response) {
  drover::v1::CsiListResponse out;
  for (const auto& entry : response.entries()) {
    DROVER_TRY(*out.add_volumes(), external_of(entry));
  }
  out.set_next_token(response.next_token());
  return out;
}

Result<drover::v1::CsiExternalSnapshot> snapshot_of(const v1::Snapshot& snapshot) {
  DROVER_RETURN_IF_ERROR(check_id(snapshot.snapshot_id(), "snapshot id"));
  DROVER_RETURN_IF_ERROR(check_id(snapshot.source_volume_id(), "source volume id"));
  DROVER_RETURN_IF_ERROR(check_not_negative(snapshot.size_bytes(), "size"));
  drover::v1::CsiExternalSnapshot out;
  out.set_id(snapshot.snapshot_id());
  out.set_external_volume_id(snapshot.source_volume_id());
  out.set_size_bytes(snapshot.size_bytes());
  out.set_create_time(snapshot.creation_time().seconds());
  out.set_is_ready(snapshot.ready_to_use());
  return out;
}

v1::TopologyRequirement requirement_of(const drover::v1::CsiTopologyRequest& wanted) {
  v1::TopologyRequirement out;
  for (const auto& each : wanted.required()) *out.add_requisite()->mutable_segments() = each.segments();
  for (const auto& each : wanted.preferred()) *out.add_preferred()->mutable_segments() = each.segments();
  return out;
}

Status confirmed(const v1::ValidateVolumeCapabilitiesRequest& asked,
                 const v1::ValidateVolumeCapabilitiesResponse& answer) {
  const std::string missing = not_confirmed(asked, answer);
  if (missing.empty()) return {};
  const std::string why = without_secrets(answer.message(), asked);
  return invalid_argument("the plugin does not confirm " + missing + (why.empty() ? "" : ": " + why));
}

}  // namespace drover::csi
