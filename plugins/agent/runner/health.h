// Decides whether an allocation is healthy, in its deployment or in the place of one that moved. Pure: time comes in.
//
//   watched ──its tasks have run for min_healthy_time, without a restart──▶ healthy
//      │      and its hooks' parts have been good for as long
//      └──────a task has failed, or healthy_deadline has passed───────────▶ unhealthy
//
// One decision for each deployment; that of the servers, when somebody made it by hand, stands above it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "drover/alloc_hook.h"
#include "lifecycle.h"

#include "agent_state.pb.h"

namespace drover::agent {

struct HealthRule {
  std::chrono::nanoseconds min_healthy_time{};
  std::chrono::nanoseconds healthy_deadline{};
  bool asks_hooks = true;  // false: the states of tasks say it all
};
// By the group's `update` block in a deployment, else by `migrate`. Nothing: nobody decides here; the job is no
// service, or its health is decided by hand.
std::optional<HealthRule> health_rule(const AllocSpec& spec);

struct TaskHealth {
  TaskStage stage = TaskStage::main;
  bool sidecar = false;
  v1::TaskState state;
};
// All that is known of an allocation's health.
struct HealthFacts {
  std::vector<TaskHealth> tasks;
  std::vector<PartHealth> parts = {};  // of the hooks that have something to say
};
struct HealthVerdict {
  std::optional<bool> healthy;  // nothing: not yet
  int64_t next = 0;             // look again then, nanoseconds since 1970, if nothing has changed before
};
// `began`: when the allocation began to be watched.
HealthVerdict judge_health(const HealthRule& rule, const HealthFacts& facts, int64_t began, int64_t now);

// Says why a task made its allocation unhealthy; empty: it did not. `began` as above.
std::string unhealthy_reason(const HealthRule& rule, const TaskHealth& task, int64_t began);
// Says the same of a hook's part; empty: it did not, or it speaks of other tasks.
std::string unhealthy_reason(const PartHealth& part, const std::string& task);

// The knowledge of one allocation's health. It outlives the agent by its row.
class HealthWatch {
 public:
  explicit HealthWatch(StoredHealth stored) : stored_(std::move(stored)) {}

  // Looks at the allocation as it is described and at what is known of it. True when the row has changed.
  bool look(const AllocSpec& spec, const HealthFacts& facts, int64_t now);
  // When to look again; 0: when something has changed.
  int64_t next() const { return next_; }
  // For the servers; nothing: they know more than this node.
  std::optional<v1::AllocDeploymentStatus> report(const AllocSpec& spec) const;
  const StoredHealth& stored() const { return stored_; }

 private:
  StoredHealth stored_;
  int64_t next_ = 0;
};

}  // namespace drover::agent
