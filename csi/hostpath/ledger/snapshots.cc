#include "snapshots.h"

#include <algorithm>

#include "../settings.h"
#include "checks.h"
#include "csi/v1/csi.pb.h"
#include "hostpath.pb.h"
#include "paging.h"
#include "sizes.h"
#include "volumes.h"

namespace drover::hostpath {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

Snapshot* find_any(State& state, const std::string& id) {
  auto& snapshots = *state.mutable_snapshots();
  const auto at = std::ranges::find(snapshots, id, [](const Snapshot& each) { return each.id(); });
  return at == snapshots.end() ? nullptr : &*at;
}

Result<Snapshot> continued(const Snapshot& former, const Settings& settings,
                           const csi::v1::CreateSnapshotRequest& request) {
  if (former.stage() == STAGE_DELETING) return aborted("a snapshot of that name is being deleted");
  if (former.source_volume() != request.source_volume_id())
    return already_exists("there is a snapshot of that name of another volume");
  if (former.stage() == STAGE_MAKING && former.maker() != settings.node_id)
    return aborted("the snapshot is being made by another instance of the plugin");
  return former;
}

bool is_wanted(const Snapshot& snapshot, const csi::v1::ListSnapshotsRequest& request) {
  if (snapshot.stage() != STAGE_READY) return false;
  if (!request.snapshot_id().empty() && request.snapshot_id() != snapshot.id()) return false;
  return request.source_volume_id().empty() || request.source_volume_id() == snapshot.source_volume();
}

}  // namespace

const Snapshot* find_snapshot(const State& state, const std::string& id) {
  const auto at = std::ranges::find_if(
      state.snapshots(), [&](const Snapshot& each) { return each.id() == id && each.stage() == STAGE_READY; });
  return at == state.snapshots().end() ? nullptr : &*at;
}

Result<Snapshot> begin_snapshot(State& state, const Settings& settings, const Room& disk, const std::string& new_id,
                                int64_t now, const csi::v1::CreateSnapshotRequest& request) {
  DROVER_RETURN_IF_ERROR(check_id(request.source_volume_id(), "source_volume_id"));
  DROVER_RETURN_IF_ERROR(check_name(request.name()));
  if (!request.parameters().empty()) return invalid_argument("parameters: there are none for snapshots");
  auto& snapshots = *state.mutable_snapshots();
  const auto former = std::ranges::find(snapshots, request.name(), [](const Snapshot& each) { return each.name(); });
  if (former != snapshots.end()) return continued(*former, settings, request);

  DROVER_TRY(const Volume source, existing_volume(state, request.source_volume_id()));
  const Room room = room_of(state, settings, disk);
  if (settings.capacity > 0 && source.capacity() > room.left)
    return resource_exhausted("there are " + std::to_string(room.left) + " bytes left");
  Snapshot& snapshot = *snapshots.Add();
  snapshot.set_number(state.last_number() + 1);
  state.set_last_number(snapshot.number());
  snapshot.set_id(new_id);
  snapshot.set_name(request.name());
  snapshot.set_stage(STAGE_MAKING);
  snapshot.set_maker(settings.node_id);
  snapshot.set_source_volume(source.id());
  snapshot.set_is_block(source.is_block());
  snapshot.set_size(source.capacity());
  snapshot.set_created(now);
  return snapshot;
}

void end_snapshot(State& state, const std::string& id) {
  if (Snapshot* snapshot = find_any(state, id)) snapshot->set_stage(STAGE_READY);
}

Result<std::optional<Snapshot>> begin_delete_snapshot(State& state, const Settings& settings, const std::string& id) {
  DROVER_RETURN_IF_ERROR(check_id(id, "snapshot_id"));
  Snapshot* snapshot = find_any(state, id);
  if (!snapshot) return std::optional<Snapshot>();
  if (snapshot->stage() == STAGE_MAKING) return aborted("the snapshot is still being made");
  snapshot->set_stage(STAGE_DELETING);
  snapshot->set_maker(settings.node_id);
  return std::optional<Snapshot>(*snapshot);
}

void end_delete_snapshot(State& state, const std::string& id) {
  auto& snapshots = *state.mutable_snapshots();
  snapshots.erase(
      std::remove_if(snapshots.begin(), snapshots.end(), [&](const Snapshot& each) { return each.id() == id; }),
      snapshots.end());
}

Result<csi::v1::ListSnapshotsResponse> list_snapshots(const State& state,
                                                      const csi::v1::ListSnapshotsRequest& request) {
  DROVER_TRY(Page page, page_of(request.max_entries(), request.starting_token()));
  csi::v1::ListSnapshotsResponse response;
  for (const Snapshot& each : state.snapshots()) {
    if (is_wanted(each, request) && page.takes(each.number()))
      *response.add_entries()->mutable_snapshot() = described(each);
  }
  response.set_next_token(page.next_token());
  return response;
}

csi::v1::Snapshot described(const Snapshot& snapshot) {
  csi::v1::Snapshot out;
  out.set_snapshot_id(snapshot.id());
  out.set_source_volume_id(snapshot.source_volume());
  out.set_size_bytes(snapshot.size());
  out.mutable_creation_time()->set_seconds(snapshot.created() / kSecond);
  out.mutable_creation_time()->set_nanos(static_cast<int32_t>(snapshot.created() % kSecond));
  out.set_ready_to_use(snapshot.stage() == STAGE_READY);
  return out;
}

}  // namespace drover::hostpath
