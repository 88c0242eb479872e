#include "health.h"

#include <algorithm>

#include "drover/duration.h"
#include "drover/v1/job.pb.h"

namespace drover::agent {
namespace {

using std::chrono::nanoseconds;

bool has_failed(const TaskHealth& task) {
  if (task.stage == TaskStage::poststop) return false;
  if (task.state.failed()) return true;
  // Those beside the main tasks may end when they have done their work.
  return task.state.state() == "dead" && (task.stage == TaskStage::main || task.sidecar);
}

bool is_up(const TaskHealth& task) {
  if (task.stage == TaskStage::poststop) return true;
  return task.state.state() == "running" || task.state.state() == "dead";
}

// "checks", which is also the default; the other is "task_states".
bool asks_hooks(const std::string& health_check) { return health_check != "task_states"; }

bool is_good(const PartHealth& part) { return part.is_good; }

}  // namespace

std::optional<HealthRule> health_rule(const AllocSpec& spec) {
  if (!spec.group || spec.job->type() != "service") return std::nullopt;
  if (spec.allocation->deployment_id().empty()) {
    const v1::MigrateStrategy& migrate = spec.group->migrate();
    if (!spec.group->has_migrate()) return std::nullopt;
    return HealthRule{nanoseconds(migrate.min_healthy_time()), nanoseconds(migrate.healthy_deadline()),
                      asks_hooks(migrate.health_check())};
  }
  const v1::UpdateStrategy& update = spec.group->update();
  if (!spec.group->has_update() || update.health_check() == "manual") return std::nullopt;
  return HealthRule{nanoseconds(update.min_healthy_time()), nanoseconds(update.healthy_deadline()),
                    asks_hooks(update.health_check())};
}

HealthVerdict judge_health(const HealthRule& rule, const HealthFacts& facts, int64_t began, int64_t now) {
  if (std::ranges::any_of(facts.tasks, has_failed)) return {.healthy = false};
  const int64_t deadline = began + rule.healthy_deadline.count();
  const bool are_parts_good = !rule.asks_hooks || std::ranges::all_of(facts.parts, is_good);
  if (!are_parts_good || !std::ranges::all_of(facts.tasks, is_up)) {
    if (now >= deadline) return {.healthy = false};
    return {.healthy = {}, .next = deadline};
  }
  int64_t good_since = 0;
  for (const TaskHealth& task : facts.tasks) {
    if (task.stage != TaskStage::poststop) good_since = std::max(good_since, task.state.started_at());
  }
  for (const PartHealth& part : facts.parts) {
    if (rule.asks_hooks) good_since = std::max(good_since, part.since_ns);
  }
  const int64_t proved = good_since + rule.min_healthy_time.count();
  if (now >= proved) return {.healthy = true};
  if (now >= deadline) return {.healthy = false};
  return {.healthy = {}, .next = std::min(proved, deadline)};
}

std::string unhealthy_reason(const HealthRule& rule, const TaskHealth& task, int64_t began) {
  if (has_failed(task)) return "Unhealthy because of failed task";
  const std::string deadline = "healthy_deadline of " + format_duration(rule.healthy_deadline);
  if (!is_up(task)) return "Task not running by " + deadline;
  const int64_t proved = task.state.started_at() + rule.min_healthy_time.count();
  if (task.state.state() != "running" || proved <= began + rule.healthy_deadline.count()) return {};
  return "Task not running for min_healthy_time of " + format_duration(rule.min_healthy_time) + " by " + deadline;
}

std::string unhealthy_reason(const PartHealth& part, const std::string& task) {
  if (part.is_good) return {};
  std::string text;
  for (const PartHealth::Fault& fault : part.faults) {
    if (fault.task.empty() || fault.task == task) text += (text.empty() ? "" : "; ") + fault.why;
  }
  return text;
}

bool HealthWatch::look(const AllocSpec& spec, const HealthFacts& facts, int64_t now) {
  next_ = 0;
  const auto rule = health_rule(spec);
  if (!rule || spec.allocation->deployment_status().has_healthy()) return false;
  bool is_changed = false;
  if (stored_.began() == 0 || stored_.deployment_id() != spec.allocation->deployment_id()) {
    stored_.Clear();
    stored_.set_deployment_id(spec.allocation->deployment_id());
    stored_.set_began(now);
    is_changed = true;
  }
  if (stored_.has_healthy()) return is_changed;
  const HealthVerdict verdict = judge_health(*rule, facts, stored_.began(), now);
  next_ = verdict.next;
  if (!verdict.healthy) return is_changed;
  stored_.set_healthy(*verdict.healthy);
  stored_.set_decided(now);
  return true;
}

std::optional<v1::AllocDeploymentStatus> HealthWatch::report(const AllocSpec& spec) const {
  const bool is_of_it = stored_.deployment_id() == spec.allocation->deployment_id();
  if (!stored_.has_healthy() || !is_of_it || spec.allocation->deployment_status().has_healthy()) return std::nullopt;
  v1::AllocDeploymentStatus status = spec.allocation->deployment_status();
  status.set_healthy(stored_.healthy());
  status.set_timestamp(stored_.decided());
  return status;
}

}  // namespace drover::agent
