#include "volumes.h"

#include <algorithm>
#include <limits>

#include "../settings.h"
#include "checks.h"
#include "csi/v1/csi.pb.h"
#include "hostpath.pb.h"
#include "paging.h"
#include "places.h"
#include "sizes.h"
#include "snapshots.h"

namespace drover::hostpath {
namespace {

Volume* find_any(State& state, const std::string& id) {
  auto& volumes = *state.mutable_volumes();
  const auto at = std::ranges::find(volumes, id, [](const Volume& each) { return each.id(); });
  return at == volumes.end() ? nullptr : &*at;
}

Status check_parameters(const Texts& parameters) {
  DROVER_RETURN_IF_ERROR(check_texts(parameters, "parameters"));
  for (const auto& [key, value] : parameters) {
    if (key != "permissions") return invalid_argument("parameters: there is only \"permissions\"");
    const bool is_octal = value.size() == 4 && value[0] == '0' && value.find_first_not_of("01234567") == value.npos;
    if (!is_octal) return invalid_argument("parameters: \"permissions\" is four octal digits, as 0770");
  }
  return {};
}

Status check_create(const csi::v1::CreateVolumeRequest& request) {
  DROVER_RETURN_IF_ERROR(check_name(request.name()));
  DROVER_RETURN_IF_ERROR(are_block(request.volume_capabilities()).status());
  DROVER_RETURN_IF_ERROR(check_parameters(request.parameters()));
  if (!request.mutable_parameters().empty()) return invalid_argument("mutable_parameters: there are none");
  return {};
}

// The origin of a new volume's content.
struct Source {
  std::string volume, snapshot;
  bool is_block = false;
  int64_t size = 0;
};

Result<Source> source_of(const State& state, const csi::v1::VolumeContentSource& from) {
  if (from.has_snapshot()) {
    DROVER_RETURN_IF_ERROR(check_id(from.snapshot().snapshot_id(), "snapshot_id"));
    const Snapshot* found = find_snapshot(state, from.snapshot().snapshot_id());
    if (!found) return not_found("there is no such snapshot");
    return Source{.snapshot = found->id(), .is_block = found->is_block(), .size = found->size()};
  }
  if (from.has_volume()) {
    DROVER_RETURN_IF_ERROR(check_id(from.volume().volume_id(), "volume_id"));
    DROVER_TRY(const Volume found, existing_volume(state, from.volume().volume_id()));
    return Source{.volume = found.id(), .is_block = found.is_block(), .size = found.capacity()};
  }
  return invalid_argument("volume_content_source: names neither a snapshot nor a volume");
}

bool is_from(const Volume& volume, const csi::v1::VolumeContentSource& from) {
  return volume.source_snapshot() == from.snapshot().snapshot_id() &&
         volume.source_volume() == from.volume().volume_id();
}

bool is_equal(const Texts& a, const Texts& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](const auto& entry) {
           const auto at = b.find(entry.first);
           return at != b.end() && at->second == entry.second;
         });
}

// Why the volume of that name is none that the call may have; empty when it may.
std::string difference(const Volume& volume, const csi::v1::CreateVolumeRequest& request) {
  const csi::v1::CapacityRange& range = request.capacity_range();
  if (volume.is_block() != request.volume_capabilities(0).has_block()) return "another access type";
  if (volume.capacity() < range.required_bytes()) return "less capacity";
  if (range.limit_bytes() > 0 && volume.capacity() > range.limit_bytes()) return "more capacity";
  if (!is_from(volume, request.volume_content_source())) return "another source";
  if (!is_equal(volume.parameters(), request.parameters())) return "other parameters";
  return {};
}

Result<Volume> continued(Volume& volume, const Settings& settings, const csi::v1::CreateVolumeRequest& request) {
  if (volume.stage() == STAGE_DELETING) return aborted("a volume of that name is being deleted");
  if (const std::string why = difference(volume, request); !why.empty())
    return already_exists("there is a volume of that name with " + why);
  if (volume.stage() == STAGE_MAKING && volume.maker() != settings.node_id)
    return aborted("the volume is being made by another instance of the plugin");
  return volume;
}

Volume added(State& state, const Settings& settings, const csi::v1::CreateVolumeRequest& request, const std::string& id,
             const Source& source, int64_t size) {
  Volume& volume = *state.add_volumes();
  volume.set_number(state.last_number() + 1);
  state.set_last_number(volume.number());
  volume.set_id(id);
  volume.set_name(request.name());
  volume.set_stage(STAGE_MAKING);
  volume.set_maker(settings.node_id);
  volume.set_is_block(source.is_block);
  volume.set_capacity(size);
  volume.set_source_volume(source.volume);
  volume.set_source_snapshot(source.snapshot);
  *volume.mutable_parameters() = request.parameters();
  for (const auto& [key, value] : settings.topology) (*volume.mutable_topology())[key] = value;
  return volume;
}

Status check_use(const State& state, const Volume& volume) {
  for (const Published& each : state.published()) {
    if (each.volume_id() == volume.id())
      return failed_precondition("the volume is in use: it is published on node " + each.node_id());
  }
  for (const Staged& each : state.staged()) {
    if (each.volume_id() == volume.id())
      return failed_precondition("the volume is in use: it is staged on node " + each.node_id());
  }
  if (!volume.attached().empty())
    return failed_precondition("the volume is in use: it is attached to node " + volume.attached(0).node_id());
  return {};
}

const Node* find_node(const State& state, const std::string& id) {
  const auto at = std::ranges::find(state.nodes(), id, [](const Node& each) { return each.id(); });
  return at == state.nodes().end() ? nullptr : &*at;
}

int64_t count_attached(const State& state, const std::string& node_id) {
  return std::ranges::count_if(state.volumes(), [&](const Volume& volume) {
    return std::ranges::any_of(volume.attached(), [&](const Attached& each) { return each.node_id() == node_id; });
  });
}

// Errors: failed_precondition when the attachments of others leave no room for this one.
Status check_others(const Volume& volume, const Capability& capability) {
  for (const Attached& each : volume.attached()) {
    if (!is_multi_node(each.capability()) || !is_multi_node(capability))
      return failed_precondition("the volume is attached to node " + each.node_id() + ", and may be attached to one");
  }
  return {};
}

std::vector<std::string> nodes_of(const Volume& volume) {
  std::vector<std::string> nodes;
  for (const Attached& each : volume.attached()) nodes.push_back(each.node_id());
  return nodes;
}

template <typename VolumeStatus>
void fill_status(const Volume& volume, const Complaint& complaint, VolumeStatus& status) {
  for (std::string& node : nodes_of(volume)) status.add_published_node_ids(std::move(node));
  const std::string why = complaint(volume);
  status.mutable_volume_condition()->set_abnormal(!why.empty());
  status.mutable_volume_condition()->set_message(why.empty() ? "all is well" : why);
}

bool is_context_of(const Volume& volume, const Texts& given) {
  const csi::v1::Volume own = described(volume);
  return given.empty() || is_equal(own.volume_context(), given);
}

// Why the volume has not got what was asked; empty when it has.
std::string denial(const Volume& volume, const csi::v1::ValidateVolumeCapabilitiesRequest& request) {
  for (const auto& each : request.volume_capabilities()) {
    const auto capability = capability_of(each);
    if (!capability) return capability.status().message();
    if (capability->is_block() != volume.is_block())
      return volume.is_block() ? "the volume is a block device" : "the volume is a file system";
  }
  if (!is_context_of(volume, request.volume_context())) return "this is not the volume's context";
  if (!request.parameters().empty() && !is_equal(volume.parameters(), request.parameters()))
    return "the volume was made with other parameters";
  return request.mutable_parameters().empty() ? "" : "there are no mutable parameters";
}

}  // namespace

Room room_of(const State& state, const Settings& settings, const Room& disk) {
  if (settings.capacity == 0) return disk;
  int64_t used = 0;
  for (const Volume& each : state.volumes()) used += each.capacity();
  for (const Snapshot& each : state.snapshots()) used += each.size();
  return {.total = settings.capacity, .left = std::max<int64_t>(0, settings.capacity - used)};
}

const Volume* find_volume(const State& state, const std::string& id) {
  const auto at = std::ranges::find_if(
      state.volumes(), [&](const Volume& each) { return each.id() == id && each.stage() == STAGE_READY; });
  return at == state.volumes().end() ? nullptr : &*at;
}

Result<Volume> existing_volume(const State& state, const std::string& id) {
  const Volume* found = find_volume(state, id);
  if (!found) return not_found("there is no such volume");
  return *found;
}

Result<Volume> begin_create(State& state, const Settings& settings, const Room& disk, const std::string& new_id,
                            const csi::v1::CreateVolumeRequest& request) {
  DROVER_RETURN_IF_ERROR(check_create(request));
  DROVER_RETURN_IF_ERROR(check_range(request.capacity_range()));
  auto& volumes = *state.mutable_volumes();
  const auto former = std::ranges::find(volumes, request.name(), [](const Volume& each) { return each.name(); });
  if (former != volumes.end()) return continued(*former, settings, request);

  Source source{.is_block = request.volume_capabilities(0).has_block()};
  if (request.has_volume_content_source()) {
    DROVER_TRY(source, source_of(state, request.volume_content_source()));
    if (source.is_block != request.volume_capabilities(0).has_block())
      return invalid_argument("volume_content_source: is of the other access type");
  }
  DROVER_RETURN_IF_ERROR(check_place(settings, request.accessibility_requirements()));
  const Room room = room_of(state, settings, disk);
  DROVER_TRY(const int64_t size, size_of(request.capacity_range(), source.is_block, source.size));
  DROVER_RETURN_IF_ERROR(check_room(room, size, size));

  return added(state, settings, request, new_id, source, size);
}

void end_create(State& state, const std::string& id) {
  if (Volume* volume = find_any(state, id)) volume->set_stage(STAGE_READY);
}

Result<std::optional<Volume>> begin_delete(State& state, const Settings& settings, const std::string& id) {
  DROVER_RETURN_IF_ERROR(check_id(id, "volume_id"));
  Volume* volume = find_any(state, id);
  if (!volume) return std::optional<Volume>();
  if (volume->stage() == STAGE_MAKING) return aborted("the volume is still being made");
  DROVER_RETURN_IF_ERROR(check_use(state, *volume));
  volume->set_stage(STAGE_DELETING);
  volume->set_maker(settings.node_id);
  return std::optional<Volume>(*volume);
}

void end_delete(State& state, const std::string& id) {
  auto& volumes = *state.mutable_volumes();
  volumes.erase(std::remove_if(volumes.begin(), volumes.end(), [&](const Volume& each) { return each.id() == id; }),
                volumes.end());
}

Result<std::string> attach(State& state, const csi::v1::ControllerPublishVolumeRequest& request) {
  DROVER_RETURN_IF_ERROR(check_id(request.volume_id(), "volume_id"));
  DROVER_RETURN_IF_ERROR(check_id(request.node_id(), "node_id", 256));
  DROVER_TRY(const Capability capability, capability_of(request.volume_capability()));
  DROVER_RETURN_IF_ERROR(existing_volume(state, request.volume_id()).status());
  Volume& volume = *find_any(state, request.volume_id());
  const Node* node = find_node(state, request.node_id());
  if (!node) return not_found("there is no such node");
  if (capability.is_block() != volume.is_block())
    return invalid_argument("volume_capability: the volume has the other access type");
  for (const Attached& each : volume.attached()) {
    if (each.node_id() != request.node_id()) continue;
    if (each.read_only() == request.readonly() && is_same(each.capability(), capability)) return each.token();
    return already_exists("the volume is attached to that node with another capability");
  }
  DROVER_RETURN_IF_ERROR(check_others(volume, capability));
  if (node->max_volumes() > 0 && count_attached(state, node->id()) >= node->max_volumes())
    return resource_exhausted("the node has as many volumes as it may have");
  state.set_last_number(state.last_number() + 1);
  Attached& attached = *volume.add_attached();
  attached.set_node_id(request.node_id());
  *attached.mutable_capability() = capability;
  attached.set_read_only(request.readonly());
  attached.set_token("a" + std::to_string(state.last_number()));
  return attached.token();
}

Status detach(State& state, const csi::v1::ControllerUnpublishVolumeRequest& request) {
  DROVER_RETURN_IF_ERROR(check_id(request.volume_id(), "volume_id"));
  if (!request.node_id().empty()) {
    DROVER_RETURN_IF_ERROR(check_id(request.node_id(), "node_id", 256));
  }
  Volume* volume = find_any(state, request.volume_id());
  if (!volume) return {};  // surely detached
  auto& attached = *volume->mutable_attached();
  const auto is_meant = [&](const Attached& each) {
    return request.node_id().empty() || each.node_id() == request.node_id();
  };
  attached.erase(std::remove_if(attached.begin(), attached.end(), is_meant), attached.end());
  return {};
}

Result<csi::v1::ValidateVolumeCapabilitiesResponse> validate(
    const State& state, const csi::v1::ValidateVolumeCapabilitiesRequest& request) {
  DROVER_RETURN_IF_ERROR(check_id(request.volume_id(), "volume_id"));
  if (request.volume_capabilities().empty()) return invalid_argument("volume_capabilities is missing");
  DROVER_TRY(const Volume volume, existing_volume(state, request.volume_id()));
  csi::v1::ValidateVolumeCapabilitiesResponse response;
  if (const std::string why = denial(volume, request); !why.empty()) {
    response.set_message(why);
    return response;
  }
  *response.mutable_confirmed()->mutable_volume_capabilities() = request.volume_capabilities();
  *response.mutable_confirmed()->mutable_volume_context() = request.volume_context();
  *response.mutable_confirmed()->mutable_parameters() = request.parameters();
  return response;
}

csi::v1::Volume described(const Volume& volume) {
  csi::v1::Volume out;
  out.set_volume_id(volume.id());
  out.set_capacity_bytes(volume.capacity());
  (*out.mutable_volume_context())["kind"] = volume.is_block() ? "block-device" : "file-system";
  if (!volume.source_snapshot().empty())
    out.mutable_content_source()->mutable_snapshot()->set_snapshot_id(volume.source_snapshot());
  if (!volume.source_volume().empty())
    out.mutable_content_source()->mutable_volume()->set_volume_id(volume.source_volume());
  if (!volume.topology().empty()) *out.add_accessible_topology()->mutable_segments() = volume.topology();
  return out;
}

Result<csi::v1::ListVolumesResponse> list_volumes(const State& state, const csi::v1::ListVolumesRequest& request,
                                                  const Complaint& complaint) {
  DROVER_TRY(Page page, page_of(request.max_entries(), request.starting_token()));
  csi::v1::ListVolumesResponse response;
  for (const Volume& each : state.volumes()) {
    if (each.stage() != STAGE_READY || !page.takes(each.number())) continue;
    auto& entry = *response.add_entries();
    *entry.mutable_volume() = described(each);
    fill_status(each, complaint, *entry.mutable_status());
  }
  response.set_next_token(page.next_token());
  return response;
}

Result<csi::v1::ControllerGetVolumeResponse> get_volume(const State& state, const std::string& id,
                                                        const Complaint& complaint) {
  DROVER_RETURN_IF_ERROR(check_id(id, "volume_id"));
  DROVER_TRY(const Volume volume, existing_volume(state, id));
  csi::v1::ControllerGetVolumeResponse response;
  *response.mutable_volume() = described(volume);
  fill_status(volume, complaint, *response.mutable_status());
  return response;
}

Result<Volume> expanded(const State& state, const Settings& settings, const Room& disk,
                        const csi::v1::ControllerExpandVolumeRequest& request) {
  DROVER_RETURN_IF_ERROR(check_id(request.volume_id(), "volume_id"));
  if (!request.has_capacity_range()) return invalid_argument("capacity_range is missing");
  DROVER_RETURN_IF_ERROR(check_range(request.capacity_range()));
  DROVER_TRY(Volume volume, existing_volume(state, request.volume_id()));
  if (request.has_volume_capability()) {
    DROVER_TRY(const Capability capability, capability_of(request.volume_capability()));
    if (capability.is_block() != volume.is_block())
      return invalid_argument("volume_capability: the volume has the other access type");
  }
  DROVER_TRY(const int64_t size, size_of(request.capacity_range(), volume.is_block(), volume.capacity()));
  DROVER_RETURN_IF_ERROR(check_room(room_of(state, settings, disk), size, size - volume.capacity()));
  volume.set_capacity(size);
  return volume;
}

void set_capacity(State& state, const std::string& id, int64_t capacity) {
  if (Volume* volume = find_any(state, id)) volume->set_capacity(std::max(capacity, volume->capacity()));
}

bool is_in_use(const State& state, const std::string& id) {
  const Volume* volume = find_volume(state, id);
  return volume && !check_use(state, *volume).ok();
}

}  // namespace drover::hostpath
