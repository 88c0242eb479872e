// Decides what an allocation's tasks may do next, and the allocation's client status. Pure.
//
//   prestart ──ephemeral ones done, sidecars running──▶ main ──all running──▶ poststart
//   all of these dead ──▶ poststop
//
// A failed task ends its siblings; so does the end of the leader. When only sidecars are left they end too. The leader
// is stopped before the others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drover {
struct AllocSpec;
}
namespace drover::v1 {
class Task;
}

namespace drover::agent {

// The servers no longer want it to run.
bool wants_stop(const AllocSpec& spec);

enum class TaskStage : uint8_t { main, prestart, poststart, poststop };

struct TaskView {
  enum class Progress : uint8_t { waiting, starting, running, dead };  // between restarts: starting
  std::string name;
  TaskStage stage = TaskStage::main;
  bool sidecar = false;
  bool leader = false;
  Progress progress = Progress::waiting;
  bool failed = false;
};

struct LifecycleDecision {
  enum class KillReason : uint8_t { none, stop, sibling_failed, leader_dead, main_dead };
  std::vector<std::string> start;  // may start now
  std::vector<std::string> kill;   // must end now
  KillReason reason = KillReason::none;
  std::string failed_sibling;
  bool done = false;  // every task is dead
};

// `stopping`: the servers want the allocation to end. Repeating a decision already carried out does no harm.
LifecycleDecision decide_lifecycle(std::span<const TaskView> tasks, bool stopping);

TaskStage task_stage(const v1::Task& task);
// Started again even after success: see restart_rule.
bool is_long_running(const v1::Task& task, std::string_view job_type);

enum class AllocStatus : uint8_t { pending, running, complete, failed };
struct StatusView {
  AllocStatus status;
  std::string_view description;
};
StatusView alloc_status(std::span<const TaskView> tasks);

}  // namespace drover::agent
