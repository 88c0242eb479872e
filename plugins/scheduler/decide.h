// One decision on a snapshot: reads what an evaluation needs and evaluates it. Writes nothing. [any]
#pragma once

#include <cstdint>

#include "drover/tables.h"
#include "evaluate.h"
#include "tables.h"

namespace drover::scheduler {

// `now`: nanoseconds since 1970. `cluster`: as cluster_of(view). `job`: looked at instead of the one in the table;
// null: that one.
Decision decide(const v1::Evaluation& eval, const ReadView& view, const Tables& tables, int64_t now, Cluster cluster,
                const v1::Job* job = nullptr);

// All nodes with what the allocations of the snapshot take of them.
Cluster cluster_of(const ReadView& view, const Tables& tables);

}  // namespace drover::scheduler
