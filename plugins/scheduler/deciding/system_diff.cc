#include "system_diff.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "descriptions.h"
#include "drover/model/allocation.h"
#include "drover/model/job.h"
#include "names.h"
#include "updates.h"

namespace drover::scheduler {
namespace {

bool is_gone(v1::NodeStatus status) { return status == v1::NODE_STATUS_UNSPECIFIED || status == v1::NODE_STATUS_DOWN; }

class Diff {
 public:
  explicit Diff(const SystemInput& input) : input_(input), wanted_(input.job && !input.job->stop()) {
    if (!wanted_) return;
    const v1::UpdateStrategy& update = input.job->update();
    if (update.max_parallel() > 0 && update.stagger() > 0) replacements_left_ = update.max_parallel();
  }

  SystemDiff run() {
    for (const v1::Allocation& alloc : input_.allocs) {
      lose_if_stopped(alloc);
      if (terminal(alloc) && !needs_reconnect(alloc)) {
        remember(alloc);
      } else {
        look_at(alloc);
      }
    }
    if (wanted_) {
      for (const v1::TaskGroup& group : input_.job->task_groups()) place(group);
    }
    return std::move(diff_);
  }

 private:
  using Slot = std::pair<std::string_view, std::string_view>;  // node and name
  struct HashOfSlot {
    size_t operator()(const Slot& slot) const {
      const std::hash<std::string_view> hash;
      return hash(slot.first) * 31 + hash(slot.second);
    }
  };

  SystemGroupPlan& plan_of(const v1::Allocation& alloc) { return diff_.groups[alloc.task_group()]; }

  bool is_of_version(const v1::Allocation& alloc) const {
    return alloc.job_create_index() == input_.job->create_index() && alloc.job_version() == input_.job->version();
  }
  const v1::Job* version_of(const v1::Allocation& alloc) const {
    if (alloc.job_create_index() != input_.job->create_index()) return nullptr;
    return is_of_version(alloc) ? input_.job : input_.version(alloc.job_version());
  }

  void stop(const v1::Allocation& alloc, const char* why, v1::ClientStatus status = v1::CLIENT_STATUS_UNSPECIFIED) {
    SystemGroupPlan& plan = plan_of(alloc);
    plan.stops.push_back({alloc.id(), why, status});
    plan.desired.set_stop(plan.desired.stop() + 1);
  }
  void ignore(const v1::Allocation& alloc) {
    taken_.insert({alloc.node_id(), alloc.name()});
    v1::DesiredUpdates& desired = plan_of(alloc).desired;
    desired.set_ignore(desired.ignore() + 1);
  }

  // A stopped one whose node went down before it could say that it ended.
  void lose_if_stopped(const v1::Allocation& alloc) {
    if (server_terminal(alloc) && !client_terminal(alloc) && is_gone(input_.node_status(alloc.node_id()))) {
      plan_of(alloc).stops.push_back({alloc.id(), kLost, v1::CLIENT_STATUS_LOST});
    }
  }

  // What is over is the predecessor of what comes to its place, and for sysbatch the proof that nothing need come.
  void remember(const v1::Allocation& alloc) {
    const v1::Allocation*& last = ended_[{alloc.node_id(), alloc.name()}];
    if (!last || last->create_index() < alloc.create_index()) last = &alloc;
  }

  void look_at(const v1::Allocation& alloc) {
    const v1::NodeStatus node = input_.node_status(alloc.node_id());
    const v1::TaskGroup* group = wanted_ ? find_group(*input_.job, alloc.task_group()) : nullptr;
    if (!group || name_index(alloc.name()).value_or(INT64_MAX) >= group->count()) {
      if (server_terminal(alloc)) return;
      return is_gone(node) ? stop(alloc, kLost, v1::CLIENT_STATUS_LOST) : stop(alloc, kNotNeeded);
    }
    const v1::Job* job = version_of(alloc);
    const v1::TaskGroup* own = job ? find_group(*job, group->name()) : group;
    const auto window = own ? lost_after(*own) : std::nullopt;
    const bool keeps_place =
        !replaces_disconnected(*group) && node != v1::NODE_STATUS_UNSPECIFIED && !alloc.desired_transition().migrate();
    const bool supports = window || keeps_place;
    const bool is_lost = is_gone(node) && (!keeps_place || server_terminal(alloc));
    if (alloc.desired_transition().migrate() && !is_gone(node)) return stop(alloc, kNodeTainted);
    if (window && !keeps_place && expired(alloc, *own, input_.now)) return stop(alloc, kLost, v1::CLIENT_STATUS_LOST);
    if (alloc.client_status() == v1::CLIENT_STATUS_UNKNOWN && !is_lost) return ignore(alloc);
    if (supports && needs_reconnect(alloc) && node != v1::NODE_STATUS_DISCONNECTED && !is_gone(node)) {
      if (terminal(alloc)) return remember(alloc);
      plan_of(alloc).reconnected.push_back(alloc.id());
      taken_.insert({alloc.node_id(), alloc.name()});
      return;
    }
    if ((node == v1::NODE_STATUS_DISCONNECTED || is_gone(node)) && !is_lost && supports &&
        alloc.client_status() == v1::CLIENT_STATUS_RUNNING) {
      plan_of(alloc).unknown.push_back({alloc.id(), window ? input_.now + *window : Later::kNever});
      taken_.insert({alloc.node_id(), alloc.name()});
      return;
    }
    if (is_gone(node) || node == v1::NODE_STATUS_DISCONNECTED) return stop(alloc, kLost, v1::CLIENT_STATUS_LOST);
    // Nobody waits for its return any more.
    if (client_terminal(alloc)) return remember(alloc);
    if (!input_.nodes.contains(alloc.node_id())) {
      // Where the node only takes no new work, what runs there stays.
      return input_.in_reach(alloc.node_id()) ? ignore(alloc) : stop(alloc, kNotNeeded);
    }
    if (is_of_version(alloc)) return ignore(alloc);
    update(alloc, *group, job, own);
  }

  void update(const v1::Allocation& alloc, const v1::TaskGroup& group, const v1::Job* from,
              const v1::TaskGroup* from_group) {
    SystemGroupPlan& plan = plan_of(alloc);
    taken_.insert({alloc.node_id(), alloc.name()});
    const bool replace = !from || !from_group || needs_replacement(*from, *from_group, *input_.job, group);
    if (!replace && input_.may_stay(alloc, group)) {
      plan.in_place.push_back(alloc.id());
      plan.desired.set_in_place_update(plan.desired.in_place_update() + 1);
      return;
    }
    if (replacements_left_ && *replacements_left_ == 0) {
      diff_.more_later = true;
      plan.desired.set_ignore(plan.desired.ignore() + 1);
      return;
    }
    if (replacements_left_) --*replacements_left_;
    plan.placements.push_back(
        {.node_id = alloc.node_id(), .name = alloc.name(), .previous = alloc.id(), .stop_previous = kUpdating});
    plan.desired.set_destructive_update(plan.desired.destructive_update() + 1);
  }

  void place(const v1::TaskGroup& group) {
    SystemGroupPlan& plan = diff_.groups[group.name()];
    std::vector<std::string> names;
    for (int64_t i = 0; i < group.count(); ++i) names.push_back(alloc_name(input_.job->name(), group.name(), i));
    for (const std::string& node : input_.nodes) {
      for (const std::string& name : names) {
        if (taken_.contains({node, name})) continue;
        SystemPlacement placement{.node_id = node, .name = name};
        if (const auto at = ended_.find({node, name}); at != ended_.end()) {
          const v1::Allocation& last = *at->second;
          if (input_.is_sysbatch && is_done(last)) {
            plan.desired.set_ignore(plan.desired.ignore() + 1);
            continue;
          }
          placement.previous = last.next_allocation().empty() ? last.id() : "";
        }
        plan.placements.push_back(std::move(placement));
        plan.desired.set_place(plan.desired.place() + 1);
      }
    }
  }

  // A node does a sysbatch job's version once, whatever came of it; unless the servers stopped it half-way.
  bool is_done(const v1::Allocation& alloc) const {
    return is_of_version(alloc) && (client_terminal(alloc) && alloc.client_status() != v1::CLIENT_STATUS_LOST) &&
           !(server_terminal(alloc) && alloc.client_status() != v1::CLIENT_STATUS_COMPLETE);
  }

  const SystemInput& input_;
  const bool wanted_;
  std::optional<int64_t> replacements_left_ = std::nullopt;  // nothing: as many as there are
  std::unordered_set<Slot, HashOfSlot> taken_;
  std::unordered_map<Slot, const v1::Allocation*, HashOfSlot> ended_;
  SystemDiff diff_;
};

}  // namespace

SystemDiff system_diff(const SystemInput& input) { return Diff(input).run(); }

}  // namespace drover::scheduler
