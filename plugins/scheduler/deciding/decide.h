// One decision on a snapshot: reads what an evaluation needs and has a scheduler decide. Writes nothing. [any]
#pragma once

#include <cstdint>
#include <string>

#include "drover/scheduler.h"
#include "drover/tables.h"
#include "placing/place.h"
#include "tables.h"

namespace drover::scheduler {

using Decision = Scheduler::Decision;

// `now`: nanoseconds since 1970. `cluster`: as cluster_of(view). `job`: looked at instead of the one in the table;
// null: that one.
Decision decide(const Scheduler& scheduler, const v1::Evaluation& eval, const ReadView& view, const Tables& tables,
                int64_t now, Cluster cluster, const v1::Job* job = nullptr);

// How allocations are placed where the operator has said nothing.
v1::SchedulerConfiguration default_configuration();

// All nodes with what the allocations of the snapshot take of them.
Cluster cluster_of(const ReadView& view, const Tables& tables);

// The evaluation that waits for the room that `eval` did not find.
v1::Evaluation waiting_for_room(const v1::Evaluation& eval, const RoomWait& wait, uint64_t snapshot_index,
                                std::string id);
// Writes into a blocked evaluation where room would help.
void describe_wait(const RoomWait& wait, uint64_t snapshot_index, v1::Evaluation& blocked);
// A blocked evaluation that goes on where `eval` ended.
v1::Evaluation blocked_after(const v1::Evaluation& eval, std::string id, std::string_view trigger,
                             std::string description);

}  // namespace drover::scheduler
