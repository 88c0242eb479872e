#include "group_reconciler.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "alloc_set.h"
#include "descriptions.h"
#include "drover/model/allocation.h"
#include "drover/model/deployment.h"
#include "drover/model/job.h"
#include "holders.h"
#include "names.h"
#include "reschedule.h"
#include "sorting.h"
#include "updates.h"

namespace drover::scheduler {
namespace {

// Later than this is later; what is due sooner is done now.
constexpr int64_t kNowWindow = 1'000'000'000;

bool is_canary(const v1::Allocation& alloc) { return alloc.deployment_status().canary(); }

int64_t size_of(const auto& container) { return static_cast<int64_t>(container.size()); }

class GroupReconciler {
 public:
  GroupReconciler(const ReconcileInput& input, const v1::TaskGroup& group, Rollout& rollout, GroupPlan& plan)
      : input_(input),
        job_(*input.job),
        group_(group),
        rollout_(rollout),
        plan_(plan),
        batch_(input.is_batch),
        names_(job_.id(), group.name(), group.count()) {}

  // Returns true when nothing is left to do for the deployment.
  bool run(Allocs all) {
    open_state();
    ignore_finished(all);
    take_canaries(all);
    by_ = split(all, input_.now, replaces_disconnected(group_), input_.node_status,
                [this](const v1::Allocation& alloc) { return group_of(alloc); });
    count_.ignore += by_.ignore.size();
    reconnect();
    find_rescheduled();
    find_lost_later();
    mark_unknown();
    names_.take(by_.untainted);
    names_.take(by_.migrate);
    for (const Reschedule& one : reschedule_) names_.take({one.alloc});
    names_.take(by_.lost);
    stop_surplus();
    find_updates();
    if (is_canarying()) AllocSet(canaries_).erase_from(by_.untainted);
    const bool needs_canaries = place_canaries();
    place_missing();
    update_destructively();
    migrate();
    open_deployment(all);
    write_counts();
    return is_complete(needs_canaries);
  }

 private:
  struct Reschedule {
    Alloc alloc;
    bool is_disconnecting;  // it is not stopped: it may come back
  };

  bool is_of_job(const v1::Allocation& alloc) const { return alloc.job_create_index() == job_.create_index(); }
  bool is_of_version(const v1::Allocation& alloc) const {
    return is_of_job(alloc) && alloc.job_version() == job_.version();
  }
  const v1::TaskGroup* group_of(const v1::Allocation& alloc) const {
    const v1::Job* job = is_of_version(alloc) ? &job_
                         : is_of_job(alloc)   ? input_.version(alloc.job_version())
                                              : nullptr;
    return job ? find_group(*job, group_.name()) : &group_;
  }
  bool is_of_deployment(const v1::Allocation& alloc) const {
    return rollout_.current && alloc.deployment_id() == rollout_.current->id();
  }
  bool has_all_healthy() const {
    return state_.healthy_allocs() >= std::max(state_.desired_total(), state_.desired_canaries()) && !is_canarying();
  }
  bool was_canary(const v1::Allocation& alloc) const {
    return std::ranges::find(state_.placed_canaries(), alloc.id()) != state_.placed_canaries().end();
  }
  bool rolls() const { return input_.deploys && group_.has_update() && group_.update().max_parallel() > 0; }
  bool is_canarying() const { return state_.desired_canaries() > 0 && !state_.promoted(); }
  bool is_judged_canary(const v1::Allocation& alloc) const { return is_canarying() && was_canary(alloc); }
  // Placing and replacing wait for nobody's decision.
  bool goes_on() const { return !rollout_.paused() && !rollout_.failed() && !is_canarying(); }

  void stop(const v1::Allocation& alloc, const char* why,
            v1::ClientStatus client_status = v1::CLIENT_STATUS_UNSPECIFIED) {
    plan_.stops.push_back({alloc.id(), why, client_status});
  }

  // The group's part of the deployment: of the one there is, or of one that may be made.
  void open_state() {
    if (rollout_.current) {
      if (const auto at = rollout_.current->task_groups().find(group_.name());
          at != rollout_.current->task_groups().end()) {
        state_ = at->second;
        has_state_ = true;
        return;
      }
    }
    if (!rolls()) return;
    state_.set_auto_revert(group_.update().auto_revert());
    state_.set_auto_promote(group_.update().auto_promote());
    state_.set_progress_deadline(group_.update().progress_deadline());
  }

  // What a batch job did in an earlier version is history.
  void ignore_finished(Allocs& all) {
    if (!batch_) return;
    count_.ignore += std::erase_if(all, [this](Alloc alloc) { return terminal(*alloc) && !is_of_version(*alloc); });
  }

  // Stops canaries that nobody will promote any more, and sets aside those that are judged.
  void take_canaries(Allocs& all) {
    std::unordered_set<std::string> unwanted, wanted;
    const auto note = [this](const v1::Deployment& deployment, bool unpromoted, std::unordered_set<std::string>& into) {
      const auto at = deployment.task_groups().find(group_.name());
      if (at == deployment.task_groups().end() || (unpromoted && at->second.promoted())) return;
      into.insert(at->second.placed_canaries().begin(), at->second.placed_canaries().end());
    };
    if (rollout_.old) note(*rollout_.old, /*unpromoted=*/true, unwanted);
    if (rollout_.failed()) note(*rollout_.current, /*unpromoted=*/true, unwanted);
    if (rollout_.current) note(*rollout_.current, /*unpromoted=*/false, wanted);
    std::erase_if(all, [&](Alloc alloc) {
      if (!unwanted.contains(alloc->id())) return false;
      if (server_terminal(*alloc)) return true;
      stop(*alloc, kNotNeeded);
      ++count_.stop;
      return true;
    });
    Allocs canaries;
    for (Alloc alloc : all) {
      if (wanted.contains(alloc->id())) canaries.push_back(alloc);
    }
    const bool replaces = replaces_disconnected(group_);
    BySituation by = split(canaries, input_.now, replaces, input_.node_status,
                           [this](const v1::Allocation& alloc) { return group_of(alloc); });
    // A canary that must leave its node is no progress and no setback of the job: it is in no count.
    for (Alloc alloc : by.migrate) stop(*alloc, kMigrating);
    for (Alloc alloc : by.lost) stop(*alloc, kLost, v1::CLIENT_STATUS_LOST);
    AllocSet(by.migrate).erase_from(all);
    AllocSet(by.lost).erase_from(all);
    std::vector<const Allocs*> staying{&by.untainted};
    if (!replaces) staying.insert(staying.end(), {&by.disconnecting, &by.ignore});
    for (const Allocs* some : staying) {
      std::ranges::copy_if(*some, std::back_inserter(canaries_), [](Alloc alloc) { return !terminal(*alloc); });
    }
    order_by_name(canaries_);
  }

  // Chooses between allocations that are back and what replaced them.
  void reconnect() {
    AllocSet stopped;
    const auto stop_once = [&](Alloc alloc, const char* why, v1::ClientStatus status) {
      if (!stopped.insert(alloc)) return;
      stop(*alloc, why, status);
      ++count_.stop;
    };
    for (Alloc back : by_.reconnecting) {
      const v1::DesiredTransition& wish = back->desired_transition();
      if (back->client_status() == v1::CLIENT_STATUS_FAILED) {
        if (!server_terminal(*back)) stop_once(back, kRescheduled, v1::CLIENT_STATUS_FAILED);
        continue;
      }
      if (server_terminal(*back) || wish.migrate() || wish.reschedule() || wish.force_reschedule() ||
          !is_of_version(*back)) {
        if (!server_terminal(*back)) stop_once(back, kNotNeeded, v1::CLIENT_STATUS_UNSPECIFIED);
        stopped.insert(back);
        continue;
      }
      for (Alloc other : by_.untainted) {
        if (other == back || other->name() != back->name() || other->create_index() <= back->create_index() ||
            server_terminal(*other)) {
          continue;
        }
        const bool leaves = keeps_replacement(*back, *other, group_.disconnect().reconcile());
        stop_once(leaves ? back : other, leaves ? kNotNeeded : kReconnected, v1::CLIENT_STATUS_UNSPECIFIED);
      }
    }
    stopped.erase_from(by_.untainted);
    for (Alloc back : by_.reconnecting) {
      if (stopped.contains(back) || client_terminal(*back)) continue;
      plan_.reconnected.push_back(back->id());
      by_.untainted.push_back(back);
    }
  }

  // False for a name above the count: nobody waits for it since the group was scaled down.
  bool has_place(const v1::Allocation& alloc) const {
    return is_canary(alloc) || name_index(alloc.name()).value_or(0) < group_.count();
  }

  void find_rescheduled() {
    Holders holders(batch_, job_.create_index(),
                    [this](const v1::Allocation& alloc) { return is_judged_canary(alloc); });
    if (std::ranges::any_of(by_.untainted, [this](Alloc alloc) { return stays(*alloc, batch_) == Stays::failed; })) {
      for (const Allocs* some : {&by_.untainted, &by_.migrate, &by_.disconnecting, &by_.lost}) holders.add(*some);
    }
    Allocs staying;
    for (Alloc alloc : by_.untainted) {
      if (holders.is_history(*alloc)) continue;
      if (!alloc->next_allocation().empty() && terminal(*alloc) && !(batch_ && ran_successfully(*alloc))) {
        continue;  // replaced already
      }
      const Stays stay = stays(*alloc, batch_);
      if (stay == Stays::no) continue;
      if (stay == Stays::failed && !has_place(*alloc)) continue;
      if (stay == Stays::failed && is_due(*alloc)) {
        reschedule_.push_back({alloc, /*is_disconnecting=*/false});
      } else {
        staying.push_back(alloc);
      }
    }
    by_.untainted = std::move(staying);
    order_by_name(by_.untainted);
    if (replaces_disconnected(group_)) {
      for (Alloc alloc : by_.disconnecting) {
        if (is_judged_canary(*alloc)) continue;  // as in is_due()
        reschedule_.push_back({alloc, /*is_disconnecting=*/true});
      }
    }
    std::ranges::sort(reschedule_, {}, [](const Reschedule& one) {
      return std::tuple(name_index(one.alloc->name()).value_or(0), one.alloc->id());
    });
  }

  // True when a failed one is replaced now; notes when it is due where that is later.
  bool is_due(const v1::Allocation& alloc) {
    const v1::DesiredTransition& wish = alloc.desired_transition();
    if (is_judged_canary(alloc)) return false;  // place_canaries() gives it a successor
    // While its deployment is judged, the deployment's watcher says when. It has no more to say of one that was healthy
    // and is no canary, and of none once the deployment has all it needs.
    if (is_of_deployment(alloc) && is_active(*rollout_.current) && !wish.reschedule() && !has_all_healthy() &&
        (!is_healthy(alloc) || was_canary(alloc))) {
      return false;
    }
    if (wish.force_reschedule()) return true;
    const auto due = next_try(alloc, group_.reschedule_policy());
    if (!due) return false;
    if (*due - input_.now <= kNowWindow || alloc.followup_eval_id() == input_.eval_id) return true;
    if (alloc.followup_eval_id().empty()) plan_.later.push_back({alloc.id(), *due});
    return false;
  }

  void find_lost_later() {
    order_by_name(by_.lost);
    order_by_name(by_.migrate);
    for (Alloc alloc : by_.lost) {
      const auto until = stopped_on_client_at(*alloc, *group_of(*alloc), input_.now);
      if (until && *until > input_.now) plan_.lost_later.push_back({alloc->id(), *until});
    }
  }

  void mark_unknown() {
    order_by_name(by_.disconnecting);
    for (Alloc alloc : by_.disconnecting) {
      const v1::TaskGroup* group = group_of(*alloc);
      const auto window = group ? lost_after(*group) : std::nullopt;
      plan_.unknown.push_back({alloc->id(), window ? input_.now + *window : Later::kNever});
    }
    if (!replaces_disconnected(group_)) {
      // Their places stay theirs.
      for (Alloc alloc : by_.disconnecting) by_.untainted.push_back(alloc);
      for (Alloc alloc : by_.ignore) {
        if (alloc->client_status() == v1::CLIENT_STATUS_UNKNOWN) by_.untainted.push_back(alloc);
      }
      order_by_name(by_.untainted);
    }
  }

  // The count falls: names of promoted canaries go first, then what moves anyway, then the highest names, of one name
  // the older version. What ended is not stopped again.
  void stop_surplus() {
    for (Alloc alloc : by_.lost) stop(*alloc, kLost, v1::CLIENT_STATUS_LOST);
    count_.stop += by_.lost.size();
    const AllocSet canaries(canaries_);
    Allocs candidates;
    int64_t there = size_of(by_.migrate);
    for (Alloc alloc : by_.untainted) {
      if (is_canarying() && canaries.contains(alloc)) continue;
      ++there;
      if (!terminal(*alloc)) candidates.push_back(alloc);
    }
    int64_t surplus = there - group_.count();
    AllocSet stopped;
    // The older of two versions of a name goes, also where there is no surplus: its place is taken, by a canary
    // that was promoted for one.
    const auto counts = [&](Alloc alloc) { return is_of_job(*alloc) && !(is_canarying() && canaries.contains(alloc)); };
    const auto is_other_version = [&](Alloc alloc) { return counts(alloc) && !is_of_version(*alloc); };
    std::unordered_map<std::string_view, uint64_t> newest;  // versions
    if (std::ranges::any_of(by_.untainted, is_other_version)) {
      for (Alloc alloc : by_.untainted) {
        if (!counts(alloc) || terminal(*alloc)) continue;
        uint64_t& version = newest[alloc->name()];
        version = std::max(version, alloc->job_version());
      }
    }
    for (Alloc alloc : by_.untainted) {
      const auto holder = newest.find(alloc->name());
      if (holder == newest.end() || !counts(alloc) || holder->second <= alloc->job_version()) continue;
      stopped.insert(alloc);
      --surplus;
      if (terminal(*alloc)) continue;
      stop(*alloc, kNotNeeded);
      ++count_.stop;
    }
    const auto stop_one = [&](Alloc alloc) {
      if (surplus <= 0 || !stopped.insert(alloc)) return;
      stop(*alloc, kNotNeeded);
      ++count_.stop;
      --surplus;
    };
    if (surplus <= 0) return stopped.erase_from(by_.untainted);
    for (auto at = by_.migrate.rbegin(); at != by_.migrate.rend() && surplus > 0; ++at) {
      stop_one(*at);
      names_.release((*at)->name());
    }
    // Those that are not of this version, or do not run yet, go before others of their name.
    sort_by(candidates, [this](Alloc alloc) {
      return std::tuple(is_of_version(*alloc), alloc->client_status() == v1::CLIENT_STATUS_RUNNING,
                        -static_cast<int64_t>(alloc->create_index()), -name_index(alloc->name()).value_or(0));
    });
    const std::set<std::string> highest = names_.highest(surplus);
    std::set<std::string> gone;
    // One that ended leaves its place, and nobody has to be told.
    for (Alloc alloc : by_.untainted) {
      if (!terminal(*alloc) || surplus <= 0 || !highest.contains(alloc->name())) continue;
      if (!gone.insert(alloc->name()).second || !stopped.insert(alloc)) continue;
      --surplus;
    }
    for (Alloc alloc : candidates) {
      if (!stopped.contains(alloc) && highest.contains(alloc->name()) && gone.insert(alloc->name()).second) {
        stop_one(alloc);
      }
    }
    stop_doubles(candidates, stopped, stop_one);
    stopped.erase_from(by_.untainted);
    stopped.erase_from(by_.migrate);
    stopped.erase_from(canaries_);
  }

  // Where names stand more than once, fewer names than allocations were released.
  template <typename StopOne>
  void stop_doubles(const Allocs& candidates, const AllocSet& stopped, const StopOne& stop_one) {
    std::map<std::string, int> holders;
    for (Alloc alloc : candidates) holders[alloc->name()] += !stopped.contains(alloc);
    for (Alloc alloc : candidates) {
      int& left = holders[alloc->name()];
      if (left < 2 || stopped.contains(alloc)) continue;
      --left;
      stop_one(alloc);
    }
    for (Alloc alloc : candidates) stop_one(alloc);
  }

  // True when what is of the allocation's version cannot take the present one as it is.
  bool replaces_version(const v1::Allocation& alloc) {
    if (!is_of_job(alloc)) return true;
    const auto [known, is_new] = replaces_.try_emplace(alloc.job_version(), true);
    if (!is_new) return known->second;
    const v1::Job* from = input_.version(alloc.job_version());
    const v1::TaskGroup* old = from ? find_group(*from, group_.name()) : nullptr;
    return known->second = !old || needs_replacement(*from, *old, job_, group_);
  }

  // Allocations of earlier versions take the new one: as they are where that is possible.
  void find_updates() {
    const AllocSet disconnecting(by_.disconnecting);
    for (Alloc alloc : by_.untainted) {
      if (is_of_version(*alloc) || server_terminal(*alloc) || (batch_ && ran_successfully(*alloc))) {
        ++count_.ignore;
        continue;
      }
      if (replaces_version(*alloc) || (!client_terminal(*alloc) && !input_.may_stay(*alloc, group_))) {
        destructive_.push_back(alloc);
      } else if (!client_terminal(*alloc) && alloc->client_status() != v1::CLIENT_STATUS_UNKNOWN &&
                 !disconnecting.contains(alloc)) {
        plan_.in_place.push_back(alloc->id());
      } else {
        ++count_.ignore;  // it has ended, or cannot be told
      }
    }
    if (!has_state_) state_.set_desired_total(static_cast<int32_t>(destructive_.size() + plan_.in_place.size()));
  }

  // Returns true when there must be more canaries before anything else is updated.
  bool place_canaries() {
    const int64_t wanted = rolls() ? group_.update().canary() : 0;
    // Those that a deployment was promised are needed also when nothing of the old version is left.
    if ((destructive_.empty() && !is_canarying()) || size_of(canaries_) >= wanted || state_.promoted()) return false;
    state_.set_desired_canaries(static_cast<int32_t>(wanted));
    if (rollout_.paused() || rollout_.failed()) return true;
    const int64_t missing = wanted - size_of(canaries_);
    count_.canary += static_cast<uint64_t>(missing);
    for (std::string& name : names_.next_canaries(missing, canaries_, destructive_)) {
      plan_.placements.push_back({.name = std::move(name), .is_canary = true});
    }
    return true;
  }

  // How many may be placed or replaced in this step of a rolling update.
  int64_t step() const {
    if (!rolls() || (destructive_.empty() && by_.migrate.empty())) return group_.count();
    if (!goes_on()) return 0;
    if (!rollout_.current) return group_.update().max_parallel();
    int64_t left = group_.update().max_parallel();
    for (Alloc alloc : by_.untainted) {
      if (!is_of_deployment(*alloc)) continue;
      if (is_unhealthy(*alloc)) return 0;
      left -= !is_healthy(*alloc);
    }
    return std::max<int64_t>(left, 0);
  }

  Placement successor_of(const v1::Allocation& alloc) const {
    Placement placement{.name = alloc.name(), .previous = alloc.id(), .is_canary = is_canary(alloc) && is_canarying()};
    if (is_canarying() && !placement.is_canary) placement.old_version = alloc.job_version();
    return placement;
  }

  // Successors of what failed, is out of reach or lost, and what is new. A deployment that does not go on leaves only
  // the first three.
  void place_missing() {
    left_ = step();
    int64_t existing = size_of(by_.untainted) + size_of(by_.migrate);
    // A deployment is to bring the group to its count, also what has to wait for promotion or for the clock.
    if (!has_state_) add_to_total(std::max<int64_t>(group_.count() - existing, 0));
    if (!plan_.lost_later.empty()) return;
    int64_t placed = 0;
    for (const Reschedule& one : reschedule_) {
      // What the surplus does not want any more is not replaced, but its end is known.
      if (existing + placed >= group_.count()) {
        if (!one.is_disconnecting && !terminal_on_server(one)) stop(*one.alloc, kNotNeeded);
        continue;
      }
      if (!goes_on() && rollout_.failed() && is_of_deployment(*one.alloc)) continue;
      plan_.placements.push_back(rescheduled(one));
      ++placed;
    }
    placed += replace_lost(group_.count() - existing - placed);
    count_.place += static_cast<uint64_t>(placed);
    const int64_t missing = std::max<int64_t>(group_.count() - existing - placed, 0);
    waits_for_place_ = missing > 0;
    if (!goes_on()) return;
    for (std::string& name : names_.next(missing)) plan_.placements.push_back({.name = std::move(name)});
    count_.place += static_cast<uint64_t>(missing);
    left_ -= std::min(left_, placed + missing);
  }

  // Replaces at most so many, and returns how many.
  int64_t replace_lost(int64_t wanted) {
    if (by_.lost.empty() || wanted <= 0) return 0;
    std::set<std::string> held;  // by what replaced one of these while it was out of reach, for one
    for (const Allocs* staying : {&by_.untainted, &by_.migrate}) {
      for (Alloc alloc : *staying) held.insert(alloc->name());
    }
    for (const Placement& placement : plan_.placements) {
      if (!placement.is_canary) held.insert(placement.name);
    }
    int64_t placed = 0;
    for (Alloc alloc : by_.lost) {
      if (placed >= wanted) break;
      if (!held.insert(alloc->name()).second) continue;
      plan_.placements.push_back(successor_of(*alloc));
      ++placed;
    }
    return placed;
  }

  static bool terminal_on_server(const Reschedule& one) { return server_terminal(*one.alloc); }

  Placement rescheduled(const Reschedule& one) const {
    const v1::Allocation& alloc = *one.alloc;
    Placement placement = successor_of(alloc);
    placement.tracker = next_tracker(alloc, group_.reschedule_policy(), input_.now);
    if (one.is_disconnecting) {
      if (batch_) placement.previous.clear();
      return placement;
    }
    placement.stop_previous = kRescheduled;
    for (const v1::RescheduleEvent& event : placement.tracker.events()) {
      placement.penalised.insert(event.prev_node_id());
    }
    return placement;
  }

  void add_to_total(int64_t number) { state_.set_desired_total(state_.desired_total() + static_cast<int32_t>(number)); }

  void update_destructively() {
    std::ranges::stable_sort(destructive_, {}, [](Alloc alloc) { return !client_terminal(*alloc); });
    const int64_t now = goes_on() ? std::min(left_, size_of(destructive_)) : 0;
    for (int64_t i = 0; i < now; ++i) {
      const v1::Allocation& alloc = *destructive_[static_cast<size_t>(i)];
      plan_.destructive.push_back({.name = alloc.name(), .previous = alloc.id(), .stop_previous = kUpdating});
      std::erase_if(plan_.later, [&](const Later& later) { return later.alloc_id == alloc.id(); });
    }
    count_.destructive = static_cast<uint64_t>(now);
    count_.ignore += destructive_.size() - count_.destructive;
  }

  void migrate() {
    if (by_.migrate.empty()) return;
    std::set<std::string> held;  // by what replaced one of these while it was out of reach
    for (Alloc alloc : by_.untainted) {
      if (!terminal(*alloc)) held.insert(alloc->name());
    }
    for (Alloc alloc : by_.migrate) {
      stop(*alloc, kMigrating);
      if (held.contains(alloc->name())) continue;
      plan_.placements.push_back(successor_of(*alloc));
      if (!has_state_) add_to_total(1);
    }
    count_.migrate = by_.migrate.size();
  }

  void open_deployment(const Allocs& all) {
    if (has_state_ || !rolls() || state_.desired_total() == 0) return;
    const bool had_some = std::ranges::any_of(all, [this](Alloc alloc) { return is_of_version(*alloc); });
    if (had_some && destructive_.empty() && plan_.in_place.empty()) return;
    if (!rollout_.current && !rollout_.is_created) {
      v1::Deployment& created = rollout_.created;
      rollout_.is_created = true;
      created.set_namespace_(job_.namespace_());
      created.set_job_id(job_.id());
      created.set_job_version(job_.version());
      created.set_job_modify_index(job_.modify_index());
      created.set_job_spec_modify_index(job_.job_modify_index());
      created.set_job_create_index(job_.create_index());
      created.set_status(v1::DEPLOYMENT_STATUS_RUNNING);
      created.set_status_description(kDeploymentRunning);
      created.set_eval_priority(input_.eval_priority);
    }
    if (rollout_.is_created) (*rollout_.created.mutable_task_groups())[group_.name()] = state_;
  }

  bool is_complete(bool needs_canaries) const {
    if (!plan_.destructive.empty() || !plan_.in_place.empty() || !plan_.placements.empty() || !destructive_.empty() ||
        !by_.migrate.empty() || !plan_.later.empty() || needs_canaries || waits_for_place_ ||
        !plan_.lost_later.empty()) {
      return false;
    }
    if (!has_state_) return true;
    return has_all_healthy();
  }

  void write_counts() {
    plan_.desired.set_ignore(count_.ignore);
    plan_.desired.set_place(count_.place);
    plan_.desired.set_migrate(count_.migrate);
    plan_.desired.set_stop(count_.stop);
    plan_.desired.set_in_place_update(plan_.in_place.size());
    plan_.desired.set_destructive_update(count_.destructive);
    plan_.desired.set_canary(count_.canary);
  }

  const ReconcileInput& input_;
  const v1::Job& job_;
  const v1::TaskGroup& group_;
  Rollout& rollout_;
  GroupPlan& plan_;
  const bool batch_;
  NameIndex names_;
  v1::DeploymentState state_;
  bool has_state_ = false;  // state_ is of the current deployment, not of one that may be made
  Allocs canaries_;
  BySituation by_;
  std::vector<Reschedule> reschedule_;  // to be replaced now
  Allocs destructive_;
  std::map<uint64_t, bool> replaces_;  // by version: replaces_version()
  int64_t left_ = 0;                   // of the step of a rolling update
  bool waits_for_place_ = false;       // the count is not reached
  struct {
    uint64_t ignore = 0, place = 0, migrate = 0, stop = 0, destructive = 0, canary = 0;
  } count_;
};

}  // namespace

bool reconcile_group(const ReconcileInput& input, const v1::TaskGroup& group, Rollout& rollout, Allocs allocs,
                     GroupPlan& plan) {
  return GroupReconciler(input, group, rollout, plan).run(std::move(allocs));
}

}  // namespace drover::scheduler
