// The keeper's way forward: from a claim to a volume that is mounted.
#include <algorithm>

#include "csi/protocol/client.h"
#include "drover/log.h"
#include "drover/pause.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node_csi.pb.h"
#include "keeper/keeper.h"

namespace drover::mounts {
namespace {

// A plugin's precondition is not one of the servers: nothing here will fulfil it.
Status of_plugin(const Status& status) {
  if (status.code() != Code::failed_precondition) return status;
  return internal_error(status.message());
}

bool is_worth_waiting(Code code) { return may_pass(code) || code == Code::failed_precondition; }

}  // namespace

Result<std::string> Keeper::mount(const MountKey& key, const Usage& usage, const v1::MountOptions& options,
                                  const std::function<void(const std::string&)>& waits, std::stop_token stop) {
  const Until until{.end = setup_.host.clock().steady() + setup_.timing.patience, .stop = stop};
  std::string told;
  const auto tell = [&](const std::string& what) {
    if (what != told) waits(told = what);
  };
  for (auto pause = setup_.timing.first_pause;; pause = std::min(pause * 2, setup_.timing.longest_pause)) {
    auto path = try_mount(key, usage, options, tell, until);
    if (stop.stop_requested() && !path) return cancelled("it is no longer wanted");
    if (path || !is_worth_waiting(path.status().code()) || setup_.host.clock().steady() >= until.end) return path;
    tell(path.status().message());
    (void)pause_for(pause, stop);
  }
}

Result<std::string> Keeper::try_mount(const MountKey& key, const Usage& usage, const v1::MountOptions& options,
                                      const std::function<void(const std::string&)>& waits,
                                      const Until& until) {
  Mount mount = records_.find(key).value_or(Mount{.key = key, .usage = usage});
  if (mount.usage != usage)
    return failed_precondition("it is still mounted as " + to_string(mount.usage) + " for this allocation");
  if (mount.step == Step::published) {
    DROVER_TRY(std::string path, host_target(mount));
    if (is_mounted(setup_.mounted, path)) return path;
  }
  DROVER_RETURN_IF_ERROR(records_.put(mount));
  DROVER_RETURN_IF_ERROR(setup_.claims.claim(key, usage, options, until.stop).status());
  DROVER_TRY(const v1::CsiClaimResponse claimed, setup_.claims.await_attached(key, waits, until.stop));
  return carry_out(std::move(mount), claimed, until);
}

Result<std::string> Keeper::carry_out(Mount mount, const v1::CsiClaimResponse& claimed, const Until& until) {
  mount.plugin_id = claimed.claim().plugin_id();
  mount.external_volume_id = claimed.claim().external_volume_id();
  DROVER_TRY(const Turns::Turn turn, take_turn(mount, until));
  DROVER_TRY(const Instances::Found plugin, setup_.instances.find(Side::node, mount.plugin_id));
  // Mounts of the machine's last life are gone.
  Forward next = next_forward(mount, /*is_mounted=*/false);
  if (next == Forward::stage || mount.plugin_type.empty()) {
    mount.plugin_type = plugin.instance->type;
    mount.stages = plugin.info->node_info().requires_node_stage_volume();
    next = next_forward(mount, /*is_mounted=*/false);
  }
  for (; next != Forward::nothing; next = next_forward(mount, /*is_mounted=*/true))
    DROVER_RETURN_IF_ERROR(make_step(mount, next, plugin, claimed, until));
  return host_target(mount);
}

Status Keeper::make_step(Mount& mount, Forward step, const Instances::Found& plugin,
                         const v1::CsiClaimResponse& claimed, const Until& until) {
  const bool is_stage = step == Forward::stage;
  mount.step = is_stage ? Step::staging : Step::publishing;
  DROVER_RETURN_IF_ERROR(records_.put(mount));
  DROVER_TRY(const MountPaths paths, paths_of(setup_.folders, mount));
  const NodeCall call = node_call(plugin, mount, paths, until);
  DROVER_RETURN_IF_ERROR(of_plugin(is_stage ? stage(call, claimed) : publish(call, claimed)));
  mount.step = is_stage ? Step::staged : Step::published;
  return records_.put(mount);
}

}  // namespace drover::mounts
