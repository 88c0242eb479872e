// Publishing to targets: what comes of it, and the specification's table of the second call.
#include <fcntl.h>

#include <algorithm>
#include <filesystem>

#include "../trial.h"
#include "catalogue.h"
#include "drover/fd.h"

namespace drover::csi_kit {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kPublishes = Check::node | Check::volume | Check::mounts;
constexpr const char* kText = "written by a task";

struct Published {
  Place place;
  std::string target;
};

Result<Published> publish(Trial& t) {
  Published out;
  DROVER_TRY(out.place, t.staged());
  DROVER_TRY(out.target, t.published(out.place));
  return out;
}

// Staged for many users on many nodes. Errors: not_found when the plugin has no such volumes.
Result<Place> shared(Trial& t) {
  auto request = t.creation();
  const auto capability = t.capability(AccessMode::MULTI_NODE_MULTI_WRITER);
  *request.mutable_volume_capabilities(0) = capability;
  const auto volume = t.make(request);
  if (volume.status().code() == Code::invalid_argument) return not_found("no such volumes");
  DROVER_RETURN_IF_ERROR(volume.status());
  return t.staged(*volume, capability);
}

template <typename Look>
Status with_shared(Trial& t, const Look& look) {
  const auto place = shared(t);
  if (place.status().code() == Code::not_found)
    return t.inapplicable("the plugin has no volumes for MULTI_NODE_MULTI_WRITER");
  DROVER_RETURN_IF_ERROR(place.status());
  return look(*place);
}

const Check kChecks[] = {
    {"publish-table.target", "NodePublishVolume makes the target",
     "the host makes its parent; the plugin makes a folder, or a file for a block device", kPublishes,
     [](Trial& t) -> Status {
       DROVER_TRY(const Published at, publish(t));
       std::error_code error;
       const fs::file_status status = fs::status(at.target, error);
       const bool is_right = t.settings().is_block() ? fs::is_block_file(status) : fs::is_directory(status);
       return expect(is_right,
                     std::string("the target is no ") + (t.settings().is_block() ? "block device" : "folder"));
     }},
    {"publish-table.mounted", "the volume is mounted at the target", "a target that is a plain folder keeps nothing",
     kPublishes,
     [](Trial& t) -> Status {
       DROVER_TRY(const Published at, publish(t));
       const auto mounts = mounts_below(t.session().folder);
       return expect(std::ranges::find(mounts, at.target) != mounts.end(), "nothing is mounted at the target");
     }},
    {"publish-table.write", "a task can write to the volume and read it again", "`readonly` is false", kPublishes,
     [](Trial& t) -> Status {
       DROVER_TRY(const Published at, publish(t));
       DROVER_RETURN_IF_ERROR(write_content(at.target, t.settings().is_block(), kText));
       DROVER_TRY(const std::string text, read_content(at.target, t.settings().is_block()));
       return expect(text == kText, "it reads something else");
     }},
    {"publish-table.stays", "what was written is there when the volume is published again",
     "a volume keeps its content from one workload to the next", kPublishes,
     [](Trial& t) -> Status {
       DROVER_TRY(const Published at, publish(t));
       DROVER_RETURN_IF_ERROR(write_content(at.target, t.settings().is_block(), kText));
       DROVER_RETURN_IF_ERROR(t.done(Trial::unpublication(at.place.volume.volume_id(), at.target)));
       Place again = at.place;
       if (t.stages()) {
         DROVER_RETURN_IF_ERROR(t.done(t.unstaging(at.place)));
         DROVER_TRY(again.staging, t.new_folder());
         DROVER_RETURN_IF_ERROR(t.done(t.staging(again)));
       }
       DROVER_TRY(const std::string target, t.published(again));
       DROVER_TRY(const std::string text, read_content(target, t.settings().is_block()));
       return expect(text == kText, "it reads something else");
     }},
    {"publish-table.read-only", "nobody writes to a volume that is published read-only", "`readonly` is true",
     kPublishes,
     [](Trial& t) -> Status {
       DROVER_TRY(const Place place, t.staged());
       auto request = t.publication(place, t.new_target());
       request.set_readonly(true);
       DROVER_RETURN_IF_ERROR(t.done(request));
       return expect(!write_content(request.target_path(), t.settings().is_block(), kText).ok(),
                     "a task can write to it");
     }},
    {"publish-table.same", "the same call again: OK", "T same, P same: OK", kPublishes,
     [](Trial& t) -> Status {
       DROVER_TRY(const Published at, publish(t));
       return t.ends(t.publication(at.place, at.target), {contract::second_publish(0, true, true)});
     }},
    {"publish-table.same-once", "the same call again mounts nothing twice", "one NodeUnpublishVolume undoes it",
     kPublishes,
     [](Trial& t) -> Status {
       DROVER_TRY(const Published at, publish(t));
       DROVER_RETURN_IF_ERROR(t.done(t.publication(at.place, at.target)));
       DROVER_RETURN_IF_ERROR(t.done(Trial::unpublication(at.place.volume.volume_id(), at.target)));
       const auto mounts = mounts_below(t.session().folder);
       return expect(std::ranges::find(mounts, at.target) == mounts.end(), "the target is still mounted");
     }},
    {"publish-table.otherwise", "another call for the same target: ALREADY_EXISTS", "T same, P differs: ALREADY_EXISTS",
     kPublishes,
     [](Trial& t) -> Status {
       DROVER_TRY(const Published at, publish(t));
       auto request = t.publication(at.place, at.target);
       request.set_readonly(true);
       return t.ends(request, {contract::second_publish(0, true, false)});
     }},
    {"publish-table.other-target", "a second target on this node is as the access mode says",
     "T differs: OK for MULTI_NODE_* and SINGLE_NODE_MULTI_WRITER, else FAILED_PRECONDITION", kPublishes,
     [](Trial& t) -> Status {
       DROVER_TRY(const Published at, publish(t));
       const auto mode = at.place.capability.access_mode().mode();
       return t.ends(t.publication(at.place, t.new_target()), {contract::second_publish(mode, false, true)});
     }},
    {"publish-table.shared", "a volume for many has two targets on this node", "MULTI_NODE_*: T differs: OK",
     Check::create | Check::node | Check::mounts,
     [](Trial& t) {
       return with_shared(t, [&](const Place& place) -> Status {
         DROVER_RETURN_IF_ERROR(t.published(place).status());
         return t.ends(t.publication(place, t.new_target()),
                       {contract::second_publish(AccessMode::MULTI_NODE_MULTI_WRITER, false, true)});
       });
     }},
    {"publish-table.shared-content", "both targets show the same volume", "a volume is one, whoever looks",
     Check::create | Check::node | Check::mounts,
     [](Trial& t) {
       return with_shared(t, [&](const Place& place) -> Status {
         DROVER_TRY(const std::string one, t.published(place));
         DROVER_TRY(const std::string two, t.published(place));
         DROVER_RETURN_IF_ERROR(write_content(one, t.settings().is_block(), kText));
         DROVER_TRY(const std::string text, read_content(two, t.settings().is_block()));
         return expect(text == kText, "the other target reads something else");
       });
     }},
    {"publish-table.one-of-two", "NodeUnpublishVolume of one target leaves the other",
     "each target is a workload's own", Check::create | Check::node | Check::mounts,
     [](Trial& t) {
       return with_shared(t, [&](const Place& place) -> Status {
         DROVER_TRY(const std::string one, t.published(place));
         DROVER_TRY(const std::string two, t.published(place));
         DROVER_RETURN_IF_ERROR(write_content(two, t.settings().is_block(), kText));
         DROVER_RETURN_IF_ERROR(t.done(Trial::unpublication(place.volume.volume_id(), one)));
         DROVER_TRY(const std::string text,
                    read_content(two, t.settings().is_block()).with_context("the other target"));
         return expect(text == kText, "the other target reads something else");
       });
     }},
    {"publish-table.unpublish", "NodeUnpublishVolume removes the target", "the plugin made it and removes it",
     kPublishes,
     [](Trial& t) -> Status {
       DROVER_TRY(const Published at, publish(t));
       DROVER_RETURN_IF_ERROR(t.done(Trial::unpublication(at.place.volume.volume_id(), at.target)));
       std::error_code error;
       return expect(!fs::exists(fs::symlink_status(at.target, error)), "the target is still there");
     }},
};

}  // namespace

std::span<const Check> publish_table_checks() { return kChecks; }

}  // namespace drover::csi_kit
