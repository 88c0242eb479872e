// The controller: its capabilities, its room, and volumes from their making to their end.
#include <google/protobuf/util/message_differencer.h>

#include "../trial.h"
#include "catalogue.h"

namespace drover::csi_kit {
namespace {

using google::protobuf::util::MessageDifferencer;

size_t size_of(const Texts& texts) {
  size_t bytes = 0;
  for (const auto& [key, value] : texts) bytes += key.size() + value.size();
  return bytes;
}

v1::ValidateVolumeCapabilitiesRequest validation(Trial& t, const std::string& volume) {
  v1::ValidateVolumeCapabilitiesRequest request;
  request.set_volume_id(volume);
  *request.add_volume_capabilities() = t.capability();
  return request;
}

const Check kController[] = {
    {"controller.capabilities", "ControllerGetCapabilities lists each capability once",
     "a capability has a type; UNKNOWN is none", Check::controller,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto answer, t.ask(v1::ControllerGetCapabilitiesRequest()));
       return contract::capabilities(answer);
     }},
    {"controller.same-capabilities", "ControllerGetCapabilities says the same again",
     "the capabilities of a service do not change while it runs", Check::controller,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto first, t.ask(v1::ControllerGetCapabilitiesRequest()));
       DROVER_TRY(const auto second, t.ask(v1::ControllerGetCapabilitiesRequest()));
       return expect(MessageDifferencer::Equals(first, second), "the second answer is another one");
     }},
    {"controller.consistent", "a capability that rests on another one comes with it",
     "PUBLISH_READONLY and LIST_VOLUMES_PUBLISHED_NODES mean nothing without PUBLISH_UNPUBLISH_VOLUME",
     Check::controller,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto answer, t.ask(v1::ControllerGetCapabilitiesRequest()));
       return contract::consistent(answer);
     }},
    {"controller.room", "GetCapacity tells how much there is", "available_capacity is required, and in bytes",
     Check::capacity,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto answer, t.ask(v1::GetCapacityRequest()));
       return contract::room(answer);
     }},
    {"controller.room-for", "GetCapacity tells how much there is for such volumes",
     "it takes capabilities and parameters as CreateVolume does", Check::capacity,
     [](Trial& t) -> Status {
       v1::GetCapacityRequest request;
       *request.add_volume_capabilities() = t.capability();
       request.mutable_parameters()->insert(t.settings().parameters.begin(), t.settings().parameters.end());
       DROVER_TRY(const auto answer, t.ask(request));
       return contract::room(answer);
     }},
    {"controller.no-modify", "ControllerModifyVolume is not there without MODIFY_VOLUME",
     "a method without its capability answers UNIMPLEMENTED", Check::controller | Check::no_modify,
     [](Trial& t) -> Status {
       v1::ControllerModifyVolumeRequest request;
       request.set_volume_id(Trial::new_name());
       (*request.mutable_mutable_parameters())["a"] = "b";
       return t.ends(request, {Code::unimplemented});
     }},
    {"controller.no-groups", "CreateVolumeGroupSnapshot is not there without GROUP_CONTROLLER_SERVICE",
     "a service that a plugin does not say it has answers UNIMPLEMENTED", Check::controller | Check::no_groups,
     [](Trial& t) -> Status {
       v1::CreateVolumeGroupSnapshotRequest request;
       request.set_name(Trial::new_name());
       request.add_source_volume_ids(Trial::new_name());
       return t.ends(request, {Code::unimplemented});
     }},

    {"volumes.create", "CreateVolume makes a volume with an identifier", "volume_id is required, at most 128 bytes",
     Check::create,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       return contract::identifier(volume.volume_id(), "volume_id");
     }},
    {"volumes.capacity", "a volume is as large as is required", "capacity_bytes is 0, or required_bytes at least",
     Check::create,
     [](Trial& t) -> Status {
       const auto request = t.creation();
       DROVER_TRY(const auto volume, t.make(request));
       return contract::capacity(request, volume);
     }},
    {"volumes.limit", "a volume is no larger than its limit", "capacity_bytes is 0, or limit_bytes at most",
     Check::create,
     [](Trial& t) -> Status {
       auto request = t.creation();
       request.mutable_capacity_range()->set_limit_bytes(2 * t.settings().capacity);
       const auto volume = t.make(request);
       if (volume.status().code() == Code::out_of_range) return t.inapplicable("its volumes are larger; see -capacity");
       DROVER_RETURN_IF_ERROR(volume.status());
       return contract::capacity(request, *volume);
     }},
    {"volumes.no-demand", "a volume without a capacity_range has the plugin's usual size", "capacity_range is optional",
     Check::create,
     [](Trial& t) -> Status {
       auto request = t.creation();
       request.clear_capacity_range();
       DROVER_TRY(const auto volume, t.make(request));
       return contract::identifier(volume.volume_id(), "volume_id");
     }},
    {"volumes.context-size", "a volume's context is small", "a map has 4 KiB at most", Check::create,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       return contract::context_size(size_of(volume.volume_context()), "volume_context");
     }},
    {"volumes.places", "a volume tells where it can be reached",
     "with VOLUME_ACCESSIBILITY_CONSTRAINTS a volume has an accessible_topology", Check::create | Check::places,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       return contract::places(volume);
     }},
    {"volumes.long-name", "a name may have 128 bytes", "a string has 128 bytes at most, unless said otherwise",
     Check::create,
     [](Trial& t) -> Status {
       auto request = t.creation();
       request.set_name(request.name() + std::string(128 - request.name().size(), 'x'));
       return t.done(request);
     }},
    {"volumes.unicode-name", "a name may have any letters", "a name is Unicode without control characters",
     Check::create,
     [](Trial& t) -> Status {
       auto request = t.creation();
       request.set_name(request.name() + " Größe/数据 ☃");
       return t.done(request);
     }},
    {"volumes.two-names", "two names are two volumes", "a volume's identifier is unique within the plugin",
     Check::create,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto first, t.make(t.creation()));
       DROVER_TRY(const auto second, t.make(t.creation()));
       return expect(first.volume_id() != second.volume_id(), "both have the same volume_id");
     }},
    {"volumes.validate", "ValidateVolumeCapabilities confirms what the volume was made for",
     "`confirmed` is present and holds what was asked; OK alone confirms nothing", Check::controller | Check::volume,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       const auto request = validation(t, volume.volume_id());
       DROVER_TRY(const auto answer, t.ask(request));
       return contract::confirmed(request, answer);
     }},
    {"volumes.validate-context", "ValidateVolumeCapabilities knows the volume's context",
     "volume_context goes unchanged into every later call", Check::controller | Check::volume,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       auto request = validation(t, volume.volume_id());
       *request.mutable_volume_context() = volume.volume_context();
       request.mutable_parameters()->insert(t.settings().parameters.begin(), t.settings().parameters.end());
       DROVER_TRY(const auto answer, t.ask(request));
       return contract::confirmed(request, answer);
     }},
    {"volumes.get", "ControllerGetVolume tells of the same volume", "volume and status are required",
     Check::create | Check::get,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       v1::ControllerGetVolumeRequest request;
       request.set_volume_id(volume.volume_id());
       DROVER_TRY(const auto answer, t.ask(request));
       DROVER_RETURN_IF_ERROR(expect(answer.has_status(), "status is missing"));
       return expect(answer.volume().volume_id() == volume.volume_id(), "volume_id is another one");
     }},
    {"volumes.deleted", "a deleted volume is gone", "a volume that was deleted is not found", Check::create,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       DROVER_RETURN_IF_ERROR(t.done(Trial::deletion(volume.volume_id())));
       return t.ends(validation(t, volume.volume_id()), {Code::not_found});
     }},
    {"volumes.name-again", "the name of a deleted volume is free", "a name counts among the volumes that exist",
     Check::create,
     [](Trial& t) -> Status {
       const auto request = t.creation();
       DROVER_TRY(const auto first, t.make(request));
       DROVER_RETURN_IF_ERROR(t.done(Trial::deletion(first.volume_id())));
       return t.done(request);
     }},
};

}  // namespace

std::span<const Check> controller_checks() { return kController; }

}  // namespace drover::csi_kit
