// Calls that are made again: a host repeats whatever may have happened.
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>

#include "../trial.h"
#include "catalogue.h"

namespace drover::csi_kit {
namespace {

using google::protobuf::util::MessageDifferencer;

constexpr uint32_t kAttaches = Check::attach | Check::volume;
constexpr uint32_t kStages = Check::stage | Check::volume | Check::mounts;
constexpr uint32_t kSnapshots = Check::create | Check::snapshots;

const Check kChecks[] = {
    {"idempotency.create", "CreateVolume of the same name again gives the same volume",
     "same name, compatible request: OK with the same volume", Check::create,
     [](Trial& t) -> Status {
       const auto request = t.creation();
       DROVER_TRY(const auto first, t.make(request));
       DROVER_TRY(const auto second, t.make(request));
       return expect(first.volume_id() == second.volume_id(), "volume_id is another one the second time");
     }},
    {"idempotency.create-otherwise", "CreateVolume of the same name, and of another size, is refused",
     "same name, incompatible request: ALREADY_EXISTS", Check::create,
     [](Trial& t) -> Status {
       auto request = t.creation();
       DROVER_TRY(const auto first, t.make(request));
       const int64_t more = 2 * std::max(first.capacity_bytes(), t.settings().capacity);
       request.mutable_capacity_range()->set_required_bytes(more);
       return t.ends(request, {Code::already_exists});
     }},
    {"idempotency.delete", "DeleteVolume again is no error", "a volume that is gone: OK", Check::create,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       DROVER_RETURN_IF_ERROR(t.done(Trial::deletion(volume.volume_id())));
       return t.done(Trial::deletion(volume.volume_id()));
     }},
    {"idempotency.delete-unknown", "DeleteVolume of a volume that never was is no error", "unknown volume_id: OK",
     Check::create, [](Trial& t) { return t.done(Trial::deletion(Trial::new_name())); }},
    {"idempotency.attach", "ControllerPublishVolume again gives the same context", "same node, compatible: OK",
     kAttaches,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       DROVER_TRY(const auto first, t.ask(t.attachment(volume, t.capability())));
       DROVER_TRY(const auto second, t.ask(t.attachment(volume, t.capability())));
       return expect(MessageDifferencer::Equals(first, second), "publish_context is another one the second time");
     }},
    {"idempotency.attach-otherwise", "ControllerPublishVolume again, but read-only, is refused",
     "same node, other capability or readonly: ALREADY_EXISTS", kAttaches | Check::read_only,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       auto request = t.attachment(volume, t.capability());
       DROVER_RETURN_IF_ERROR(t.done(request));
       request.set_readonly(true);
       return t.ends(request, {Code::already_exists});
     }},
    {"idempotency.detach", "ControllerUnpublishVolume again is no error", "not attached: OK", kAttaches,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       DROVER_RETURN_IF_ERROR(t.attached(volume, t.capability()).status());
       DROVER_RETURN_IF_ERROR(t.done(t.detachment(volume.volume_id())));
       return t.done(t.detachment(volume.volume_id()));
     }},
    {"idempotency.detach-unknown", "ControllerUnpublishVolume of an unknown volume ends",
     "unknown and surely detached: OK, else NOT_FOUND", Check::attach,
     [](Trial& t) {
       return t.ends(t.detachment(Trial::new_name()), {Code::ok, Code::not_found});
     }},
    {"idempotency.stage", "NodeStageVolume again is no error", "same path, same capability: OK", kStages,
     [](Trial& t) -> Status {
       DROVER_TRY(const Place place, t.staged());
       return t.done(t.staging(place));
     }},
    {"idempotency.stage-otherwise", "NodeStageVolume again for another access mode is refused",
     "same path, other capability: ALREADY_EXISTS", kStages,
     [](Trial& t) -> Status {
       DROVER_TRY(Place place, t.staged());
       const auto mode = place.capability.access_mode().mode();
       place.capability =
           t.capability(mode == AccessMode::SINGLE_NODE_READER_ONLY ? AccessMode::SINGLE_NODE_WRITER
                                                                    : AccessMode::SINGLE_NODE_READER_ONLY);
       return t.ends(t.staging(place), {Code::already_exists});
     }},
    {"idempotency.unstage", "NodeUnstageVolume again is no error", "nothing staged there: OK", kStages,
     [](Trial& t) -> Status {
       DROVER_TRY(const Place place, t.staged());
       DROVER_RETURN_IF_ERROR(t.done(t.unstaging(place)));
       return t.done(t.unstaging(place));
     }},
    {"idempotency.unstage-never", "NodeUnstageVolume of what was never staged is no error", "nothing staged there: OK",
     kStages,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       Place place{.volume = volume, .capability = {}, .publish_context = {}, .staging = {}};
       DROVER_TRY(place.staging, t.new_folder());
       return t.done(t.unstaging(place));
     }},
    {"idempotency.unpublish", "NodeUnpublishVolume again is no error", "nothing published there: OK",
     Check::node | Check::volume | Check::mounts,
     [](Trial& t) -> Status {
       DROVER_TRY(const Place place, t.staged());
       DROVER_TRY(const std::string target, t.published(place));
       DROVER_RETURN_IF_ERROR(t.done(Trial::unpublication(place.volume.volume_id(), target)));
       return t.done(Trial::unpublication(place.volume.volume_id(), target));
     }},
    {"idempotency.unpublish-never", "NodeUnpublishVolume of what was never published is no error",
     "nothing published there: OK", Check::node | Check::volume | Check::mounts,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       return t.done(Trial::unpublication(volume.volume_id(), t.new_target()));
     }},
    {"idempotency.snapshot", "CreateSnapshot of the same name again gives the same snapshot",
     "same name and source: OK, also to learn whether it is ready", kSnapshots,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       const auto request = t.snapshot_of(volume.volume_id());
       DROVER_TRY(const auto first, t.snapshot(request));
       DROVER_TRY(const auto second, t.snapshot(request));
       return expect(first.snapshot_id() == second.snapshot_id(), "snapshot_id is another one the second time");
     }},
    {"idempotency.snapshot-otherwise", "CreateSnapshot of the same name and another volume is refused",
     "same name, other source: ALREADY_EXISTS", kSnapshots,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto one, t.make(t.creation()));
       DROVER_TRY(const auto two, t.make(t.creation()));
       auto request = t.snapshot_of(one.volume_id());
       DROVER_RETURN_IF_ERROR(t.snapshot(request).status());
       request.set_source_volume_id(two.volume_id());
       return t.ends(request, {Code::already_exists});
     }},
    {"idempotency.delete-snapshot", "DeleteSnapshot again is no error", "a snapshot that is gone: OK", kSnapshots,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       DROVER_TRY(const auto snapshot, t.snapshot(t.snapshot_of(volume.volume_id())));
       DROVER_RETURN_IF_ERROR(t.done(Trial::snapshot_deletion(snapshot.snapshot_id())));
       return t.done(Trial::snapshot_deletion(snapshot.snapshot_id()));
     }},
    {"idempotency.delete-snapshot-unknown", "DeleteSnapshot of one that never was is no error",
     "unknown snapshot_id: OK", kSnapshots,
     [](Trial& t) { return t.done(Trial::snapshot_deletion(Trial::new_name())); }},
};

}  // namespace

std::span<const Check> idempotency_checks() { return kChecks; }

}  // namespace drover::csi_kit
