#include "lifecycle.h"

#include <algorithm>

#include "drover/hook.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"

namespace drover::agent {
namespace {

using Progress = TaskView::Progress;
using KillReason = LifecycleDecision::KillReason;

bool is_dead(const TaskView& task) { return task.progress == Progress::dead; }

bool prestart_done(std::span<const TaskView> tasks) {
  return std::ranges::all_of(tasks, [](const TaskView& task) {
    if (task.stage != TaskStage::prestart) return true;
    return (task.sidecar && task.progress == Progress::running) || (is_dead(task) && !task.failed);
  });
}

// Those that have already ended count: a short main task must not keep the poststart tasks waiting for ever.
bool main_running(std::span<const TaskView> tasks) {
  return std::ranges::all_of(tasks, [](const TaskView& task) {
    return task.stage != TaskStage::main || task.progress == Progress::running || is_dead(task);
  });
}

bool may_start(const TaskView& task, std::span<const TaskView> tasks) {
  switch (task.stage) {
    case TaskStage::prestart:
      return true;
    case TaskStage::main:
      return prestart_done(tasks);
    case TaskStage::poststart:
      return main_running(tasks);
    case TaskStage::poststop:
      return std::ranges::all_of(tasks, [](const TaskView& t) { return t.stage == TaskStage::poststop || is_dead(t); });
  }
  return false;
}

}  // namespace

bool wants_stop(const AllocSpec& spec) {
  return spec.allocation->desired_status() == v1::DESIRED_STATUS_STOP ||
         spec.allocation->desired_status() == v1::DESIRED_STATUS_EVICT;
}

LifecycleDecision decide_lifecycle(std::span<const TaskView> tasks, bool stopping) {
  LifecycleDecision decision;
  decision.done = std::ranges::all_of(tasks, is_dead);
  std::vector<const TaskView*> live;
  bool any_ran = false;
  for (const TaskView& task : tasks) {
    if (task.stage == TaskStage::poststop) continue;
    if (!is_dead(task)) live.push_back(&task);
    if (task.progress != Progress::waiting) any_ran = true;
  }
  if (stopping) decision.reason = KillReason::stop;
  for (const TaskView& task : tasks) {
    if (decision.reason != KillReason::none || task.stage == TaskStage::poststop || !is_dead(task)) continue;
    if (task.failed) {
      decision.reason = KillReason::sibling_failed;
      decision.failed_sibling = task.name;
    } else if (task.leader) {
      decision.reason = KillReason::leader_dead;
    }
  }
  if (decision.reason == KillReason::none && any_ran && !live.empty() &&
      std::ranges::all_of(live, [](const TaskView* task) { return task->sidecar; })) {
    const bool has_ephemeral =
        std::ranges::any_of(tasks, [](const TaskView& t) { return !t.sidecar && t.stage != TaskStage::poststop; });
    if (has_ephemeral) decision.reason = KillReason::main_dead;
  }

  if (decision.reason != KillReason::none) {
    auto leader =
        std::ranges::find_if(live, [](const TaskView* t) { return t->leader && t->progress != Progress::waiting; });
    if (leader != live.end() && live.size() > 1) {
      decision.kill.push_back((*leader)->name);
    } else {
      for (const TaskView* task : live) decision.kill.push_back(task->name);
    }
    if (live.empty()) {
      for (const TaskView& task : tasks) {
        if (task.stage == TaskStage::poststop && task.progress == Progress::waiting)
          decision.start.push_back(task.name);
      }
    }
    return decision;
  }
  for (const TaskView& task : tasks) {
    if (task.progress == Progress::waiting && may_start(task, tasks)) decision.start.push_back(task.name);
  }
  return decision;
}

TaskStage task_stage(const v1::Task& task) {
  const std::string& hook = task.lifecycle().hook();
  if (hook == "prestart") return TaskStage::prestart;
  if (hook == "poststart") return TaskStage::poststart;
  if (hook == "poststop") return TaskStage::poststop;
  return TaskStage::main;
}

bool is_long_running(const v1::Task& task, std::string_view job_type) {
  if (task_stage(task) != TaskStage::main) return task.lifecycle().sidecar();
  return job_type == "service" || job_type == "system";
}

StatusView alloc_status(std::span<const TaskView> tasks) {
  bool failed = false, running = false, pending = false;
  for (const TaskView& task : tasks) {
    if (is_dead(task)) {
      failed = failed || task.failed;
    } else if (task.progress == Progress::running) {
      running = true;
    } else {
      pending = true;
    }
  }
  if (failed) return {AllocStatus::failed, "Failed tasks"};
  if (running) return {AllocStatus::running, "Tasks are running"};
  if (pending) return {AllocStatus::pending, "No tasks have started"};
  return {AllocStatus::complete, "All tasks have completed"};
}

}  // namespace drover::agent
