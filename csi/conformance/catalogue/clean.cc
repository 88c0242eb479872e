// After the whole life of a volume, and of all volumes before it, nothing is left.
#include <filesystem>

#include "../trial.h"
#include "catalogue.h"

namespace drover::csi_kit {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kLife = Check::node | Check::volume | Check::mounts;

// All steps up, and all steps down.
Status whole_life(Trial& t) {
  DROVER_TRY(const Place place, t.staged());
  DROVER_RETURN_IF_ERROR(t.published(place).status());
  return t.undo();
}

const Check kChecks[] = {
    {"clean.mounts", "nothing is mounted any more", "what was published and staged is unpublished and unstaged", kLife,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(whole_life(t));
       const auto left = mounts_below(t.session().folder);
       return expect(left.empty(), left.empty() ? "" : std::to_string(left.size()) + " mounts are left: " + left[0]);
     }},
    {"clean.targets", "no target is there any more", "the plugin removes the targets that it made", kLife,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(whole_life(t));
       std::error_code error;
       for (const auto& each : fs::directory_iterator(t.session().folder + "/targets", error))
         return expect(false, each.path().string() + " is still there");
       return {};
     }},
    {"clean.staging", "nothing is in the staging folders any more", "an unstaged folder is as the host made it",
     kLife | Check::stage,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(whole_life(t));
       std::error_code error;
       for (const auto& folder : fs::directory_iterator(t.session().folder + "/staging", error)) {
         if (!fs::is_empty(folder.path(), error)) return expect(false, folder.path().string() + " is not empty");
       }
       return {};
     }},
    {"clean.attachments", "as many volumes were detached as were attached",
     "ControllerUnpublishVolume follows each ControllerPublishVolume", Check::attach | Check::volume,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       DROVER_RETURN_IF_ERROR(t.attached(volume, t.capability()).status());
       DROVER_RETURN_IF_ERROR(t.undo());
       const auto& left = t.session().attached;
       return expect(left.empty(), left.empty() ? "" : "still attached: " + *left.begin());
     }},
    {"clean.volumes", "no volume of these checks is listed any more", "a deleted volume is in no list",
     Check::create | Check::list,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(t.make(t.creation()).status());
       DROVER_RETURN_IF_ERROR(t.undo());
       DROVER_TRY(const auto listed, t.entries(v1::ListVolumesRequest()));
       for (const auto& each : listed)
         DROVER_RETURN_IF_ERROR(expect(!t.session().made.contains(each.volume().volume_id()),
                                       "\"" + each.volume().volume_id() + "\" is still listed"));
       return {};
     }},
    {"clean.snapshots", "no snapshot of these checks is listed any more", "a deleted snapshot is in no list",
     Check::create | Check::snapshots | Check::list_snapshots,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       DROVER_RETURN_IF_ERROR(t.snapshot(t.snapshot_of(volume.volume_id())).status());
       DROVER_RETURN_IF_ERROR(t.undo());
       DROVER_TRY(const auto listed, t.entries(v1::ListSnapshotsRequest()));
       for (const auto& each : listed)
         DROVER_RETURN_IF_ERROR(expect(!t.session().made.contains(each.snapshot().snapshot_id()),
                                       "\"" + each.snapshot().snapshot_id() + "\" is still listed"));
       return {};
     }},
    {"clean.socket", "nothing is beside the socket",
     "the supervisor owns that folder; the plugin puts nothing else there", Check::program,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(t.done(v1::ProbeRequest()));
       for (const auto& each : fs::directory_iterator(t.subject().socket_folder())) {
         if (each.path().filename() != "csi.sock") return expect(false, each.path().string() + " is there");
       }
       return {};
     }},
};

}  // namespace

std::span<const Check> clean_checks() { return kChecks; }

}  // namespace drover::csi_kit
