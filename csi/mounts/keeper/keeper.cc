#include "keeper/keeper.h"

#include <algorithm>
#include <utility>

#include "csi/protocol/client.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node_csi.pb.h"

namespace drover::mounts {

void Keeper::stop() { later_.stop(); }

void Keeper::attached(const Uuid& alloc) {
  const MutexLock lock(mutex_);
  running_.insert(alloc);
}

void Keeper::ended(const Uuid& alloc) {
  const MutexLock lock(mutex_);
  running_.erase(alloc);
}

bool Keeper::runs(const Uuid& alloc) const {
  const MutexLock lock(mutex_);
  return running_.contains(alloc);
}

void Keeper::settled() {
  {
    const MutexLock lock(mutex_);
    is_settled_ = true;
  }
  reconcile_later({});
}

bool Keeper::uses(const std::string& plugin_id) const {
  return std::ranges::any_of(
      records_.all(), [&](const Mount& mount) { return mount.plugin_id == plugin_id && mount.step != Step::undone; });
}

void Keeper::plugins_changed() { later_.hurry(); }

Result<Turns::Turn> Keeper::take_turn(const Mount& mount, const Until& until) {
  return setup_.turns.take(turn_of_volume(mount.plugin_id, mount.external_volume_id), until.end, until.stop);
}

Until Keeper::background() const {
  return {.end = setup_.host.clock().steady() + setup_.timing.patience, .stop = later_.token()};
}

// It is made again within its limits only where there is time for that.
NodeCall Keeper::node_call(const Instances::Found& plugin, const Mount& mount, const MountPaths& paths,
                           const Until& until) const {
  const auto left = std::max<std::chrono::nanoseconds>(until.end - setup_.host.clock().steady(), {});
  csi::CallLimits limits{.each_try = setup_.timing.each_try};
  if (left < limits.tries * limits.each_try) limits = {.each_try = std::min(left, limits.each_try), .tries = 1};
  return {.plugin = plugin,
          .mount = mount,
          .paths = paths,
          .limits = limits,
          .mounted = setup_.mounted,
          .stop = until.stop};
}

Result<std::string> Keeper::host_target(const Mount& mount) const {
  DROVER_TRY(const MountPaths paths, paths_of(setup_.folders, mount));
  return paths.host_target();
}

Result<std::string> Keeper::mounted_at(const MountKey& key) const {
  const auto mount = records_.find(key);
  if (!mount || mount->step != Step::published)
    return not_found("the volume \"" + key.volume_id + "\" is not mounted for the allocation");
  return host_target(*mount);
}

Result<v1::CsiExpandResponse> Keeper::expand(const v1::CsiNodeExpandRequest& request, const Until& until) {
  const MountKey key{Uuid::from_bytes(request.alloc_id()), request.namespace_(), request.volume_id()};
  DROVER_RETURN_IF_ERROR(mounted_at(key).status());
  const Mount mount = records_.find(key).value_or(Mount{});
  DROVER_TRY(const MountPaths paths, paths_of(setup_.folders, mount));
  DROVER_TRY(const Turns::Turn turn, take_turn(mount, until));
  DROVER_TRY(const Instances::Found plugin, setup_.instances.find(Side::node, mount.plugin_id));
  return mounts::expand(node_call(plugin, mount, paths, until), request);
}

}  // namespace drover::mounts
