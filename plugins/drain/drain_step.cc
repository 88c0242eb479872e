#include "drain_step.h"

#include <algorithm>
#include <map>
#include <set>

#include "drover/model/allocation.h"
#include "drover/model/csi_volume.h"
#include "drover/model/job.h"

namespace drover::drain {
namespace {

// Deadlines within this of each other are dealt with together.
constexpr int64_t kWindow = 5'000'000'000;

// Known to work or not to work; without a deployment it works when it runs.
bool has_health(const v1::Allocation& alloc) {
  if (alloc.deployment_status().has_healthy()) return true;
  return alloc.deployment_id().empty() && alloc.client_status() == v1::CLIENT_STATUS_RUNNING;
}

// System jobs leave when all others are gone, and so do storage plugins, which the others' volumes need to the end.
bool leaves_last(const v1::Job& job) { return runs_everywhere(job) || runs_csi_plugin(job); }

class Step {
 public:
  explicit Step(const DrainInput& input) : input_(input) {
    for (const v1::Node& node : input.nodes) nodes_[node.id()].node = &node;
  }

  DrainStep run() {
    for (size_t i = 0; i < input_.jobs.size(); ++i) count(i);
    // A deadline that is near a passed one is passed, too: a drain of many nodes ends as one.
    const bool any_due = std::ranges::any_of(nodes_, [this](const auto& at) { return is_due(at.second, 0); });
    for (auto& [id, at] : nodes_) {
      if (any_due && is_due(at, kWindow)) at.forced = true;
    }
    for (size_t i = 0; i < input_.jobs.size(); ++i) move(i);
    for (const auto& [id, at] : nodes_) finish(id, at);
    return std::move(step_);
  }

 private:
  struct At {
    const v1::Node* node;
    int left = 0;         // allocations of other jobs than system jobs
    int system_left = 0;  // that the drain does not ignore
    bool forced = false;
  };

  bool is_due(const At& at, int64_t window) const {
    const v1::DrainStrategy& strategy = at.node->drain_strategy();
    return strategy.deadline() < 0 ||
           (strategy.force_deadline() > 0 && strategy.force_deadline() <= input_.now + window);
  }

  At* draining(const v1::Allocation& alloc) {
    const auto at = nodes_.find(alloc.node_id());
    return at == nodes_.end() ? nullptr : &at->second;
  }

  void count(size_t index) {
    const DrainInput::JobAllocs& each = input_.jobs[index];
    for (const v1::Allocation& alloc : each.allocs) {
      At* at = draining(alloc);
      if (!at || client_terminal(alloc)) continue;
      if (each.job && leaves_last(*each.job)) {
        at->system_left += !at->node->drain_strategy().ignore_system_jobs();
      } else {
        ++at->left;
      }
    }
  }

  void move(size_t index) {
    const DrainInput::JobAllocs& each = input_.jobs[index];
    const bool is_last = each.job && leaves_last(*each.job);
    std::map<std::string, std::vector<const v1::Allocation*>> movable;  // by group
    std::set<std::string> leaving;
    for (const v1::Allocation& alloc : each.allocs) {
      At* at = draining(alloc);
      if (!at || terminal(alloc) || alloc.desired_transition().migrate()) continue;
      if (is_last && at->node->drain_strategy().ignore_system_jobs()) continue;
      if (at->forced || (is_last && at->left == 0)) {
        step_.moves.push_back({alloc.id(), index, /*spares=*/false});
        leaving.insert(alloc.id());
      } else if (each.job && !is_last && each.job->type() == "service") {
        movable[alloc.task_group()].push_back(&alloc);
      }
    }
    for (auto& [name, allocs] : movable) {
      const int64_t all = static_cast<int64_t>(allocs.size());
      const int64_t allowed = std::min(may_move(*each.job, name, each.allocs, leaving).value_or(all), all);
      std::ranges::sort(allocs, {}, [](const v1::Allocation* alloc) { return alloc->name(); });
      for (int64_t i = 0; i < allowed; ++i) {
        step_.moves.push_back({allocs[static_cast<size_t>(i)]->id(), index, /*spares=*/true});
      }
    }
  }

  void finish(const std::string& id, const At& at) {
    if (at.forced || (at.left == 0 && at.system_left == 0)) {
      step_.done.push_back({id, at.forced && at.left + at.system_left > 0});
      return;
    }
    const int64_t deadline = at.node->drain_strategy().force_deadline();
    if (deadline > 0) step_.look_again_at = std::min(step_.look_again_at.value_or(deadline), deadline);
  }

  const DrainInput& input_;
  std::map<std::string, At> nodes_;
  DrainStep step_;
};

}  // namespace

DrainStep drain_step(const DrainInput& input) { return Step(input).run(); }

std::optional<int64_t> may_move(const v1::Job& job, const std::string& name, const std::vector<v1::Allocation>& allocs,
                                const std::set<std::string>& leaving) {
  const v1::TaskGroup* group = job.type() == "service" ? find_group(job, name) : nullptr;
  if (!group) return std::nullopt;
  // Those that were told to move and still run are healthy no longer than that.
  const auto healthy = std::ranges::count_if(allocs, [&](const v1::Allocation& alloc) {
    return alloc.task_group() == name && !terminal(alloc) && has_health(alloc) &&
           !alloc.desired_transition().migrate() && !leaving.contains(alloc.id());
  });
  return healthy - (group->count() - std::max(group->migrate().max_parallel(), 1));
}

}  // namespace drover::drain
