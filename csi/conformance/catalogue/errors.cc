// Requests that cannot be met, and the codes that tell a host what to do about it.
#include <limits>

#include "../trial.h"
#include "catalogue.h"

namespace drover::csi_kit {
namespace {

constexpr const char* kRequired = "a required field is missing: INVALID_ARGUMENT";
constexpr uint32_t kAttaches = Check::attach | Check::volume;
constexpr uint32_t kStages = Check::stage | Check::volume | Check::mounts;
constexpr uint32_t kPublishes = Check::node | Check::volume | Check::mounts;

// Each of these spoils a good request.
template <auto kSpoil>
Status create_lacks(Trial& t) {
  auto request = t.creation();
  kSpoil(request);
  return t.ends(request, {Code::invalid_argument});
}

template <auto kSpoil>
Status attach_lacks(Trial& t) {
  DROVER_TRY(const auto volume, t.volume());
  auto request = t.attachment(volume, t.capability());
  kSpoil(request);
  return t.ends(request, {Code::invalid_argument});
}

template <auto kSpoil>
Status stage_lacks(Trial& t) {
  DROVER_TRY(const auto volume, t.volume());
  DROVER_TRY(Place place, t.attached(volume, t.capability()));
  DROVER_TRY(place.staging, t.new_folder());
  auto request = t.staging(place);
  kSpoil(request);
  return t.ends(request, {Code::invalid_argument});
}

template <auto kSpoil>
Status publish_lacks(Trial& t) {
  DROVER_TRY(const Place place, t.staged());
  auto request = t.publication(place, t.new_target());
  kSpoil(request);
  return t.ends(request, {Code::invalid_argument});
}

template <typename Request, auto kFill>
Status lacks(Trial& t) {
  Request request;
  kFill(t, request);
  return t.ends(request, {Code::invalid_argument});
}

template <typename Request, auto kFill>
Status is_not_found(Trial& t) {
  Request request;
  kFill(t, request);
  return t.ends(request, {Code::not_found});
}

constexpr auto kNothing = [](Trial&, auto&) {};
constexpr auto kUnknownVolume = [](Trial&, auto& request) { request.set_volume_id(Trial::new_name()); };

const Check kRequests[] = {
    {"errors.create-name", "CreateVolume without a name is refused", kRequired, Check::create,
     create_lacks<[](auto& request) { request.clear_name(); }>},
    {"errors.create-capabilities", "CreateVolume without capabilities is refused", kRequired, Check::create,
     create_lacks<[](auto& request) { request.clear_volume_capabilities(); }>},
    {"errors.create-mode", "CreateVolume without an access mode is refused", kRequired, Check::create,
     create_lacks<[](auto& request) { request.mutable_volume_capabilities(0)->clear_access_mode(); }>},
    {"errors.create-type", "CreateVolume without an access type is refused", kRequired, Check::create,
     create_lacks<[](auto& request) { request.mutable_volume_capabilities(0)->clear_access_type(); }>},
    {"errors.delete-id", "DeleteVolume without a volume is refused", kRequired, Check::create,
     lacks<v1::DeleteVolumeRequest, kNothing>},
    {"errors.validate-id", "ValidateVolumeCapabilities without a volume is refused", kRequired, Check::controller,
     lacks<v1::ValidateVolumeCapabilitiesRequest,
           [](Trial& t, auto& request) { *request.add_volume_capabilities() = t.capability(); }>},
    {"errors.validate-capabilities", "ValidateVolumeCapabilities without capabilities is refused", kRequired,
     Check::controller | Check::volume,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       v1::ValidateVolumeCapabilitiesRequest request;
       request.set_volume_id(volume.volume_id());
       return t.ends(request, {Code::invalid_argument});
     }},
    {"errors.attach-id", "ControllerPublishVolume without a volume is refused", kRequired, kAttaches,
     attach_lacks<[](auto& request) { request.clear_volume_id(); }>},
    {"errors.attach-node", "ControllerPublishVolume without a node is refused", kRequired, kAttaches,
     attach_lacks<[](auto& request) { request.clear_node_id(); }>},
    {"errors.attach-capability", "ControllerPublishVolume without a capability is refused", kRequired, kAttaches,
     attach_lacks<[](auto& request) { request.clear_volume_capability(); }>},
    {"errors.detach-id", "ControllerUnpublishVolume without a volume is refused", kRequired, Check::attach,
     lacks<v1::ControllerUnpublishVolumeRequest, kNothing>},
    {"errors.snapshot-name", "CreateSnapshot without a name is refused", kRequired, Check::create | Check::snapshots,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       auto request = t.snapshot_of(volume.volume_id());
       request.clear_name();
       return t.ends(request, {Code::invalid_argument});
     }},
    {"errors.snapshot-source", "CreateSnapshot without a volume is refused", kRequired, Check::snapshots,
     [](Trial& t) { return t.ends(t.snapshot_of(""), {Code::invalid_argument}); }},
    {"errors.delete-snapshot-id", "DeleteSnapshot without a snapshot is refused", kRequired, Check::snapshots,
     lacks<v1::DeleteSnapshotRequest, kNothing>},
    {"errors.expand-id", "ControllerExpandVolume without a volume is refused", kRequired, Check::expand,
     lacks<v1::ControllerExpandVolumeRequest,
           [](Trial&, auto& request) { request.mutable_capacity_range()->set_required_bytes(1 << 20); }>},
    {"errors.expand-range", "ControllerExpandVolume without a range is refused", kRequired,
     Check::create | Check::expand,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       v1::ControllerExpandVolumeRequest request;
       request.set_volume_id(volume.volume_id());
       return t.ends(request, {Code::invalid_argument});
     }},
    {"errors.get-id", "ControllerGetVolume without a volume is refused", kRequired, Check::get,
     lacks<v1::ControllerGetVolumeRequest, kNothing>},
    {"errors.stage-id", "NodeStageVolume without a volume is refused", kRequired, kStages,
     stage_lacks<[](auto& request) { request.clear_volume_id(); }>},
    {"errors.stage-path", "NodeStageVolume without a path is refused", kRequired, kStages,
     stage_lacks<[](auto& request) { request.clear_staging_target_path(); }>},
    {"errors.stage-capability", "NodeStageVolume without a capability is refused", kRequired, kStages,
     stage_lacks<[](auto& request) { request.clear_volume_capability(); }>},
    {"errors.unstage-id", "NodeUnstageVolume without a volume is refused", kRequired, Check::stage,
     lacks<v1::NodeUnstageVolumeRequest,
           [](Trial& t, auto& request) { request.set_staging_target_path(t.new_target()); }>},
    {"errors.unstage-path", "NodeUnstageVolume without a path is refused", kRequired, Check::stage,
     lacks<v1::NodeUnstageVolumeRequest, kUnknownVolume>},
    {"errors.publish-id", "NodePublishVolume without a volume is refused", kRequired, kPublishes,
     publish_lacks<[](auto& request) { request.clear_volume_id(); }>},
    {"errors.publish-target", "NodePublishVolume without a target is refused", kRequired, kPublishes,
     publish_lacks<[](auto& request) { request.clear_target_path(); }>},
    {"errors.publish-capability", "NodePublishVolume without a capability is refused", kRequired, kPublishes,
     publish_lacks<[](auto& request) { request.clear_volume_capability(); }>},
    {"errors.unpublish-id", "NodeUnpublishVolume without a volume is refused", kRequired, Check::node,
     lacks<v1::NodeUnpublishVolumeRequest, [](Trial& t, auto& request) { request.set_target_path(t.new_target()); }>},
    {"errors.unpublish-target", "NodeUnpublishVolume without a target is refused", kRequired, Check::node,
     lacks<v1::NodeUnpublishVolumeRequest, kUnknownVolume>},
    {"errors.stats-id", "NodeGetVolumeStats without a volume is refused", kRequired, Check::stats,
     lacks<v1::NodeGetVolumeStatsRequest, [](Trial& t, auto& request) { request.set_volume_path(t.new_target()); }>},
    {"errors.stats-path", "NodeGetVolumeStats without a path is refused", kRequired, Check::stats,
     lacks<v1::NodeGetVolumeStatsRequest, kUnknownVolume>},
};

constexpr const char* kUnknown = "an unknown volume, node, snapshot or source: NOT_FOUND";

const Check kUnknowns[] = {
    {"errors.validate-unknown", "ValidateVolumeCapabilities of an unknown volume says so", kUnknown, Check::controller,
     is_not_found<v1::ValidateVolumeCapabilitiesRequest,
                  [](Trial& t, auto& request) {
                    request.set_volume_id(Trial::new_name());
                    *request.add_volume_capabilities() = t.capability();
                  }>},
    {"errors.attach-unknown", "ControllerPublishVolume of an unknown volume says so", kUnknown, Check::attach,
     [](Trial& t) -> Status {
       v1::Volume unknown;
       unknown.set_volume_id(Trial::new_name());
       return t.ends(t.attachment(unknown, t.capability()), {Code::not_found});
     }},
    {"errors.attach-unknown-node", "ControllerPublishVolume to an unknown node says so", kUnknown, kAttaches,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       auto request = t.attachment(volume, t.capability());
       request.set_node_id(Trial::new_name());
       return t.ends(request, {Code::not_found});
     }},
    {"errors.snapshot-unknown", "CreateSnapshot of an unknown volume says so", kUnknown, Check::snapshots,
     [](Trial& t) { return t.ends(t.snapshot_of(Trial::new_name()), {Code::not_found}); }},
    {"errors.get-unknown", "ControllerGetVolume of an unknown volume says so", kUnknown, Check::get,
     is_not_found<v1::ControllerGetVolumeRequest, kUnknownVolume>},
    {"errors.get-snapshot-unknown", "GetSnapshot of an unknown snapshot says so", kUnknown, Check::get_snapshot,
     is_not_found<v1::GetSnapshotRequest, [](Trial&, auto& request) { request.set_snapshot_id(Trial::new_name()); }>},
    {"errors.expand-unknown", "ControllerExpandVolume of an unknown volume says so", kUnknown, Check::expand,
     is_not_found<v1::ControllerExpandVolumeRequest,
                  [](Trial& t, auto& request) {
                    request.set_volume_id(Trial::new_name());
                    request.mutable_capacity_range()->set_required_bytes(t.settings().capacity);
                  }>},
    {"errors.restore-unknown", "CreateVolume of an unknown snapshot says so", kUnknown,
     Check::create | Check::snapshots,
     [](Trial& t) -> Status {
       auto request = t.creation();
       request.mutable_volume_content_source()->mutable_snapshot()->set_snapshot_id(Trial::new_name());
       return t.ends(request, {Code::not_found});
     }},
    {"errors.clone-unknown", "CreateVolume of an unknown volume says so", kUnknown, Check::create | Check::clone,
     [](Trial& t) -> Status {
       auto request = t.creation();
       request.mutable_volume_content_source()->mutable_volume()->set_volume_id(Trial::new_name());
       return t.ends(request, {Code::not_found});
     }},
    {"errors.create-range", "CreateVolume with a limit below what is required is refused",
     "a capacity range that cannot be: OUT_OF_RANGE", Check::create,
     [](Trial& t) -> Status {
       auto request = t.creation();
       request.mutable_capacity_range()->set_limit_bytes(1);
       return t.ends(request, {Code::out_of_range, Code::invalid_argument});
     }},
    {"errors.create-too-large", "CreateVolume of more than there can be is refused",
     "a capacity range that cannot be met: OUT_OF_RANGE, or RESOURCE_EXHAUSTED", Check::create,
     [](Trial& t) -> Status {
       auto request = t.creation();
       request.mutable_capacity_range()->set_required_bytes(std::numeric_limits<int64_t>::max());
       return t.ends(request, {Code::out_of_range, Code::resource_exhausted});
     }},
};

std::vector<Check> joined() {
  std::vector<Check> all(std::begin(kRequests), std::end(kRequests));
  all.insert(all.end(), std::begin(kUnknowns), std::end(kUnknowns));
  return all;
}

}  // namespace

std::span<const Check> error_checks() {
  static const std::vector<Check> all = joined();
  return all;
}

}  // namespace drover::csi_kit
