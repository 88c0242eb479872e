// The end of a life: what must be so once faults have stopped and time has passed.
#include <algorithm>
#include <set>

#include "drover/model/allocation.h"
#include "drover/model/deployment.h"
#include "drover/model/evaluation.h"
#include "drover/model/node.h"
#include "invariants.h"

namespace drover::lives {
namespace {

bool meets_constraints(const v1::Job& job, const v1::Node& node) {
  return std::ranges::all_of(job.constraints(), [&](const v1::Constraint& constraint) {
    return constraint.l_target() != "${meta.kind}" || constraint.r_target() == node.meta().at("kind");
  });
}

bool runs(const v1::Allocation& alloc) {
  return alloc.client_status() == v1::CLIENT_STATUS_RUNNING && !server_terminal(alloc);
}

// It failed, and its policy gives it no further try: unlimited ones always do.
bool has_given_up(const v1::Allocation& alloc, const v1::TaskGroup& group) {
  return alloc.client_status() == v1::CLIENT_STATUS_FAILED && alloc.next_allocation().empty() &&
         !group.reschedule_policy().unlimited();
}

bool left_by_one_that_says_why(const v1::Evaluation& eval, const Rows& rows) {
  const auto previous = rows.evals.find(eval.previous_eval());
  return previous != rows.evals.end() && !previous->second.failed_tg_allocs().empty();
}

// Nobody is left to be looked at, and whoever waits for room has a job that wants it.
void no_evaluation_is_pending(const Rows& rows, Problems& problems) {
  for (const auto& [id, eval] : rows.evals) {
    if (eval.status() == v1::EVAL_STATUS_PENDING) {
      problems.push_back("no_evaluation_is_pending: one of " + eval.job_id() + ", " + eval.triggered_by());
    }
    if (eval.status() != v1::EVAL_STATUS_BLOCKED) continue;
    const auto job = rows.jobs.find(eval.job_id());
    if (job == rows.jobs.end() || job->second.stop()) {
      problems.push_back("no_evaluation_is_pending: one waits for room for " + eval.job_id() + ", which is gone");
    } else if (eval.failed_tg_allocs().empty() && !left_by_one_that_says_why(eval, rows)) {
      problems.push_back("no_evaluation_is_pending: one of " + eval.job_id() + " waits and does not say why");
    }
  }
}

void deployments_have_ended(const Rows& rows, Problems& problems) {
  for (const auto& [id, deployment] : rows.deployments) {
    const auto job = rows.jobs.find(deployment.job_id());
    const bool waits_for_room = job != rows.jobs.end() && rows.is_blocked(job->first);
    if (is_active(deployment) && !waits_for_room) {
      problems.push_back("deployments_have_ended: one of " + deployment.job_id() + ": " +
                         deployment.status_description());
    }
  }
}

// A drain without a deadline takes nothing away from a service that cannot have its count.
bool waits_for_a_job(const v1::Node& node, const Rows& rows) {
  return node.drain_strategy().deadline() == 0 && std::ranges::any_of(rows.jobs, [&](const auto& job) {
           const v1::TaskGroup& group = job.second.task_groups(0);
           return job.second.type() == "service" && std::ranges::any_of(rows.allocs, [&](const auto& alloc) {
                    return alloc.second.job_id() == job.first && has_given_up(alloc.second, group);
                  });
         });
}

void drained_nodes_are_empty(const Rows& rows, Problems& problems) {
  for (const auto& [id, node] : rows.nodes) {
    if (node.drain() && !waits_for_a_job(node, rows)) {
      problems.push_back("drained_nodes_are_empty: " + node.name() + " still drains");
    }
    if (accepts_work(node) || node.last_drain().status() != v1::DRAIN_STATUS_COMPLETE) continue;
    for (const auto& [alloc_id, alloc] : rows.allocs) {
      if (alloc.node_id() != id || client_terminal(alloc)) continue;
      if (alloc.create_time() > node.last_drain().updated_at()) continue;  // it took work again since
      const v1::Job* job = rows.job_of(alloc);
      if (job && job->type().starts_with("sys")) continue;  // a drain may leave these
      problems.push_back("drained_nodes_are_empty: " + named(alloc) + " is on " + node.name());
    }
  }
}

// Allocations that nobody wants have ended.
void nothing_runs_without_a_job(const Rows& rows, Problems& problems) {
  for (const auto& [id, alloc] : rows.allocs) {
    if (client_terminal(alloc)) continue;
    const v1::Job* job = rows.job_of(alloc);
    if (!job || job->stop() || server_terminal(alloc)) {
      problems.push_back("nothing_runs_without_a_job: " + named(alloc) + " has not ended");
    }
  }
}

void service_has_its_count(const v1::Job& job, const Rows& rows, Problems& problems) {
  const v1::TaskGroup& group = job.task_groups(0);
  int running = 0, given_up = 0, old = 0;
  for (const auto& [id, alloc] : rows.allocs) {
    if (alloc.job_id() != job.id() || rows.job_of(alloc) != &job) continue;
    running += runs(alloc);
    old += runs(alloc) && alloc.job_version() != job.version();
    given_up += has_given_up(alloc, group);
  }
  const std::string of = "jobs_have_what_they_want: " + job.id() + " ";
  if (running > group.count())
    problems.push_back(of + "has " + std::to_string(running) + " running, which is too many");
  if (running + given_up < group.count()) {
    problems.push_back(of + "has " + std::to_string(running) + " running of " + std::to_string(group.count()));
  }
  if (old > 0) problems.push_back(of + "has " + std::to_string(old) + " of an older version");
}

void batch_is_done(const v1::Job& job, const Rows& rows, Problems& problems) {
  const v1::TaskGroup& group = job.task_groups(0);
  std::set<std::string> names;
  for (const auto& [id, alloc] : rows.allocs) {
    if (alloc.job_id() != job.id() || rows.job_of(alloc) != &job) continue;
    if (runs(alloc) || alloc.client_status() == v1::CLIENT_STATUS_COMPLETE || has_given_up(alloc, group)) {
      names.insert(alloc.name());
    }
  }
  if (static_cast<int>(names.size()) < group.count()) {
    problems.push_back("jobs_have_what_they_want: " + job.id() + " has " + std::to_string(names.size()) + " of " +
                       std::to_string(group.count()) + " done or at work");
  }
}

void is_on_its_nodes(const v1::Job& job, const Rows& rows, Problems& problems) {
  for (const auto& [node_id, node] : rows.nodes) {
    if (!accepts_work(node) || !meets_constraints(job, node)) continue;
    const bool is_there = std::ranges::any_of(rows.allocs, [&](const auto& at) {
      const v1::Allocation& alloc = at.second;
      if (alloc.node_id() != node_id || alloc.job_id() != job.id() || rows.job_of(alloc) != &job) return false;
      // Its node has said that it ended; nobody tries it again.
      return runs(alloc) || alloc.client_status() == v1::CLIENT_STATUS_FAILED ||
             alloc.client_status() == v1::CLIENT_STATUS_COMPLETE;
    });
    if (!is_there) problems.push_back("jobs_have_what_they_want: " + job.id() + " is not on " + node.name());
  }
}

// At the end there is room for all but these: static ports and cores are few, and a full node has none for all.
bool may_find_no_room(const v1::Job& job) {
  const v1::TaskGroup& group = job.task_groups(0);
  return job.type().starts_with("sys") || group.tasks(0).resources().cores() > 0 ||
         (!group.networks().empty() && !group.networks(0).reserved_ports().empty());
}

// Each job has its count, or an evaluation that waits and says why not.
void jobs_have_what_they_want(const Rows& rows, Problems& problems) {
  for (const auto& [id, job] : rows.jobs) {
    if (job.stop() || (rows.is_blocked(id) && may_find_no_room(job))) continue;
    if (job.type() == "service") service_has_its_count(job, rows, problems);
    if (job.type() == "batch") batch_is_done(job, rows, problems);
    if (job.type().starts_with("sys")) is_on_its_nodes(job, rows, problems);
  }
}

}  // namespace

Problems unfinished(const Rows& rows) {
  Problems problems;
  no_evaluation_is_pending(rows, problems);
  deployments_have_ended(rows, problems);
  drained_nodes_are_empty(rows, problems);
  nothing_runs_without_a_job(rows, problems);
  jobs_have_what_they_want(rows, problems);
  return problems;
}

}  // namespace drover::lives
