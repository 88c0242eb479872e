// Volumes that grow.
#include "../trial.h"
#include "catalogue.h"

namespace drover::csi_kit {
namespace {

constexpr uint32_t kExpands = Check::create | Check::expand;

v1::ControllerExpandVolumeRequest growth(Trial& t, const std::string& volume, int64_t bytes) {
  v1::ControllerExpandVolumeRequest request;
  request.set_volume_id(volume);
  request.mutable_capacity_range()->set_required_bytes(bytes);
  *request.mutable_volume_capability() = t.capability();
  return request;
}

int64_t twice(Trial& t, const v1::Volume& volume) {
  return 2 * std::max(volume.capacity_bytes(), t.settings().capacity);
}

bool is_online(Trial& t) {
  const auto answer = t.ask(v1::GetPluginCapabilitiesRequest());
  if (!answer) return false;
  for (const auto& each : answer->capabilities()) {
    if (each.volume_expansion().type() == v1::PluginCapability::VolumeExpansion::ONLINE) return true;
  }
  return false;
}

const Check kChecks[] = {
    {"expansion.grows", "ControllerExpandVolume makes a volume larger", "capacity_bytes is required_bytes at least",
     kExpands,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       const int64_t wanted = twice(t, volume);
       DROVER_TRY(const auto answer, t.ask(growth(t, volume.volume_id(), wanted)));
       return expect(answer.capacity_bytes() >= wanted, "capacity_bytes is less than required_bytes");
     }},
    {"expansion.again", "a volume that is large enough already is no error", "ControllerExpandVolume may be repeated",
     kExpands,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       const auto request = growth(t, volume.volume_id(), twice(t, volume));
       DROVER_RETURN_IF_ERROR(t.done(request));
       return t.done(request);
     }},
    {"expansion.never-less", "ControllerExpandVolume never makes a volume smaller",
     "already large enough: OK, with the capacity that it has", kExpands,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       const int64_t wanted = twice(t, volume);
       DROVER_RETURN_IF_ERROR(t.done(growth(t, volume.volume_id(), wanted)));
       DROVER_TRY(const auto answer, t.ask(growth(t, volume.volume_id(), t.settings().capacity)));
       return expect(answer.capacity_bytes() >= wanted, "capacity_bytes is less than it was");
     }},
    {"expansion.impossible", "a range that cannot be is refused", "limit_bytes below required_bytes: OUT_OF_RANGE",
     kExpands,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       auto request = growth(t, volume.volume_id(), twice(t, volume));
       request.mutable_capacity_range()->set_limit_bytes(1);
       return t.ends(request, {Code::out_of_range, Code::invalid_argument});
     }},
    {"expansion.seen", "a larger volume is seen as larger", "ControllerGetVolume tells the capacity of now",
     kExpands | Check::get,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       const int64_t wanted = twice(t, volume);
       DROVER_RETURN_IF_ERROR(t.done(growth(t, volume.volume_id(), wanted)));
       v1::ControllerGetVolumeRequest request;
       request.set_volume_id(volume.volume_id());
       DROVER_TRY(const auto answer, t.ask(request));
       const int64_t now = answer.volume().capacity_bytes();
       return expect(now == 0 || now >= wanted, "capacity_bytes is the one of before");
     }},
    {"expansion.on-node", "NodeExpandVolume grows a volume in use",
     "after ControllerExpandVolume, where node_expansion_required says so",
     kExpands | Check::node_expand | Check::mounts,
     [](Trial& t) -> Status {
       if (!is_online(t)) return t.inapplicable("the plugin does not say that it expands ONLINE");
       DROVER_TRY(const Place place, t.staged());
       DROVER_TRY(const std::string target, t.published(place));
       const int64_t wanted = twice(t, place.volume);
       DROVER_RETURN_IF_ERROR(t.done(growth(t, place.volume.volume_id(), wanted)));
       v1::NodeExpandVolumeRequest request;
       request.set_volume_id(place.volume.volume_id());
       request.set_volume_path(target);
       request.set_staging_target_path(place.staging);
       *request.mutable_volume_capability() = place.capability;
       request.mutable_capacity_range()->set_required_bytes(wanted);
       DROVER_TRY(const auto first, t.ask(request));
       DROVER_RETURN_IF_ERROR(t.done(request).with_context("the second time"));
       return expect(first.capacity_bytes() == 0 || first.capacity_bytes() >= wanted, "capacity_bytes is less");
     }},
};

}  // namespace

std::span<const Check> expansion_checks() { return kChecks; }

}  // namespace drover::csi_kit
