#include "drover/model/host_volume.h"

#include <algorithm>
#include <array>

#include "drover/model/csi_volume.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover {
namespace {

constexpr std::string_view kReaderOnly = "single-node-reader-only";
constexpr std::string_view kWriter = "single-node-writer";
constexpr std::string_view kSoleWriter = "single-node-single-writer";
constexpr std::string_view kManyWriters = "single-node-multi-writer";

// A job that says no mode means the usual one: it is not known before the placement whether its volume has modes.
std::string_view access_mode_of(const v1::VolumeRequest& request) {
  if (!request.access_mode().empty()) return request.access_mode();
  return request.read_only() ? kReaderOnly : kWriter;
}

std::string_view attachment_mode_of(const v1::VolumeRequest& request) {
  return request.attachment_mode().empty() ? std::string_view("file-system") : request.attachment_mode();
}

}  // namespace

const v1::HostVolume* offered_host_volume(const v1::DynamicHostVolume& volume, const v1::Node& node) {
  const auto at = node.host_volumes().find(volume.name());
  return at != node.host_volumes().end() && at->second.id() == volume.id() ? &at->second : nullptr;
}

HostVolumeState host_volume_state(const v1::DynamicHostVolume& volume, const v1::Node* node) {
  if (volume.step() == v1::HOST_VOLUME_STEP_DELETING) return HostVolumeState::deleted;
  if (!node) return HostVolumeState::unavailable;
  if (volume.step() != v1::HOST_VOLUME_STEP_MADE) return HostVolumeState::pending;
  if (offered_host_volume(volume, *node)) {
    return node->status() == v1::NODE_STATUS_READY ? HostVolumeState::ready : HostVolumeState::unavailable;
  }
  return node->modify_index() <= volume.step_index() ? HostVolumeState::pending : HostVolumeState::unavailable;
}

std::string_view host_volume_state_text(HostVolumeState state) {
  switch (state) {
    case HostVolumeState::pending:
      return "pending";
    case HostVolumeState::ready:
      return "ready";
    case HostVolumeState::unavailable:
      return "unavailable";
    case HostVolumeState::deleted:
      return "deleted";
  }
  return "";
}

HostVolumeFit host_volume_fit(const v1::DynamicHostVolume& volume, const v1::VolumeRequest& request) {
  const std::string_view access = access_mode_of(request), attachment = attachment_mode_of(request);
  const bool is_meant = std::ranges::any_of(volume.requested_capabilities(), [&](const v1::CsiVolumeCapability& each) {
    return each.access_mode() == access && each.attachment_mode() == attachment;
  });
  if (!is_meant) return HostVolumeFit::wrong_capability;
  if (access == kReaderOnly && !request.read_only()) return HostVolumeFit::read_only;
  if (access == kWriter && request.read_only()) return HostVolumeFit::writes_only;
  return HostVolumeFit::fits;
}

bool is_sole_writer(const v1::VolumeRequest& request) {
  return access_mode_of(request) == kSoleWriter && !request.read_only();
}

std::optional<HostVolumeUse> host_volume_use(const v1::TaskGroup& group, std::string_view alloc_name,
                                             std::string_view volume_name) {
  std::optional<HostVolumeUse> use;
  for (const auto& [name, request] : group.volumes()) {
    if (request.type() != "host" || csi_volume_id(request, alloc_name) != volume_name) continue;
    if (!use) use.emplace();
    use->writes = use->writes || !request.read_only();
    use->is_sole = use->is_sole || is_sole_writer(request);
  }
  return use;
}

bool is_host_access_mode(std::string_view word) {
  constexpr std::array<std::string_view, 4> kWords = {kReaderOnly, kWriter, kSoleWriter, kManyWriters};
  return std::ranges::find(kWords, word) != kWords.end();
}

}  // namespace drover
