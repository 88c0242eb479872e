// One decision on a snapshot: reads what an evaluation needs and has a scheduler decide. Writes nothing. [any]
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "drover/scheduler.h"
#include "drover/tables.h"
#include "drover/v1/deployment.pb.h"
#include "placing/place.h"
#include "tables.h"

namespace drover::scheduler {

using Decision = Scheduler::Decision;

// What is read of a snapshot for the evaluation of a job. Requires: view and tables outlive it.
class DecisionInput {
 public:
  // `other_job`: looked at instead of the one in the table; null: that one.
  DecisionInput(v1::Evaluation eval, const ReadView& view, const Tables& tables, const v1::Job* other_job = nullptr);

  v1::Evaluation eval;
  std::optional<v1::Job> job;  // nothing: it is gone
  std::vector<v1::Allocation> allocs;
  std::vector<v1::Deployment> deployments;  // the newest first
  v1::SchedulerConfiguration config;
  std::function<std::string()> new_id;  // of what the decision makes (packing/ids.h)

  const ReadView& view() const { return view_; }
  const Tables& tables() const { return tables_; }

 private:
  const ReadView& view_;
  const Tables& tables_;
};

// `now`: nanoseconds since 1970. `cluster`: as cluster_of(view); it is left with what the decision places, and without
// what makes room for that.
Decision decide_on(const Scheduler& scheduler, const DecisionInput& input, int64_t now, Cluster& cluster);

// How allocations are placed where the operator has said nothing.
v1::SchedulerConfiguration default_configuration();
// Puts the settings of the job's node pool in the place of those for all.
void adopt_pool(const ReadView& view, const Tables& tables, const v1::Job& job, v1::SchedulerConfiguration& config);
// The settings for a job. `job`: null for those for all.
v1::SchedulerConfiguration configuration_for(const ReadView& view, const Tables& tables, const v1::Job* job);

// All nodes with what the allocations of the snapshot take of them.
Cluster cluster_of(const ReadView& view, const Tables& tables);

// The evaluation that waits for the room that `eval` did not find.
v1::Evaluation waiting_for_room(const v1::Evaluation& eval, const RoomWait& wait, uint64_t snapshot_index,
                                std::string id);
// Writes into a blocked evaluation where room would help.
void describe_wait(const RoomWait& wait, uint64_t snapshot_index, v1::Evaluation& blocked);
// The evaluation as the decision leaves it, and those that go on waiting for room.
std::vector<v1::Evaluation> end_of(v1::Evaluation eval, const Decision& decision, uint64_t snapshot_index);
// A blocked evaluation that goes on where `eval` ended.
v1::Evaluation blocked_after(const v1::Evaluation& eval, std::string id, std::string_view trigger,
                             std::string description);

}  // namespace drover::scheduler
