// Attaching to a node, by the controller.
#include <algorithm>

#include "../trial.h"
#include "catalogue.h"

namespace drover::csi_kit {
namespace {

// True when the list says that the volume is at this node.
Result<bool> is_listed_at_node(Trial& t, const std::string& volume) {
  DROVER_TRY(const auto listed, t.entries(v1::ListVolumesRequest()));
  for (const auto& each : listed) {
    if (each.volume().volume_id() != volume) continue;
    const auto& nodes = each.status().published_node_ids();
    return std::ranges::find(nodes, t.abilities().node_id) != nodes.end();
  }
  return failed_precondition("the volume is not in the list");
}

const Check kChecks[] = {
    {"publish.attach", "ControllerPublishVolume attaches a volume to this node",
     "node_id is what NodeGetInfo says; the answer's context is for the node", Check::attach | Check::volume,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       return t.attached(volume, t.capability()).status();
     }},
    {"publish.context-size", "a publish context is small", "a map has 4 KiB at most", Check::attach | Check::volume,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       DROVER_TRY(const Place place, t.attached(volume, t.capability()));
       size_t bytes = 0;
       for (const auto& [key, value] : place.publish_context) bytes += key.size() + value.size();
       return contract::context_size(bytes, "publish_context");
     }},
    {"publish.detach", "ControllerUnpublishVolume detaches it", "the opposite of ControllerPublishVolume",
     Check::attach | Check::volume,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       DROVER_RETURN_IF_ERROR(t.attached(volume, t.capability()).status());
       return t.done(t.detachment(volume.volume_id()));
     }},
    {"publish.again", "a detached volume can be attached again", "a volume's life may repeat its steps",
     Check::attach | Check::volume,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       DROVER_RETURN_IF_ERROR(t.attached(volume, t.capability()).status());
       DROVER_RETURN_IF_ERROR(t.done(t.detachment(volume.volume_id())));
       return t.attached(volume, t.capability()).status();
     }},
    {"publish.other-way", "a detached volume can be attached read-only",
     "with PUBLISH_READONLY `readonly` is honoured; nothing of the former attachment stays",
     Check::attach | Check::volume | Check::read_only,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       DROVER_RETURN_IF_ERROR(t.attached(volume, t.capability()).status());
       DROVER_RETURN_IF_ERROR(t.done(t.detachment(volume.volume_id())));
       auto request = t.attachment(volume, t.capability());
       request.set_readonly(true);
       return t.done(request);
     }},
    {"publish.listed", "ListVolumes names the node of an attached volume",
     "published_node_ids holds every node that the volume is published to",
     Check::create | Check::published_nodes | Check::attach,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       DROVER_RETURN_IF_ERROR(t.attached(volume, t.capability()).status());
       DROVER_TRY(const bool is_there, is_listed_at_node(t, volume.volume_id()));
       return expect(is_there, "published_node_ids lacks the node");
     }},
    {"publish.unlisted", "ListVolumes no longer names the node of a detached volume",
     "published_node_ids holds no node that the volume was detached from",
     Check::create | Check::published_nodes | Check::attach,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       DROVER_RETURN_IF_ERROR(t.attached(volume, t.capability()).status());
       DROVER_RETURN_IF_ERROR(t.done(t.detachment(volume.volume_id())));
       DROVER_TRY(const bool is_there, is_listed_at_node(t, volume.volume_id()));
       return expect(!is_there, "published_node_ids still has the node");
     }},
    {"publish.from-all", "ControllerUnpublishVolume without a node detaches from all",
     "an absent node_id means every node", Check::create | Check::published_nodes | Check::attach,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       DROVER_RETURN_IF_ERROR(t.attached(volume, t.capability()).status());
       auto request = t.detachment(volume.volume_id());
       request.clear_node_id();
       DROVER_RETURN_IF_ERROR(t.done(request));
       DROVER_TRY(const bool is_there, is_listed_at_node(t, volume.volume_id()));
       return expect(!is_there, "published_node_ids still has the node");
     }},
    {"publish.in-use", "an attached volume is not deleted", "DeleteVolume of a volume in use: FAILED_PRECONDITION",
     Check::create | Check::attach,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       DROVER_RETURN_IF_ERROR(t.attached(volume, t.capability()).status());
       return t.ends(Trial::deletion(volume.volume_id()), {Code::failed_precondition});
     }},
};

}  // namespace

std::span<const Check> publish_checks() { return kChecks; }

}  // namespace drover::csi_kit
