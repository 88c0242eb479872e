// The store's side of a state snapshot (storage/state_snapshot.h); Store::restore reads it back. [any]
#pragma once

#include "storage/state_snapshot.h"

namespace drover::state {

class Snapshot;

Status write_snapshot(const Snapshot& snapshot, ByteSink& sink);

}  // namespace drover::state
