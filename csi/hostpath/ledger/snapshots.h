// The ledger of snapshots. As volumes.h. Pure. [any]
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drover/result.h"

namespace csi::v1 {
class CreateSnapshotRequest;
class ListSnapshotsRequest;
class ListSnapshotsResponse;
class Snapshot;
}  // namespace csi::v1

namespace drover::hostpath {

class Snapshot;
class State;
struct Room;
struct Settings;

const Snapshot* find_snapshot(const State& state, const std::string& id);  // null: none that is ready

// One that is ready: it was made before. Else it must be filled from its source.
Result<Snapshot> begin_snapshot(State& state, const Settings& settings, const Room& disk, const std::string& new_id,
                                int64_t now, const csi::v1::CreateSnapshotRequest& request);
void end_snapshot(State& state, const std::string& id);
// Nothing: there is none, and that is well.
Result<std::optional<Snapshot>> begin_delete_snapshot(State& state, const Settings& settings, const std::string& id);
void end_delete_snapshot(State& state, const std::string& id);

Result<csi::v1::ListSnapshotsResponse> list_snapshots(const State& state, const csi::v1::ListSnapshotsRequest& request);
csi::v1::Snapshot described(const Snapshot& snapshot);

}  // namespace drover::hostpath
