// The node: what it says of itself, staging, and what it tells of a volume in use.
#include <google/protobuf/util/message_differencer.h>

#include <filesystem>

#include "../trial.h"
#include "catalogue.h"

namespace drover::csi_kit {
namespace {

using google::protobuf::util::MessageDifferencer;

constexpr uint32_t kStages = Check::stage | Check::volume | Check::mounts;
constexpr uint32_t kStats = Check::stats | Check::volume | Check::mounts;

v1::NodeGetVolumeStatsRequest stats_at(const Place& place, const std::string& path) {
  v1::NodeGetVolumeStatsRequest request;
  request.set_volume_id(place.volume.volume_id());
  request.set_volume_path(path);
  request.set_staging_target_path(place.staging);
  return request;
}

const Check kChecks[] = {
    {"node.info", "NodeGetInfo tells the node's name", "node_id is required, at most 256 bytes", Check::node,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto info, t.ask(v1::NodeGetInfoRequest()));
       return contract::identifier(info.node_id(), "node_id", 256);
     }},
    {"node.same-info", "NodeGetInfo says the same again", "node_id names the node to the controller", Check::node,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto first, t.ask(v1::NodeGetInfoRequest()));
       DROVER_TRY(const auto second, t.ask(v1::NodeGetInfoRequest()));
       return expect(first.node_id() == second.node_id(), "node_id is another one the second time");
     }},
    {"node.most-volumes", "NodeGetInfo tells how many volumes there may be", "max_volumes_per_node: 0 or more",
     Check::node,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto info, t.ask(v1::NodeGetInfoRequest()));
       return expect(info.max_volumes_per_node() >= 0, "max_volumes_per_node is negative");
     }},
    {"node.place", "NodeGetInfo tells where the node is",
     "with VOLUME_ACCESSIBILITY_CONSTRAINTS a node has an accessible_topology", Check::node | Check::places,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto info, t.ask(v1::NodeGetInfoRequest()));
       return expect(!info.accessible_topology().segments().empty(), "accessible_topology has no segments");
     }},
    {"node.capabilities", "NodeGetCapabilities lists each capability once", "a capability has a type; UNKNOWN is none",
     Check::node,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto answer, t.ask(v1::NodeGetCapabilitiesRequest()));
       return contract::capabilities(answer);
     }},
    {"node.same-capabilities", "NodeGetCapabilities says the same again",
     "the capabilities of a service do not change while it runs", Check::node,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto first, t.ask(v1::NodeGetCapabilitiesRequest()));
       DROVER_TRY(const auto second, t.ask(v1::NodeGetCapabilitiesRequest()));
       return expect(MessageDifferencer::Equals(first, second), "the second answer is another one");
     }},

    {"stage.stages", "NodeStageVolume stages a volume", "the host has made the staging folder", kStages,
     [](Trial& t) { return t.staged().status(); }},
    {"stage.unstages", "NodeUnstageVolume leaves nothing mounted there", "the opposite of NodeStageVolume", kStages,
     [](Trial& t) -> Status {
       DROVER_TRY(const Place place, t.staged());
       DROVER_RETURN_IF_ERROR(t.done(t.unstaging(place)));
       for (const std::string& each : mounts_below(t.session().folder))
         DROVER_RETURN_IF_ERROR(expect(!each.starts_with(place.staging), "something is still mounted at " + each));
       return {};
     }},
    {"stage.again-elsewhere", "an unstaged volume can be staged at another path",
     "a volume is staged once for each staging path", kStages,
     [](Trial& t) -> Status {
       DROVER_TRY(Place place, t.staged());
       DROVER_RETURN_IF_ERROR(t.done(t.unstaging(place)));
       DROVER_TRY(place.staging, t.new_folder());
       return t.done(t.staging(place));
     }},
    {"stage.publish-needs-it", "NodePublishVolume without a staging path is refused",
     "with STAGE_UNSTAGE_VOLUME and no staging_target_path: FAILED_PRECONDITION", kStages,
     [](Trial& t) -> Status {
       DROVER_TRY(const Place place, t.staged());
       auto request = t.publication(place, t.new_target());
       request.clear_staging_target_path();
       return t.ends(request, {Code::failed_precondition, Code::invalid_argument});
     }},

    {"stats.usage", "NodeGetVolumeStats tells how a volume is used",
     "unit and total are required; nothing is negative; no more is available than there is", kStats,
     [](Trial& t) -> Status {
       DROVER_TRY(const Place place, t.staged());
       DROVER_TRY(const std::string target, t.published(place));
       DROVER_TRY(const auto answer, t.ask(stats_at(place, target)));
       return contract::usage(answer);
     }},
    {"stats.unknown-volume", "NodeGetVolumeStats of an unknown volume is an error", "unknown volume: NOT_FOUND", kStats,
     [](Trial& t) -> Status {
       DROVER_TRY(Place place, t.staged());
       DROVER_TRY(const std::string target, t.published(place));
       place.volume.set_volume_id(Trial::new_name());
       return t.ends(stats_at(place, target), {Code::not_found});
     }},
    {"stats.elsewhere", "NodeGetVolumeStats where the volume is not is an error", "volume_path is not there: NOT_FOUND",
     kStats,
     [](Trial& t) -> Status {
       DROVER_TRY(const Place place, t.staged());
       DROVER_RETURN_IF_ERROR(t.published(place).status());
       return t.ends(stats_at(place, t.new_target()), {Code::not_found});
     }},
    {"stats.condition", "NodeGetVolumeStats tells the volume's condition",
     "with VOLUME_CONDITION a condition has a message; a new volume is well", kStats | Check::condition,
     [](Trial& t) -> Status {
       DROVER_TRY(const Place place, t.staged());
       DROVER_TRY(const std::string target, t.published(place));
       DROVER_TRY(const auto answer, t.ask(stats_at(place, target)));
       DROVER_RETURN_IF_ERROR(expect(!answer.volume_condition().message().empty(), "volume_condition has no message"));
       return expect(!answer.volume_condition().abnormal(), "it is abnormal");
     }},
};

}  // namespace

std::span<const Check> node_checks() { return kChecks; }

}  // namespace drover::csi_kit
