#include "broker.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace drover::scheduler {

bool Broker::ReadyOrder::operator<(const ReadyOrder& other) const {
  return std::tuple(-int64_t{priority}, create_index, id) <
         std::tuple(-int64_t{other.priority}, other.create_index, other.id);
}

void Broker::enqueue(const v1::Evaluation& eval, Moment now) {
  auto [at, is_new] = entries_.try_emplace(eval.id());
  Entry& entry = at->second;
  if (!is_new) {
    if (entry.where == Where::unacked) entry.again = eval;
    return;
  }
  entry.eval = eval;
  if (eval.wait() > 0) {
    wait(entry, now.steady + std::chrono::nanoseconds(eval.wait()));
  } else if (eval.wait_until() > now.wall_ns) {
    wait(entry, now.steady + std::chrono::nanoseconds(eval.wait_until() - now.wall_ns));
  } else {
    make_ready(entry);
  }
}

void Broker::make_ready(Entry& entry) {
  const JobName job = job_of(entry.eval);
  if (auto [at, free] = active_.try_emplace(job, entry.eval.id()); !free && at->second != entry.eval.id()) {
    entry.where = Where::pending;
    pending_[job].insert(entry.eval.id());
    return;
  }
  entry.where = Where::ready;
  ready_[entry.eval.type()].insert(order_of(entry.eval));
}

void Broker::wait(Entry& entry, SteadyTime until) {
  entry.where = Where::waiting;
  entry.deadline = until;
  waiting_.emplace(until, entry.eval.id());
}

std::optional<Delivery> Broker::dequeue(const std::set<std::string>& types, std::string token, Moment now) {
  const ReadyOrder* best = nullptr;
  for (const auto& [type, queue] : ready_) {
    if (queue.empty() || (!types.empty() && !types.contains(type))) continue;
    if (!best || *queue.begin() < *best) best = &*queue.begin();
  }
  if (!best) return std::nullopt;
  Entry& entry = entries_.at(best->id);
  ready_[entry.eval.type()].erase(order_of(entry.eval));
  return hand_out(entry, std::move(token), now);
}

Delivery Broker::hand_out(Entry& entry, std::string token, Moment now) {
  entry.where = Where::unacked;
  ++entry.deliveries;
  entry.token = std::move(token);
  entry.deadline = now.steady + options_.nack_timeout;
  unacked_.emplace(entry.deadline, entry.eval.id());
  return Delivery{.eval = entry.eval, .token = entry.token};
}

std::optional<Delivery> Broker::deliver(const v1::Evaluation& eval, std::string token, Moment now) {
  if (entries_.contains(eval.id()) || !active_.try_emplace(job_of(eval), eval.id()).second) return std::nullopt;
  Entry& entry = entries_[eval.id()];
  entry.eval = eval;
  return hand_out(entry, std::move(token), now);
}

Broker::Entry* Broker::in_flight(const std::string& id, const std::string& token) {
  auto at = entries_.find(id);
  return at != entries_.end() && is_held(at->second, token) ? &at->second : nullptr;
}

bool Broker::outstanding(const std::string& id, const std::string& token) const {
  const auto at = entries_.find(id);
  return at != entries_.end() && is_held(at->second, token);
}

Status Broker::answer_by(const std::string& id, const std::string& token, SteadyTime deadline) {
  Entry* entry = in_flight(id, token);
  if (!entry) return not_found("evaluation is not outstanding");
  unacked_.erase({entry->deadline, id});
  entry->deadline = deadline;
  unacked_.emplace(entry->deadline, id);
  return ok_status();
}

Status Broker::extend(const std::string& id, const std::string& token, Moment now) {
  return answer_by(id, token, now.steady + options_.nack_timeout);
}

Status Broker::rest(const std::string& id, const std::string& token) { return answer_by(id, token, SteadyTime::max()); }

Status Broker::ack(const std::string& id, const std::string& token, Moment now) {
  Entry* entry = in_flight(id, token);
  if (!entry) return not_found("evaluation is not outstanding");
  unacked_.erase({entry->deadline, id});
  const JobName job = job_of(entry->eval);
  const std::optional<v1::Evaluation> again = std::move(entry->again);
  entries_.erase(id);
  active_.erase(job);
  release_job(job);
  if (again) enqueue(*again, now);
  return ok_status();
}

void Broker::release_job(const JobName& job, Others others) {
  auto at = pending_.find(job);
  if (at == pending_.end()) return;
  const std::set<std::string> ids = std::move(at->second);
  pending_.erase(at);
  const auto newest = std::ranges::max_element(ids, {}, [&](const std::string& id) {
    const v1::Evaluation& eval = entries_.at(id).eval;
    return std::tuple(eval.modify_index(), eval.priority(), eval.create_index(), id);
  });
  for (const std::string& id : ids) {
    if (id == *newest) continue;
    if (others == Others::wait_on) {
      pending_[job].insert(id);
      continue;
    }
    cancelable_.push_back(std::move(entries_.at(id).eval));
    entries_.erase(id);
  }
  make_ready(entries_.at(*newest));
}

void Broker::forget(const std::string& id) {
  const auto at = entries_.find(id);
  if (at == entries_.end() || at->second.where == Where::unacked) return;
  const Entry entry = std::move(at->second);
  entries_.erase(at);
  const JobName job = job_of(entry.eval);
  if (entry.where == Where::waiting) {
    waiting_.erase({entry.deadline, id});
  } else if (entry.where == Where::pending) {
    const auto behind = pending_.find(job);
    behind->second.erase(id);
    if (behind->second.empty()) pending_.erase(behind);
  } else {
    ready_[entry.eval.type()].erase(order_of(entry.eval));
  }
  // A waiting one holds its job while it was nacked.
  const auto active = active_.find(job);
  if (active == active_.end() || active->second != id) return;
  active_.erase(active);
  // The next one may be deleted as well, and must not have made the others needless before.
  release_job(job, Others::wait_on);
}

Status Broker::nack(const std::string& id, const std::string& token, Moment now) {
  Entry* entry = in_flight(id, token);
  if (!entry) return not_found("evaluation is not outstanding");
  unacked_.erase({entry->deadline, id});
  entry->token.clear();
  entry->again.reset();  // it comes again anyway
  if (entry->deliveries >= options_.delivery_limit) {
    const JobName job = job_of(entry->eval);
    failed_.push_back(std::move(entry->eval));
    entries_.erase(id);
    active_.erase(job);
    release_job(job);
    return ok_status();
  }
  wait(*entry, now.steady + (entry->deliveries == 1 ? options_.first_nack_delay
                                                    : options_.nack_delay * (entry->deliveries - 1)));
  return ok_status();
}

void Broker::tick(Moment now) {
  while (!waiting_.empty() && waiting_.begin()->first <= now.steady) {
    const std::string id = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    make_ready(entries_.at(id));
  }
  while (!unacked_.empty() && unacked_.begin()->first <= now.steady) {
    const std::string id = unacked_.begin()->second;
    (void)nack(id, entries_.at(id).token, now);
  }
}

bool Broker::has_ready() const {
  return std::ranges::any_of(ready_, [](const auto& type) { return !type.second.empty(); });
}

std::optional<SteadyTime> Broker::next_deadline() const {
  std::optional<SteadyTime> next;
  for (const auto* queue : {&waiting_, &unacked_}) {
    if (!queue->empty() && (!next || queue->begin()->first < *next)) next = queue->begin()->first;
  }
  return next;
}

std::vector<v1::Evaluation> Broker::take_failed() { return std::exchange(failed_, {}); }

std::vector<v1::Evaluation> Broker::take_cancelable(size_t limit) {
  const size_t count = std::min(limit, cancelable_.size());
  const auto end = cancelable_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<v1::Evaluation> taken(std::make_move_iterator(cancelable_.begin()), std::make_move_iterator(end));
  cancelable_.erase(cancelable_.begin(), end);
  return taken;
}

void Broker::flush() {
  entries_.clear();
  ready_.clear();
  active_.clear();
  pending_.clear();
  waiting_.clear();
  unacked_.clear();
  failed_.clear();
  cancelable_.clear();
}

Broker::Stats Broker::stats() const {
  Stats stats;
  for (const auto& [type, queue] : ready_) {
    stats.types[type].ready = queue.size();
    stats.ready += queue.size();
  }
  for (const auto& [deadline, id] : unacked_) ++stats.types[entries_.at(id).eval.type()].unacked;
  for (const auto& [job, ids] : pending_) stats.pending += ids.size();
  stats.unacked = unacked_.size();
  stats.waiting = waiting_.size();
  stats.cancelable = cancelable_.size();
  return stats;
}

}  // namespace drover::scheduler
