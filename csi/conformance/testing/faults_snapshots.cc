// Faults of snapshots and of volumes made of other content.
#include "drover/uuid.h"
#include "faults.h"

namespace drover::csi_kit {

Faults snapshot_faults() {
  using Create = v1::CreateVolumeRequest;
  using Cut = v1::CreateSnapshotRequest;
  using Delete = v1::DeleteSnapshotRequest;
  using List = v1::ListSnapshotsRequest;
  const auto other = [](const auto&, auto& answer) {
    answer.mutable_snapshot()->set_snapshot_id(Uuid::random().to_string());
  };
  const auto is_by_id = [](const Passing&, const List& request) { return !request.snapshot_id().empty(); };
  const auto has_source = [](const Passing&, const Create& request) { return request.has_volume_content_source(); };
  const Fault forgets_source =
      edits<Create>([](const auto&, auto& answer) { answer.mutable_volume()->clear_content_source(); }, has_source);
  const Fault makes_empty = hears<Create>([](Create& request) { request.clear_volume_content_source(); }, has_source);

  Faults out;
  out["snapshots.create"] =
      edits<Cut>([](const auto&, auto& answer) { answer.mutable_snapshot()->clear_creation_time(); });
  out["snapshots.two-names"] =
      edits<Cut>([](const auto&, auto& answer) { answer.mutable_snapshot()->set_snapshot_id("the-same"); });
  out["snapshots.by-id"] = hears<List>([](List& request) { request.clear_snapshot_id(); });
  out["snapshots.by-source"] = hears<List>([](List& request) { request.clear_source_volume_id(); });
  out["snapshots.none"] = fails<List>(Code::not_found, is_by_id);
  out["snapshots.deleted"] = out["clean.snapshots"] = pretends<Delete>();
  out["snapshots.get"] = edits<v1::GetSnapshotRequest>(other);
  out["snapshots.restore"] = out["clones.create"] = forgets_source;
  out["snapshots.content"] = out["clones.content"] = makes_empty;
  out["clones.other"] = edits<Create>(
      [](const Create& request, auto& answer) {
        answer.mutable_volume()->set_volume_id(request.volume_content_source().volume().volume_id());
      },
      has_source);
  out["idempotency.snapshot"] = out["restart.snapshot"] = edits_later<Cut>(other);
  out["idempotency.snapshot-otherwise"] = says<Cut>(Code::already_exists, Code::ok);
  out["idempotency.delete-snapshot"] = fails_later<Delete>(Code::not_found);
  out["idempotency.delete-snapshot-unknown"] = fails<Delete>(Code::not_found);
  return out;
}

}  // namespace drover::csi_kit
