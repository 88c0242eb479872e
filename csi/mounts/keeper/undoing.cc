// The keeper's way back: from any step to a claim that the servers may give to others, and what is left over.
#include <algorithm>

#include "csi/protocol/client.h"
#include "drover/log.h"
#include "drover/stopping.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node_csi.pb.h"
#include "keeper/keeper.h"

namespace drover::mounts {
namespace {

constexpr const char* kTypesOfNodes[] = {"node", "monolith"};

Mount mount_of(const NodeClaim& claim, std::string plugin_type) {
  return {.key = claim.key,
          .plugin_id = claim.plugin_id,
          .external_volume_id = claim.external_volume_id,
          .plugin_type = std::move(plugin_type),
          .usage = claim.usage};
}

Status still_runs(const MountKey& key) {
  return failed_precondition("the allocation " + key.alloc.to_string() + " still runs on this node");
}

std::string name_of(const MountKey& key) {
  return "undo/" + key.alloc.to_string() + "/" + key.name_space + "/" + key.volume_id;
}

}  // namespace

Status Keeper::undo(const MountKey& key, Tells tells, const Until& until) {
  auto mount = records_.find(key);
  if (!mount) return ok_status();
  std::optional<Turns::Turn> turn;
  if (!mount->external_volume_id.empty()) {
    DROVER_TRY(Turns::Turn taken, take_turn(*mount, until));
    turn.emplace(std::move(taken));
    mount = records_.find(key);
    if (!mount) return ok_status();
  }
  while (true) {
    if (runs(key.alloc)) return still_runs(key);
    const Back next = next_back(*mount, is_stage_shared(*mount, records_.all()));
    if (next == Back::tell) break;
    DROVER_RETURN_IF_ERROR(undo_next(*mount, next, until));
  }
  mount->step = Step::undone;
  DROVER_RETURN_IF_ERROR(records_.put(*mount));
  turn.reset();
  return forget(*mount, tells, until);
}

Status Keeper::undo_next(Mount& mount, Back step, const Until& until) {
  const bool is_unpublish = step == Back::unpublish;
  DROVER_TRY(const Instances::Found plugin, setup_.instances.find(Side::node, mount.plugin_id));
  DROVER_TRY(const MountPaths paths, paths_of(setup_.folders, mount));
  mount.step = is_unpublish ? Step::unpublishing : Step::unstaging;
  DROVER_RETURN_IF_ERROR(records_.put(mount));
  const NodeCall call = node_call(plugin, mount, paths, until);
  DROVER_RETURN_IF_ERROR(is_unpublish ? unpublish(call) : unstage(call));
  mount.step = is_unpublish ? Step::unpublished : Step::undone;
  return records_.put(mount);
}

Status Keeper::forget(Mount& mount, Tells tells, const Until& until) {
  if (tells == Tells::servers) DROVER_RETURN_IF_ERROR(setup_.claims.released(mount.key, until.stop));
  return records_.remove(mount.key);
}

// The servers are told in the agent's next life where it ends meanwhile.
Status Keeper::release(const Uuid& alloc) {
  ended(alloc);
  Status first;
  for (const Mount& mount : records_.of_alloc(alloc)) {
    Until until = background();
    until.end = setup_.host.clock().steady() + setup_.timing.at_once;
    const Status status = undo(mount.key, Tells::servers, until);
    if (status.ok() || is_agent_stopping(status)) continue;
    undo_later(mount.key, setup_.timing.first_pause);
    if (first.ok()) first = status.with_context("volume \"" + mount.key.volume_id + "\"");
  }
  return first;
}

Status Keeper::release(const NodeClaim& claim, const Until& until) {
  {
    const MutexLock lock(mutex_);
    if (!is_settled_) return unavailable("this node has not restored its allocations yet");
  }
  if (runs(claim.key.alloc)) return still_runs(claim.key);
  if (!records_.find(claim.key)) {
    const Mount mount = adopted(claim);
    if (mount.step == Step::claiming) return ok_status();
    DROVER_RETURN_IF_ERROR(records_.put(mount));
  }
  return undo(claim.key, Tells::nobody, until);
}

// Stands for a claim that this node knows nothing of: its folders say how far it came.
Mount Keeper::adopted(const NodeClaim& claim) const {
  for (const char* type : kTypesOfNodes) {
    Mount mount = mount_of(claim, type);
    const auto paths = paths_of(setup_.folders, mount);
    if (!paths) continue;
    mount.stages = is_there(paths->host_staging());
    mount.step = is_there(paths->host_target()) ? Step::unpublishing : Step::unstaging;
    if (mount.stages || mount.step == Step::unpublishing) return mount;
  }
  return mount_of(claim, "");
}

void Keeper::undo_later(const MountKey& key, std::chrono::nanoseconds pause) {
  later_.run(name_of(key), pause, [this, key, pause] { undo_once(key, pause); });
}

void Keeper::undo_once(const MountKey& key, std::chrono::nanoseconds pause) {
  const Status status = undo(key, Tells::servers, background());
  if (status.ok() || runs(key.alloc) || later_.token().stop_requested() || is_agent_stopping(status)) return;
  log::warn("mounts", "a volume is not unmounted yet; trying again",
            {{"volume", key.volume_id}, {"alloc", key.alloc.to_string()}, {"error", status.message()}});
  undo_later(key, std::clamp(pause * 2, setup_.timing.first_pause, setup_.timing.longest_pause));
}

void Keeper::reconcile_later(std::chrono::nanoseconds pause) {
  later_.run("reconcile", pause, [this, pause] {
    const Status status = reconcile_now();
    if (status.ok() || later_.token().stop_requested()) return;
    log::warn("mounts", "the claims of this node are not known yet; asking again", {{"error", status.message()}});
    reconcile_later(std::clamp(pause * 2, setup_.timing.first_pause, setup_.timing.longest_pause));
  });
}

std::vector<std::string> Keeper::paths_below(const Mount& mount) const {
  const auto paths = paths_of(setup_.folders, mount);
  if (!paths) return {};
  return {paths->host_staging(), paths->host_target()};
}

Status Keeper::reconcile_now() {
  Knowledge knowledge{.records = records_.all(), .claims = {}, .mounted = setup_.mounted(), .known = {}, .running = {}};
  std::erase_if(knowledge.mounted, [&](const std::string& path) { return !setup_.folders.is_volume(path); });
  const auto claims = setup_.claims.of_node(later_.token());
  if (claims) knowledge.claims = *claims;
  std::vector<Mount> known = knowledge.records;
  for (const NodeClaim& claim : knowledge.claims) {
    for (const char* type : kTypesOfNodes) known.push_back(mount_of(claim, type));
  }
  for (const Mount& mount : known) std::ranges::copy(paths_below(mount), std::back_inserter(knowledge.known));
  {
    const MutexLock lock(mutex_);
    knowledge.running = running_;
  }
  const Reconciled found = reconcile(knowledge);
  for (const MountKey& key : found.undo) undo_later(key, {});
  if (!claims) return claims.status();
  for (const NodeClaim& claim : found.release) {
    DROVER_RETURN_IF_ERROR(records_.put(adopted(claim)));
    undo_later(claim.key, {});
  }
  for (const MountKey& key : found.unclaimed) {
    log::warn("mounts", "a volume is mounted for an allocation that runs, and the servers have no claim of it",
              {{"volume", key.volume_id}, {"alloc", key.alloc.to_string()}});
  }
  for (const std::string& path : found.strays) {
    log::warn("mounts", "nobody knows whose volume is mounted here; it stays until it is unmounted by hand",
              {{"path", path}});
  }
  return ok_status();
}

}  // namespace drover::mounts
