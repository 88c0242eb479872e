#include "blocked.h"

#include <algorithm>
#include <utility>

namespace drover::scheduler {

bool Blocked::concerns(const v1::Evaluation& eval, const std::string& computed_class) {
  if (eval.escaped_computed_class()) return true;
  auto at = eval.class_eligibility().find(computed_class);
  return at == eval.class_eligibility().end() || at->second;
}

Blocked::Outcome Blocked::block(const v1::Evaluation& eval) {
  Outcome outcome;
  const JobName job{eval.namespace_(), eval.job_id()};
  if (auto at = evals_.find(job); at != evals_.end() && at->second.id() != eval.id()) {
    if (at->second.create_index() > eval.create_index()) {
      outcome.duplicate = eval;
      return outcome;
    }
    outcome.duplicate = at->second;
    jobs_.erase(at->second.id());
    evals_.erase(at);
  }
  for (const auto& [computed_class, gain] : gains_) {
    if (gain.index > eval.snapshot_index() && concerns(eval, computed_class)) {
      untrack(eval.id());
      outcome.runnable = eval;
      return outcome;
    }
  }
  evals_[job] = eval;
  jobs_[eval.id()] = job;
  return outcome;
}

std::vector<v1::Evaluation> Blocked::unblock(const std::string& computed_class, uint64_t index, SteadyTime now) {
  Gain& gain = gains_[computed_class];
  gain = {std::max(gain.index, index), now};
  std::vector<v1::Evaluation> runnable;
  for (auto at = evals_.begin(); at != evals_.end();) {
    if (!concerns(at->second, computed_class)) {
      ++at;
      continue;
    }
    jobs_.erase(at->second.id());
    runnable.push_back(std::move(at->second));
    at = evals_.erase(at);
  }
  return runnable;
}

std::vector<v1::Evaluation> Blocked::take_conflicted() {
  std::vector<v1::Evaluation> runnable;
  for (auto at = evals_.begin(); at != evals_.end();) {
    if (at->second.triggered_by() != "max-plan-attempts") {
      ++at;
      continue;
    }
    jobs_.erase(at->second.id());
    runnable.push_back(std::move(at->second));
    at = evals_.erase(at);
  }
  return runnable;
}

void Blocked::untrack_job(const std::string& name_space, const std::string& job_id) {
  auto at = evals_.find({name_space, job_id});
  if (at == evals_.end()) return;
  jobs_.erase(at->second.id());
  evals_.erase(at);
}

void Blocked::untrack(const std::string& eval_id) {
  auto at = jobs_.find(eval_id);
  if (at == jobs_.end()) return;
  evals_.erase(at->second);
  jobs_.erase(at);
}

void Blocked::prune(SteadyTime older_than) {
  std::erase_if(gains_, [&](const auto& entry) { return entry.second.when < older_than; });
}

void Blocked::flush() {
  evals_.clear();
  jobs_.clear();
  gains_.clear();
}

Blocked::Stats Blocked::stats() const {
  Stats stats;
  for (const auto& [job, eval] : evals_) {
    ++stats.blocked;
    stats.escaped += eval.escaped_computed_class();
  }
  return stats;
}

}  // namespace drover::scheduler
