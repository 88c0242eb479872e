#include "blocked.h"

#include <algorithm>
#include <utility>

namespace drover::scheduler {

bool Blocked::concerns(const v1::Evaluation& eval, const std::string& computed_class) {
  if (eval.storage_wait().only()) return false;
  if (eval.escaped_computed_class()) return true;
  auto at = eval.class_eligibility().find(computed_class);
  return at == eval.class_eligibility().end() || at->second;
}

// True when room for it came after the snapshot that it was decided on.
bool Blocked::came_since(const v1::Evaluation& eval) const {
  if (eval.has_storage_wait()) {
    if (unknown_storage_gains_ > eval.snapshot_index()) return true;
    for (const auto& [key, each] : storage_gains_) {
      if (each.gain.index > eval.snapshot_index() &&
          scheduler::concerns(each.what, eval.namespace_(), eval.storage_wait()))
        return true;
    }
  }
  const auto is_newer = [&](const auto& gain) { return gain.second.index > eval.snapshot_index(); };
  if (eval.storage_wait().only()) return false;
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
    drop(at);
  }
  if (came_since(eval)) {
    untrack(eval.id());
    outcome.runnable = eval;
    return outcome;
  }
  put(key, eval);
  return outcome;
}

void Blocked::put(const Key& key, const v1::Evaluation& eval) {
  v1::Evaluation& kept = evals_[key];
  awaiting_storage_ -= kept.has_storage_wait();
  kept = eval;
  awaiting_storage_ += kept.has_storage_wait();
  keys_[eval.id()] = key;
}

void Blocked::drop(std::map<Key, v1::Evaluation>::iterator at) {
  awaiting_storage_ -= at->second.has_storage_wait();
  keys_.erase(at->second.id());
  evals_.erase(at);
}

std::vector<v1::Evaluation> Blocked::take_if(const std::function<bool(const v1::Evaluation&)>& goes_on) {
  std::vector<v1::Evaluation> taken;
  std::erase_if(evals_, [&](auto& entry) {
    if (!goes_on(entry.second)) return false;
    awaiting_storage_ -= entry.second.has_storage_wait();
    keys_.erase(entry.second.id());
    taken.push_back(std::move(entry.second));
    return true;
  });
  return taken;
}

std::vector<v1::Evaluation> Blocked::unblock_storage(const StorageGain& gain, uint64_t index, SteadyTime now) {
  VolumeGain& known = storage_gains_[{gain.name_space, gain.volume, gain.plugin}];
  known = {gain, {std::max(known.gain.index, index), now}};
  if (awaiting_storage_ == 0) return {};
  return take_if([&](const v1::Evaluation& eval) {
    return eval.has_storage_wait() && scheduler::concerns(gain, eval.namespace_(), eval.storage_wait());
  });
}

std::vector<v1::Evaluation> Blocked::unblock_all_storage(uint64_t index) {
  unknown_storage_gains_ = std::max(unknown_storage_gains_, index);
  if (awaiting_storage_ == 0) return {};
  return take_if([](const v1::Evaluation& eval) { return eval.has_storage_wait(); });
}

std::vector<v1::Evaluation> Blocked::unblock(const std::string& node_id, const std::string& computed_class,
                                             uint64_t index, SteadyTime now) {
  for (Gain* gain : {&class_gains_[computed_class], &node_gains_[node_id]}) *gain = {std::max(gain->index, index), now};
  return take_if([&](const v1::Evaluation& eval) {
    if (eval.node_id().empty()) return concerns(eval, computed_class);
    return eval.node_id() == node_id && !eval.storage_wait().only();
  });
}

std::vector<v1::Evaluation> Blocked::take_conflicted() {
  return take_if([](const v1::Evaluation& eval) { return eval.triggered_by() == "max-plan-attempts"; });
}

void Blocked::untrack_job(const std::string& name_space, const std::string& job_id) {
  auto at = evals_.lower_bound({name_space, job_id, ""});
  while (at != evals_.end() && at->second.namespace_() == name_space && at->second.job_id() == job_id) drop(at++);
}

void Blocked::untrack(const std::string& eval_id) {
  auto at = keys_.find(eval_id);
  if (at == keys_.end()) return;
  drop(evals_.find(at->second));
}

void Blocked::prune(SteadyTime older_than) {
  for (Gains* gains : {&class_gains_, &node_gains_}) {
    std::erase_if(*gains, [&](const auto& entry) { return entry.second.when < older_than; });
  }
  std::erase_if(storage_gains_, [&](const auto& entry) { return entry.second.gain.when < older_than; });
}

void Blocked::flush() {
  evals_.clear();
  keys_.clear();
  class_gains_.clear();
  node_gains_.clear();
  storage_gains_.clear();
  unknown_storage_gains_ = 0;
  awaiting_storage_ = 0;
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
