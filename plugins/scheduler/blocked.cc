#include "blocked.h"

#include <algorithm>
#include <utility>

namespace drover::scheduler {

bool Blocked::concerns(const v1::Evaluation& eval, const std::string& computed_class) {
  if (eval.escaped_computed_class()) return true;
  auto at = eval.class_eligibility().find(computed_class);
  return at == eval.class_eligibility().end() || at->second;
}

// True when room for it came after the snapshot that it was decided on.
bool Blocked::came_since(const v1::Evaluation& eval) const {
  const auto is_newer = [&](const auto& gain) { return gain.second.index > eval.snapshot_index(); };
  if (!eval.node_id().empty()) {
    const auto at = node_gains_.find(eval.node_id());
    return at != node_gains_.end() && is_newer(*at);
  }
  return std::ranges::any_of(class_gains_,
                             [&](const auto& gain) { return is_newer(gain) && concerns(eval, gain.first); });
}

Blocked::Outcome Blocked::block(const v1::Evaluation& eval) {
  Outcome outcome;
  const Key key{eval.namespace_(), eval.job_id(), eval.node_id()};
  if (auto at = evals_.find(key); at != evals_.end() && at->second.id() != eval.id()) {
    if (at->second.create_index() > eval.create_index()) {
      outcome.duplicate = eval;
      return outcome;
    }
    outcome.duplicate = at->second;
    keys_.erase(at->second.id());
    evals_.erase(at);
  }
  if (came_since(eval)) {
    untrack(eval.id());
    outcome.runnable = eval;
    return outcome;
  }
  evals_[key] = eval;
  keys_[eval.id()] = key;
  return outcome;
}

std::vector<v1::Evaluation> Blocked::take_if(const std::function<bool(const v1::Evaluation&)>& goes_on) {
  std::vector<v1::Evaluation> taken;
  std::erase_if(evals_, [&](auto& entry) {
    if (!goes_on(entry.second)) return false;
    keys_.erase(entry.second.id());
    taken.push_back(std::move(entry.second));
    return true;
  });
  return taken;
}

std::vector<v1::Evaluation> Blocked::unblock(const std::string& node_id, const std::string& computed_class,
                                             uint64_t index, SteadyTime now) {
  for (Gain* gain : {&class_gains_[computed_class], &node_gains_[node_id]}) *gain = {std::max(gain->index, index), now};
  return take_if([&](const v1::Evaluation& eval) {
    return eval.node_id().empty() ? concerns(eval, computed_class) : eval.node_id() == node_id;
  });
}

std::vector<v1::Evaluation> Blocked::take_conflicted() {
  return take_if([](const v1::Evaluation& eval) { return eval.triggered_by() == "max-plan-attempts"; });
}

void Blocked::untrack_job(const std::string& name_space, const std::string& job_id) {
  const auto first = evals_.lower_bound({name_space, job_id, ""});
  auto end = first;
  for (; end != evals_.end() && end->second.namespace_() == name_space && end->second.job_id() == job_id; ++end) {
    keys_.erase(end->second.id());
  }
  evals_.erase(first, end);
}

void Blocked::untrack(const std::string& eval_id) {
  auto at = keys_.find(eval_id);
  if (at == keys_.end()) return;
  evals_.erase(at->second);
  keys_.erase(at);
}

void Blocked::prune(SteadyTime older_than) {
  for (Gains* gains : {&class_gains_, &node_gains_}) {
    std::erase_if(*gains, [&](const auto& entry) { return entry.second.when < older_than; });
  }
}

void Blocked::flush() {
  evals_.clear();
  keys_.clear();
  class_gains_.clear();
  node_gains_.clear();
}

Blocked::Stats Blocked::stats() const {
  Stats stats;
  for (const auto& [key, eval] : evals_) {
    ++stats.blocked;
    stats.escaped += eval.escaped_computed_class();
  }
  return stats;
}

}  // namespace drover::scheduler
