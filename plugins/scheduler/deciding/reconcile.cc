#include "reconcile.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>
#include <utility>

#include "descriptions.h"
#include "drover/messages.h"
#include "drover/model/allocation.h"
#include "drover/model/job.h"
#include "reschedule.h"

namespace drover::scheduler {
namespace {

// Later than this is later; what is due sooner is done now.
constexpr int64_t kNowWindow = 1'000'000'000;

using Alloc = const v1::Allocation*;

bool ran_successfully(const v1::Allocation& alloc) { return alloc.client_status() == v1::CLIENT_STATUS_COMPLETE; }

// A task without what may change under a running one.
v1::Task fixed_part(const v1::Job& job, const v1::TaskGroup& group, v1::Task task) {
  std::map<std::string, std::string> meta;
  for (const auto* from : {&job.meta(), &group.meta(), &std::as_const(task).meta()}) {
    for (const auto& [key, value] : *from) meta[key] = value;
  }
  task.mutable_meta()->clear();
  for (const auto& [key, value] : meta) (*task.mutable_meta())[key] = value;
  task.clear_constraints();
  task.clear_services();
  task.clear_restart_policy();
  task.clear_kill_timeout();
  task.clear_shutdown_delay();
  task.clear_scaling_policies();
  const bool logs_off = task.log_config().disabled();
  task.clear_log_config();
  task.mutable_log_config()->set_disabled(logs_off);
  return task;
}

// The same of a group; what is left tells allocations apart.
std::string fixed_part(const v1::Job& job, v1::TaskGroup group) {
  for (v1::Task& task : *group.mutable_tasks()) task = fixed_part(job, group, task);
  std::ranges::sort(*group.mutable_tasks(), {}, &v1::Task::name);
  group.clear_count();
  group.clear_update();
  group.clear_migrate();
  group.clear_constraints();
  group.clear_restart_policy();
  group.clear_reschedule_policy();
  group.clear_meta();
  group.clear_services();
  group.clear_scaling();
  group.clear_shutdown_delay();
  return serialize(group);
}

bool node_is_gone(v1::NodeStatus status) {
  return status != v1::NODE_STATUS_READY && status != v1::NODE_STATUS_INITIALIZING;
}

class GroupReconciler {
 public:
  GroupReconciler(const ReconcileInput& input, const v1::TaskGroup& group, GroupPlan& plan)
      : input_(input), job_(*input.job), group_(group), plan_(plan), batch_(input.is_batch) {}

  void run(const std::vector<Alloc>& allocs) {
    for (Alloc alloc : allocs) classify(*alloc);
    stop_surplus();
    for (Alloc alloc : kept_) used_.insert(alloc->name());
    replace();
    add_missing();
    update();
    plan_.desired.set_ignore(count_.ignore);
    plan_.desired.set_place(count_.place);
    plan_.desired.set_migrate(count_.migrate);
    plan_.desired.set_stop(count_.stop);
    plan_.desired.set_in_place_update(plan_.in_place.size());
    plan_.desired.set_destructive_update(count_.destructive);
  }

 private:
  enum class Why { failed, migrate, lost };
  struct Replaced {
    Alloc alloc;
    Why why;
  };

  bool of_this_version(const v1::Allocation& alloc) const {
    return of_this_job(alloc) && alloc.job_version() == job_.version();
  }
  bool of_this_job(const v1::Allocation& alloc) const { return alloc.job_create_index() == job_.create_index(); }

  void classify(const v1::Allocation& alloc) {
    if (batch_ && terminal(alloc) && !of_this_version(alloc)) return;
    if (server_terminal(alloc)) {
      if (batch_ && ran_successfully(alloc)) kept_.push_back(&alloc);  // done is done
      return;
    }
    if (!client_terminal(alloc)) {
      const v1::NodeStatus node = input_.node_status(alloc.node_id());
      if (alloc.desired_transition().migrate()) {
        replaced_.push_back({&alloc, node_is_gone(node) ? Why::lost : Why::migrate});
      } else if (node_is_gone(node)) {
        replaced_.push_back({&alloc, Why::lost});
      } else {
        kept_.push_back(&alloc);
      }
      return;
    }
    if (alloc.client_status() == v1::CLIENT_STATUS_FAILED) {
      classify_failed(alloc);
    } else if (batch_) {
      kept_.push_back(&alloc);
    }
    // A service's completed or lost allocation leaves its place to another.
  }

  void classify_failed(const v1::Allocation& alloc) {
    if (!alloc.next_allocation().empty()) return;  // replaced already
    const v1::ReschedulePolicy& policy = group_.reschedule_policy();
    if (alloc.desired_transition().migrate() || alloc.desired_transition().force_reschedule() ||
        alloc.desired_transition().reschedule()) {
      replaced_.push_back({&alloc, Why::failed});
      return;
    }
    const auto due = next_try(alloc, policy);
    if (due && (*due - input_.now <= kNowWindow || alloc.followup_eval_id() == input_.eval_id)) {
      replaced_.push_back({&alloc, Why::failed});
      return;
    }
    // Waiting for its turn or given up: its place stays taken.
    if (due && alloc.followup_eval_id().empty()) plan_.later.push_back({alloc.id(), *due});
    kept_.push_back(&alloc);
  }

  // The count falls: those that do not run go first, then those with a name used twice, then the highest numbers.
  void stop_surplus() {
    int64_t surplus = static_cast<int64_t>(kept_.size()) - group_.count();
    if (surplus <= 0) return;
    std::map<std::string, Alloc> holder;  // of a name: the oldest one that runs
    for (Alloc alloc : kept_) {
      Alloc& first = holder[alloc->name()];
      if (!first || older(*alloc, *first)) first = alloc;
    }
    std::vector<Alloc> order;
    for (Alloc alloc : kept_) {
      if (!(batch_ && ran_successfully(*alloc))) order.push_back(alloc);
    }
    const auto rank = [&](Alloc alloc) {
      const int64_t index = name_index(alloc->name()).value_or(std::numeric_limits<int64_t>::max());
      return std::tuple(!client_terminal(*alloc), holder[alloc->name()] == alloc, -index, alloc->create_index(),
                        alloc->id());
    };
    std::ranges::sort(order, {}, rank);
    std::set<Alloc> stopped;
    for (Alloc alloc : order) {
      if (surplus-- <= 0) break;
      plan_.stops.push_back({alloc->id(), kNotNeeded});
      stopped.insert(alloc);
    }
    count_.stop += stopped.size();
    std::erase_if(kept_, [&](Alloc alloc) { return stopped.contains(alloc); });
    std::erase_if(plan_.later, [&](const Later& later) {
      return std::ranges::any_of(stopped, [&](Alloc alloc) { return alloc->id() == later.alloc_id; });
    });
  }

  static bool older(const v1::Allocation& a, const v1::Allocation& b) {
    return std::tuple(a.create_index(), a.id()) < std::tuple(b.create_index(), b.id());
  }

  // Those that must go are stopped; a successor takes the name while the count has room.
  void replace() {
    std::ranges::sort(replaced_, {}, [](const Replaced& r) {
      return std::tuple(r.why, name_index(r.alloc->name()).value_or(0), r.alloc->id());
    });
    for (const Replaced& replaced : replaced_) {
      const v1::Allocation& alloc = *replaced.alloc;
      const bool needed = total() < group_.count();
      if (replaced.why == Why::migrate) plan_.stops.push_back({alloc.id(), needed ? kMigrating : kNotNeeded});
      if (replaced.why == Why::lost) plan_.stops.push_back({alloc.id(), kLost, v1::CLIENT_STATUS_LOST});
      if (replaced.why == Why::failed && !needed) plan_.stops.push_back({alloc.id(), kNotNeeded});
      if (replaced.why == Why::lost || !needed) ++count_.stop;
      if (!needed) continue;
      ++(replaced.why == Why::migrate ? count_.migrate : count_.place);
      Placement placement{.name = alloc.name(), .previous = alloc.id()};
      const auto index = name_index(alloc.name());
      if (!index || *index >= group_.count() || used_.contains(alloc.name())) placement.name = free_name();
      used_.insert(placement.name);
      if (replaced.why == Why::failed) {
        placement.stop_previous = kRescheduled;
        placement.tracker = next_tracker(alloc, group_.reschedule_policy(), input_.now);
        for (const v1::RescheduleEvent& event : placement.tracker.events())
          placement.penalised.insert(event.prev_node_id());
      }
      plan_.placements.push_back(std::move(placement));
    }
  }

  void add_missing() {
    while (total() < group_.count()) {
      Placement placement{.name = free_name()};
      used_.insert(placement.name);
      plan_.placements.push_back(std::move(placement));
      ++count_.place;
    }
  }

  // Allocations of earlier versions take the new one: as they are where that is possible, else one after the other.
  void update() {
    std::vector<Alloc> destructive;
    int64_t starting = static_cast<int64_t>(plan_.placements.size());
    for (Alloc alloc : kept_) {
      if (of_this_version(*alloc)) {
        starting += !is_healthy(*alloc);
        continue;
      }
      if (server_terminal(*alloc)) continue;
      const v1::Job* from = of_this_job(*alloc) ? input_.version(alloc->job_version()) : nullptr;
      const v1::TaskGroup* old = from ? find_group(*from, group_.name()) : nullptr;
      const bool replace = !old || needs_replacement(*from, *old, job_, group_);
      if (replace || (!client_terminal(*alloc) && !input_.may_stay(*alloc, group_))) {
        destructive.push_back(alloc);
      } else if (!client_terminal(*alloc)) {
        plan_.in_place.push_back(alloc->id());
      }
    }
    std::ranges::sort(destructive, {}, [](Alloc alloc) {
      return std::tuple(!client_terminal(*alloc), name_index(alloc->name()).value_or(0), alloc->id());
    });
    int64_t allowed = static_cast<int64_t>(destructive.size());
    if (group_.has_update() && group_.update().max_parallel() > 0) {
      allowed = std::min(allowed, std::max<int64_t>(group_.update().max_parallel() - starting, 0));
    }
    for (int64_t i = 0; i < allowed; ++i) {
      const v1::Allocation& alloc = *destructive[static_cast<size_t>(i)];
      plan_.destructive.push_back({.name = alloc.name(), .previous = alloc.id(), .stop_previous = kUpdating});
      std::erase_if(plan_.later, [&](const Later& later) { return later.alloc_id == alloc.id(); });
    }
    if (allowed < static_cast<int64_t>(destructive.size())) plan_.recheck_at = healthy_at_;
    count_.destructive = static_cast<uint64_t>(allowed);
    count_.ignore = kept_.size() - plan_.in_place.size() - count_.destructive;
  }

  // True when it counts as arrived in a rolling update: its tasks have run for min_healthy_time without a restart.
  bool is_healthy(const v1::Allocation& alloc) {
    if (alloc.client_status() == v1::CLIENT_STATUS_COMPLETE) return true;
    if (alloc.client_status() != v1::CLIENT_STATUS_RUNNING) return false;
    int64_t since = 0;
    for (const auto& [name, task] : alloc.task_states()) {
      since = std::max({since, task.started_at(), task.last_restart()});
    }
    const int64_t healthy_at = since + group_.update().min_healthy_time();
    if (since == 0 || healthy_at <= input_.now) return true;
    healthy_at_ = std::min(healthy_at_.value_or(healthy_at), healthy_at);
    return false;
  }

  int64_t total() const { return static_cast<int64_t>(kept_.size() + plan_.placements.size()); }

  std::string free_name() {
    for (;; ++next_index_) {
      std::string name = alloc_name(job_.id(), group_.name(), next_index_);
      if (!used_.contains(name)) return name;
    }
  }

  const ReconcileInput& input_;
  const v1::Job& job_;
  const v1::TaskGroup& group_;
  GroupPlan& plan_;
  const bool batch_;
  std::vector<Alloc> kept_;  // take one of the group's places
  std::vector<Replaced> replaced_;
  std::set<std::string> used_;
  int64_t next_index_ = 0;
  std::optional<int64_t> healthy_at_;  // the earliest of those that are not healthy yet
  struct {
    uint64_t ignore = 0, place = 0, migrate = 0, stop = 0, destructive = 0;
  } count_;
};

void stop_all(const ReconcileInput& input, const std::vector<Alloc>& allocs, GroupPlan& plan) {
  for (Alloc alloc : allocs) {
    if (terminal(*alloc)) continue;
    if (node_is_gone(input.node_status(alloc->node_id()))) {
      plan.stops.push_back({alloc->id(), kLost, v1::CLIENT_STATUS_LOST});
    } else {
      plan.stops.push_back({alloc->id(), kNotNeeded});
    }
    plan.desired.set_stop(plan.desired.stop() + 1);
  }
}

// Stopped ones whose node went down before it could say that they ended.
void lose_stopped(const ReconcileInput& input, const std::vector<Alloc>& allocs, GroupPlan& plan) {
  for (Alloc alloc : allocs) {
    if (server_terminal(*alloc) && !client_terminal(*alloc) && node_is_gone(input.node_status(alloc->node_id()))) {
      plan.stops.push_back({alloc->id(), kLost, v1::CLIENT_STATUS_LOST});
    }
  }
}

}  // namespace

bool needs_replacement(const v1::Job& from, const v1::TaskGroup& from_group, const v1::Job& to,
                       const v1::TaskGroup& to_group) {
  return fixed_part(from, from_group) != fixed_part(to, to_group);
}

std::set<std::string> replacing_tasks(const v1::Job& from, const v1::TaskGroup& from_group, const v1::Job& to,
                                      const v1::TaskGroup& to_group) {
  const auto parts_of = [](const v1::Job& job, const v1::TaskGroup& group) {
    std::map<std::string, std::string> parts;
    for (const v1::Task& task : group.tasks()) parts[task.name()] = serialize(fixed_part(job, group, task));
    return parts;
  };
  const auto before = parts_of(from, from_group), after = parts_of(to, to_group);
  std::set<std::string> names;
  for (const auto& [name, part] : before) {
    if (auto at = after.find(name); at == after.end() || at->second != part) names.insert(name);
  }
  for (const auto& [name, part] : after) {
    if (!before.contains(name)) names.insert(name);
  }
  return names;
}

std::optional<int64_t> name_index(std::string_view name) {
  const size_t open = name.rfind('[');
  if (open == std::string_view::npos || !name.ends_with(']')) return std::nullopt;
  int64_t index = 0;
  const char* last = name.data() + name.size() - 1;
  auto [end, error] = std::from_chars(name.data() + open + 1, last, index);
  if (error != std::errc() || end != last || index < 0) return std::nullopt;
  return index;
}

std::string alloc_name(std::string_view job_id, std::string_view group, int64_t index) {
  return std::string(job_id) + "." + std::string(group) + "[" + std::to_string(index) + "]";
}

Reconciled reconcile(const ReconcileInput& input) {
  std::map<std::string, std::vector<Alloc>> by_group;
  for (const v1::Allocation& alloc : input.allocs) by_group[alloc.task_group()].push_back(&alloc);
  const bool wanted = input.job && !input.job->stop();
  if (wanted) {
    for (const v1::TaskGroup& group : input.job->task_groups()) by_group[group.name()];
  }
  Reconciled result;
  for (const auto& [name, allocs] : by_group) {
    GroupPlan& plan = result.groups[name];
    lose_stopped(input, allocs, plan);
    const v1::TaskGroup* group = wanted ? find_group(*input.job, name) : nullptr;
    if (group) {
      GroupReconciler(input, *group, plan).run(allocs);
    } else {
      stop_all(input, allocs, plan);
    }
  }
  return result;
}

}  // namespace drover::scheduler
