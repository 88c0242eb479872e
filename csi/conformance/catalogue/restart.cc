// Everything that was acknowledged before the program was killed holds afterwards.
#include "../trial.h"
#include "catalogue.h"

namespace drover::csi_kit {
namespace {

constexpr uint32_t kPublishes = Check::program | Check::node | Check::volume | Check::mounts;

Status kill_and_start(Trial& t) {
  t.subject().kill();
  return t.subject().start().with_context("started again after kill -9");
}

const Check kChecks[] = {
    {"restart.answers", "a killed plugin starts again on the socket that it left", "the supervisor starts it anew",
     Check::program,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(kill_and_start(t));
       return t.done(v1::GetPluginInfoRequest());
     }},
    {"restart.same-node", "the node has the same name after a restart", "controllers know the node by its node_id",
     Check::program | Check::node,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(kill_and_start(t));
       DROVER_TRY(const auto info, t.ask(v1::NodeGetInfoRequest()));
       return expect(info.node_id() == t.abilities().node_id, "node_id is another one");
     }},
    {"restart.volume", "a volume is known after a restart", "same name, compatible request: OK with the same volume",
     Check::program | Check::create,
     [](Trial& t) -> Status {
       const auto request = t.creation();
       DROVER_TRY(const auto first, t.make(request));
       DROVER_RETURN_IF_ERROR(kill_and_start(t));
       DROVER_TRY(const auto second, t.make(request));
       return expect(first.volume_id() == second.volume_id(), "volume_id is another one");
     }},
    {"restart.delete", "a volume can be deleted after a restart", "every step has its opposite, whenever it comes",
     Check::program | Check::create,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       DROVER_RETURN_IF_ERROR(kill_and_start(t));
       return t.done(Trial::deletion(volume.volume_id()));
     }},
    {"restart.snapshot", "a snapshot is known after a restart", "same name and source: OK with the same snapshot",
     Check::program | Check::create | Check::snapshots,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       const auto request = t.snapshot_of(volume.volume_id());
       DROVER_TRY(const auto first, t.snapshot(request));
       DROVER_RETURN_IF_ERROR(kill_and_start(t));
       DROVER_TRY(const auto second, t.snapshot(request));
       return expect(first.snapshot_id() == second.snapshot_id(), "snapshot_id is another one");
     }},
    {"restart.detach", "a volume can be detached after a restart", "every step has its opposite, whenever it comes",
     Check::program | Check::attach | Check::volume,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       DROVER_RETURN_IF_ERROR(t.attached(volume, t.capability()).status());
       DROVER_RETURN_IF_ERROR(kill_and_start(t));
       return t.done(t.detachment(volume.volume_id()));
     }},
    {"restart.in-use", "a task keeps its volume while its plugin is away", "a mount outlives the program that made it",
     kPublishes,
     [](Trial& t) -> Status {
       constexpr const char* kText = "still here";
       DROVER_TRY(const Place place, t.staged());
       DROVER_TRY(const std::string target, t.published(place));
       DROVER_RETURN_IF_ERROR(write_content(target, t.settings().is_block(), kText));
       DROVER_RETURN_IF_ERROR(kill_and_start(t));
       DROVER_TRY(const std::string text, read_content(target, t.settings().is_block()));
       return expect(text == kText, "it reads something else");
     }},
    {"restart.publish-again", "the same publication again after a restart: OK", "T same, P same: OK", kPublishes,
     [](Trial& t) -> Status {
       DROVER_TRY(const Place place, t.staged());
       DROVER_TRY(const std::string target, t.published(place));
       DROVER_RETURN_IF_ERROR(kill_and_start(t));
       return t.done(t.publication(place, target));
     }},
    {"restart.unpublish", "a volume can be unpublished and unstaged after a restart",
     "every step has its opposite, whenever it comes", kPublishes,
     [](Trial& t) -> Status {
       DROVER_TRY(const Place place, t.staged());
       DROVER_TRY(const std::string target, t.published(place));
       DROVER_RETURN_IF_ERROR(kill_and_start(t));
       DROVER_RETURN_IF_ERROR(t.done(Trial::unpublication(place.volume.volume_id(), target)));
       if (t.stages()) DROVER_RETURN_IF_ERROR(t.done(t.unstaging(place)));
       for (const std::string& each : mounts_below(t.session().folder))
         DROVER_RETURN_IF_ERROR(expect(each != target && each != place.staging, each + " is still mounted"));
       return {};
     }},
    {"restart.orderly", "SIGTERM ends the plugin, and it starts again", "a host ends a plugin by SIGTERM first",
     Check::program,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(t.subject().end());
       DROVER_RETURN_IF_ERROR(t.subject().start());
       return t.done(v1::ProbeRequest());
     }},
};

}  // namespace

std::span<const Check> restart_checks() { return kChecks; }

}  // namespace drover::csi_kit
