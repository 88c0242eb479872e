// Snapshots, and volumes made of them and of other volumes.
#include <algorithm>

#include "../trial.h"
#include "catalogue.h"

namespace drover::csi_kit {
namespace {

constexpr uint32_t kSnapshots = Check::create | Check::snapshots;
constexpr uint32_t kLists = kSnapshots | Check::list_snapshots;

struct Cut {
  v1::Volume volume;
  v1::CreateSnapshotRequest request;
  v1::Snapshot snapshot;
};

Result<Cut> cut(Trial& t) {
  Cut out;
  DROVER_TRY(out.volume, t.make(t.creation()));
  out.request = t.snapshot_of(out.volume.volume_id());
  DROVER_TRY(out.snapshot, t.snapshot(out.request));
  return out;
}

v1::CreateVolumeRequest restoration(Trial& t, const std::string& snapshot) {
  auto request = t.creation();
  request.mutable_volume_content_source()->mutable_snapshot()->set_snapshot_id(snapshot);
  return request;
}

v1::CreateVolumeRequest cloning(Trial& t, const std::string& volume) {
  auto request = t.creation();
  request.mutable_volume_content_source()->mutable_volume()->set_volume_id(volume);
  return request;
}

// The identifiers of a list.
Result<std::vector<std::string>> listed(Trial& t, const v1::ListSnapshotsRequest& request) {
  DROVER_TRY(const auto entries, t.entries(request));
  std::vector<std::string> ids;
  for (const auto& each : entries) ids.push_back(each.snapshot().snapshot_id());
  return ids;
}

Result<std::vector<std::string>> listed_by_id(Trial& t, const std::string& id) {
  v1::ListSnapshotsRequest request;
  request.set_snapshot_id(id);
  return listed(t, request);
}

constexpr const char* kText = "what was there before";

// A volume with content, which nobody uses any more.
Result<v1::Volume> filled(Trial& t) {
  DROVER_TRY(const auto volume, t.make(t.creation()));
  DROVER_TRY(const Place place, t.staged(volume, t.capability()));
  DROVER_TRY(const std::string target, t.published(place));
  DROVER_RETURN_IF_ERROR(write_content(target, t.settings().is_block(), kText));
  DROVER_RETURN_IF_ERROR(t.done(Trial::unpublication(volume.volume_id(), target)));
  if (t.stages()) DROVER_RETURN_IF_ERROR(t.done(t.unstaging(place)));
  if (t.attaches()) DROVER_RETURN_IF_ERROR(t.done(t.detachment(volume.volume_id())));
  return volume;
}

Status expect_content(Trial& t, const v1::Volume& volume) {
  DROVER_TRY(const Place place, t.staged(volume, t.capability()));
  DROVER_TRY(const std::string target, t.published(place));
  DROVER_TRY(const std::string text, read_content(target, t.settings().is_block()));
  return expect(text == kText, "the content is another one");
}

const Check kChecks[] = {
    {"snapshots.create", "CreateSnapshot cuts a snapshot",
     "snapshot_id, source_volume_id and creation_time are required", kSnapshots,
     [](Trial& t) -> Status {
       DROVER_TRY(const Cut made, cut(t));
       return contract::snapshot(made.request, made.snapshot);
     }},
    {"snapshots.two-names", "two names are two snapshots", "a snapshot's identifier is unique within the plugin",
     kSnapshots,
     [](Trial& t) -> Status {
       DROVER_TRY(const Cut made, cut(t));
       DROVER_TRY(const auto second, t.snapshot(t.snapshot_of(made.volume.volume_id())));
       return expect(second.snapshot_id() != made.snapshot.snapshot_id(), "both have the same snapshot_id");
     }},
    {"snapshots.by-id", "ListSnapshots finds a snapshot by its identifier", "snapshot_id: that one alone", kLists,
     [](Trial& t) -> Status {
       DROVER_TRY(const Cut made, cut(t));
       DROVER_RETURN_IF_ERROR(t.snapshot(t.snapshot_of(made.volume.volume_id())).status());
       DROVER_TRY(const auto ids, listed_by_id(t, made.snapshot.snapshot_id()));
       return expect(ids == std::vector{made.snapshot.snapshot_id()},
                     "the list has " + std::to_string(ids.size()) + " entries, or another one");
     }},
    {"snapshots.by-source", "ListSnapshots finds a volume's snapshots", "source_volume_id: those of that volume alone",
     kLists,
     [](Trial& t) -> Status {
       DROVER_TRY(const Cut made, cut(t));
       DROVER_RETURN_IF_ERROR(cut(t).status());
       v1::ListSnapshotsRequest request;
       request.set_source_volume_id(made.volume.volume_id());
       DROVER_TRY(const auto ids, listed(t, request));
       return expect(ids == std::vector{made.snapshot.snapshot_id()},
                     "the list has " + std::to_string(ids.size()) + " entries, or another one");
     }},
    {"snapshots.none", "ListSnapshots of an unknown identifier is empty", "an unknown snapshot_id is no error", kLists,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto ids, listed_by_id(t, Trial::new_name()));
       return expect(ids.empty(), "the list is not empty");
     }},
    {"snapshots.deleted", "a deleted snapshot is gone", "it is in no list any more", kLists,
     [](Trial& t) -> Status {
       DROVER_TRY(const Cut made, cut(t));
       DROVER_RETURN_IF_ERROR(t.done(Trial::snapshot_deletion(made.snapshot.snapshot_id())));
       DROVER_TRY(const auto ids, listed_by_id(t, made.snapshot.snapshot_id()));
       return expect(ids.empty(), "it is still in the list");
     }},
    {"snapshots.get", "GetSnapshot tells of the same snapshot", "snapshot is required",
     kSnapshots | Check::get_snapshot,
     [](Trial& t) -> Status {
       DROVER_TRY(const Cut made, cut(t));
       v1::GetSnapshotRequest request;
       request.set_snapshot_id(made.snapshot.snapshot_id());
       DROVER_TRY(const auto answer, t.ask(request));
       return expect(answer.snapshot().snapshot_id() == made.snapshot.snapshot_id(), "snapshot_id is another one");
     }},
    {"snapshots.restore", "a volume can be made of a snapshot", "its content_source is the one that was asked for",
     kSnapshots,
     [](Trial& t) -> Status {
       DROVER_TRY(const Cut made, cut(t));
       const auto request = restoration(t, made.snapshot.snapshot_id());
       DROVER_TRY(const auto volume, t.make(request));
       return contract::source(request, volume);
     }},
    {"snapshots.content", "a volume made of a snapshot has its content", "a snapshot holds the volume as it was",
     kSnapshots | Check::mounts,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, filled(t));
       DROVER_TRY(const auto snapshot, t.snapshot(t.snapshot_of(volume.volume_id())));
       DROVER_TRY(const auto restored, t.make(restoration(t, snapshot.snapshot_id())));
       return expect_content(t, restored);
     }},
    {"clones.create", "a volume can be made of another one", "its content_source is the one that was asked for",
     Check::create | Check::clone,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       const auto request = cloning(t, volume.volume_id());
       DROVER_TRY(const auto clone, t.make(request));
       return contract::source(request, clone);
     }},
    {"clones.other", "a clone is a volume of its own", "a volume's identifier is unique within the plugin",
     Check::create | Check::clone,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       DROVER_TRY(const auto clone, t.make(cloning(t, volume.volume_id())));
       return expect(clone.volume_id() != volume.volume_id(), "it has the volume_id of its source");
     }},
    {"clones.content", "a clone has its source's content", "a clone is a copy of the volume",
     Check::create | Check::clone | Check::mounts,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, filled(t));
       DROVER_TRY(const auto clone, t.make(cloning(t, volume.volume_id())));
       return expect_content(t, clone);
     }},
};

}  // namespace

std::span<const Check> snapshot_checks() { return kChecks; }

}  // namespace drover::csi_kit
