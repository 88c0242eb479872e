#include "explaining/what_if.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "drover/api/why.pb.h"
#include "drover/model/allocation.h"
#include "drover/model/evaluation.h"
#include "drover/model/job.h"
#include "drover/model/node.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/trial.pb.h"
#include "explaining/why.h"
#include "settings/config_row.h"

namespace drover::scheduler {
namespace {

constexpr int kMaxAdded = 10000;
// A job is decided again when it lost allocations to another; more often than this it is left.
constexpr int kTurns = 4;

using JobName = std::pair<std::string, std::string>;

v1::WhatIfPacking packing_of(const Cluster& cluster) {
  v1::WhatIfPacking packing;
  Amount used, capacity;
  cluster.visit([&](const ClusterNode& node) {
    if (!accepts_work(*node.node)) return;
    packing.set_nodes(packing.nodes() + 1);
    if (!node.holdings.empty()) packing.set_nodes_in_use(packing.nodes_in_use() + 1);
    used += node.room.used();
    capacity += node.room.capacity();
  });
  const auto share = [](int64_t part, int64_t whole) {
    return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  packing.set_cpu(share(used.cpu, capacity.cpu));
  packing.set_memory(share(used.memory_mb, capacity.memory_mb));
  return packing;
}

class WhatIf {
 public:
  explicit WhatIf(WhatIfInput input) : input_(std::move(input)) {}

  Result<v1::WhatIfResponse> run(const v1::WhatIfRequest& request) {
    response_.set_index(input_.view.index());
    *response_.mutable_packing()->mutable_before() = packing_of(input_.cluster);
    for (const v1::Job& job : request.jobs()) {
      const JobName name{job.namespace_(), job.id()};
      if (!given_.insert(name).second) return invalid_argument("job \"" + job.id() + "\" is there twice");
      jobs_[name] = job;
      want(name);
    }
    for (const std::string& id : request.drain().nodes()) DROVER_RETURN_IF_ERROR(close(id, /*drains=*/true));
    for (const std::string& id : request.fail().nodes()) DROVER_RETURN_IF_ERROR(close(id, /*drains=*/false));
    for (const v1::WhatIfAdded& added : request.add_nodes()) DROVER_RETURN_IF_ERROR(add(added));
    if (request.has_scheduler()) {
      DROVER_RETURN_IF_ERROR(check_configuration(request.scheduler()));
      config_ = request.scheduler();
    }
    if (!request.add_nodes().empty() || request.has_scheduler()) want_the_waiting();
    if (!request.add_nodes().empty()) want_system_jobs();
    DROVER_RETURN_IF_ERROR(decide_all());
    for (auto& [name, unplaced] : unplaced_) *response_.add_unplaced() = std::move(unplaced);
    *response_.mutable_packing()->mutable_after() = packing_of(input_.cluster);
    return std::move(response_);
  }

 private:
  Result<v1::Node> node(const std::string& id) const {
    const v1::Node* row = input_.cluster.find(id);
    if (!row) return not_found("node " + Uuid::from_bytes(id).to_string() + " not found");
    return *row;
  }

  // Describes the node anew; what is on it stays.
  void put(v1::Node row) {
    Holdings holdings;
    const std::string id = row.id();
    if (const auto slot = input_.cluster.slot_of(id)) holdings = input_.cluster.at(*slot).holdings;
    input_.cluster.put_node(std::make_shared<const v1::Node>(std::move(row)));
    for (const auto& holding : holdings) input_.cluster.add(id, holding);
  }

  Status close(const std::string& id, bool drains) {
    DROVER_TRY(v1::Node row, node(id));
    if (drains) {
      row.set_drain(true);
      drained_.insert(id);
    } else {
      row.set_status(v1::NODE_STATUS_DOWN);
    }
    put(std::move(row));
    input_.tables.allocs.scan(input_.view, kAllocsByNode, of_id(id), [&](v1::Allocation& alloc, std::string_view) {
      if (!terminal(alloc)) want({alloc.namespace_(), alloc.job_id()});
      return true;
    });
    return ok_status();
  }

  Status add(const v1::WhatIfAdded& added) {
    if (added.count() < 1 || added.count() > kMaxAdded - added_) {
      return invalid_argument("AddNodes.Count is 1 to " + std::to_string(kMaxAdded) + ", all entries together");
    }
    DROVER_TRY(v1::Node row, node(added.like()));
    const std::string name = row.name();
    row.set_status(v1::NODE_STATUS_READY);
    row.set_drain(false);
    row.set_scheduling_eligibility("eligible");
    for (int i = 0; i < added.count(); ++i) {
      row.set_id(Uuid::random().bytes());
      row.set_name("like-" + name + "-" + std::to_string(++added_));
      input_.cluster.put_node(std::make_shared<const v1::Node>(row));
    }
    return ok_status();
  }

  void want_the_waiting() {
    input_.tables.evals.scan(input_.view, kEvalsByStatus, with_status(v1::EVAL_STATUS_BLOCKED),
                             [&](v1::Evaluation& eval, std::string_view) {
                               want({eval.namespace_(), eval.job_id()});
                               return true;
                             });
  }

  void want_system_jobs() {
    Table<v1::Job>(input_.tables.jobs)
        .scan(input_.view, kJobsOnEveryNode, KeyRange::all(), [&](v1::Job& job, std::string_view) {
          if (!job.stop()) want({job.namespace_(), job.id()});
          return true;
        });
  }

  // The most important first, as the broker has it.
  Status decide_all() {
    while (!wanted_.empty()) {
      if (input_.stop.stop_requested()) return cancelled("the caller has gone");
      const JobName next = wanted_.begin()->second;
      wanted_.erase(wanted_.begin());
      if (++turns_[next] > kTurns) {
        response_.add_notes("job \"" + next.second +
                            "\" loses allocations again and again; the rest of it is left out");
        continue;
      }
      decide_job(next);
    }
    return ok_status();
  }

  void want(const JobName& name) {
    const v1::Job* job = find_job(name);
    if (job) wanted_.emplace(-int64_t{job->priority()}, name);
  }

  const v1::Job* find_job(const JobName& name) {
    const auto [at, is_new] = jobs_.try_emplace(name);
    if (is_new) at->second = Table<v1::Job>(input_.tables.jobs).get(input_.view, job_key(name.first, name.second));
    return at->second ? &*at->second : nullptr;
  }

  void decide_job(const JobName& name) {
    const v1::Job* job = find_job(name);
    if (!job) return;
    if (starts_children(*job)) {
      response_.add_notes("job \"" + job->id() + "\" only starts children, when it is due or dispatched");
      return;
    }
    const Scheduler* scheduler = input_.scheduler_of(job->type());
    if (!scheduler) {
      response_.add_notes("job \"" + job->id() + "\" is of type \"" + job->type() + "\", which nobody schedules here");
      return;
    }
    DecisionInput decision_input(new_evaluation(Uuid::random().bytes(), *job, "job-register"), input_.view,
                                 input_.tables, job);
    if (config_) {
      decision_input.config.MergeFrom(*config_);
      adopt_pool(input_.view, input_.tables, *job, decision_input.config);
    }
    as_it_would_be(name, decision_input.allocs);
    const Decision decision = decide_on(*scheduler, decision_input, input_.now, input_.cluster);
    take(*job, decision_input.allocs, decision);
  }

  // The job's allocations after what was decided so far.
  void as_it_would_be(const JobName& name, std::vector<v1::Allocation>& allocs) const {
    const auto own = placed_.find(name);
    if (own != placed_.end()) allocs.insert(allocs.end(), own->second.begin(), own->second.end());
    for (v1::Allocation& alloc : allocs) {
      const auto changed = changed_.find(alloc.id());
      if (changed != changed_.end()) apply(changed->second, alloc);
      if (drained_.contains(alloc.node_id()) && !terminal(alloc)) alloc.mutable_desired_transition()->set_migrate(true);
    }
  }

  static void apply(const v1::AllocationDelta& delta, v1::Allocation& alloc) {
    if (delta.desired_status() != v1::DESIRED_STATUS_UNSPECIFIED) alloc.set_desired_status(delta.desired_status());
    if (delta.client_status() != v1::CLIENT_STATUS_UNSPECIFIED) alloc.set_client_status(delta.client_status());
    if (delta.has_job_version()) alloc.set_job_version(delta.job_version());
  }

  void take(const v1::Job& job, const std::vector<v1::Allocation>& allocs, const Decision& decision) {
    std::set<std::string> replaced;
    std::map<std::string_view, const v1::Allocation*> own;
    for (const v1::Allocation& alloc : allocs) own.emplace(alloc.id(), &alloc);
    for (const v1::Allocation& alloc : decision.plan.placed) {
      const auto previous = own.find(alloc.previous_allocation());
      v1::WhatIfMove& move = *response_.add_moved();
      if (previous != own.end() && !alloc.previous_allocation().empty()) {
        move.set_alloc_id(previous->second->id());
        move.set_from(previous->second->node_id());
        replaced.insert(previous->second->id());
      }
      move.set_to(alloc.node_id());
      move.set_to_name(alloc.node_name());
      move.set_job_id(job.id());
      move.set_namespace_(job.namespace_());
      move.set_group(alloc.task_group());
      placed_[{job.namespace_(), job.id()}].push_back(alloc);
    }
    for (const auto& [node, deltas] : decision.plan.changed) {
      for (const v1::AllocationDelta& delta : deltas) {
        changed_[delta.id()].MergeFrom(delta);
        if (delta.desired_status() == v1::DESIRED_STATUS_EVICT) {
          response_.add_preempted(delta.id());
        } else if (delta.desired_status() == v1::DESIRED_STATUS_STOP && !replaced.contains(delta.id())) {
          response_.add_stopped(delta.id());
        }
      }
    }
    // Jobs that lost allocations find them new places.
    for (const v1::Evaluation& eval : decision.plan.evaluations) {
      if (eval.triggered_by() == "preemption") want({eval.namespace_(), eval.job_id()});
    }
    for (const auto& [group, count] : decision.queued) {
      unplaced_.erase({job.namespace_(), job.id(), group});
      if (count > 0) add_unplaced(job, group, count, decision);
    }
  }

  void add_unplaced(const v1::Job& job, const std::string& group, int32_t count, const Decision& decision) {
    v1::WhatIfUnplaced& unplaced = unplaced_[{job.namespace_(), job.id(), group}];
    unplaced.set_job_id(job.id());
    unplaced.set_namespace_(job.namespace_());
    unplaced.set_group(group);
    unplaced.set_count(count);
    const auto failed = decision.failed.find(group);
    if (failed == decision.failed.end()) return;
    for (v1::WhyReason& reason : reasons_of(failed->second, group)) *unplaced.add_reasons() = std::move(reason);
  }

  WhatIfInput input_;
  std::optional<v1::SchedulerConfiguration> config_;
  v1::WhatIfResponse response_;
  std::map<JobName, std::optional<v1::Job>> jobs_;  // nothing: it is gone
  std::set<JobName> given_;                         // with the request
  std::set<std::pair<int64_t, JobName>> wanted_;    // to be decided; the highest priority first
  std::map<JobName, int> turns_;
  std::set<std::string> drained_;
  std::map<JobName, std::vector<v1::Allocation>> placed_;
  std::map<std::string, v1::AllocationDelta> changed_;  // by allocation
  std::map<std::tuple<std::string, std::string, std::string>, v1::WhatIfUnplaced>
      unplaced_;  // by namespace, job, group
  int added_ = 0;
};

}  // namespace

Result<v1::WhatIfResponse> what_if(WhatIfInput input, const v1::WhatIfRequest& request) {
  return WhatIf(std::move(input)).run(request);
}

}  // namespace drover::scheduler
