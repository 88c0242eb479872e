#include "eval_queue.h"

#include <algorithm>
#include <utility>

#include "drover/uuid.h"

namespace drover::scheduler {
namespace {

constexpr size_t kCancelBatch = 728;
constexpr auto kGainsKept = std::chrono::minutes(15);

}  // namespace

void EvalQueue::wake() {
  wake_worker();
  // Or due by now: a clock that is put forward may run ahead of the wait.
  const bool is_sooner =
      broker_.next_deadline().value_or(SteadyTime::max()) < std::max(next_chores_, clock_.steady());
  if (is_sooner || broker_.has_chores()) chores_.notify_one();
}

void EvalQueue::wake_worker() {
  if (!paused_ && (!again_.empty() || broker_.has_ready())) ready_.notify_one();
}

void EvalQueue::flush() {
  MutexLock lock(mutex_);
  broker_.flush();
  blocked_.flush();
  again_.clear();
}

void EvalQueue::pause(bool paused) {
  MutexLock lock(mutex_);
  paused_ = paused;
  wake_worker();
}

void EvalQueue::forget_blocked() {
  MutexLock lock(mutex_);
  blocked_.flush();
}

std::optional<v1::Evaluation> EvalQueue::changed(const v1::Evaluation& eval) {
  MutexLock lock(mutex_);
  if (eval.status() == v1::EVAL_STATUS_BLOCKED) {
    Blocked::Outcome outcome = blocked_.block(eval);
    if (outcome.runnable) broker_.enqueue(*outcome.runnable, now());
    wake();
    return std::move(outcome.duplicate);
  }
  blocked_.untrack(eval.id());
  if (eval.status() == v1::EVAL_STATUS_PENDING) {
    broker_.enqueue(eval, now());
    wake();
  }
  return std::nullopt;
}

void EvalQueue::deleted(const std::string& eval_id) {
  MutexLock lock(mutex_);
  blocked_.untrack(eval_id);
  broker_.forget(eval_id);
  wake_worker();
}

void EvalQueue::job_gone(const std::string& name_space, const std::string& job_id) {
  MutexLock lock(mutex_);
  blocked_.untrack_job(name_space, job_id);
}

void EvalQueue::room_gained(const std::string& node_id, const std::string& computed_class, uint64_t index) {
  MutexLock lock(mutex_);
  for (const v1::Evaluation& eval : blocked_.unblock(node_id, computed_class, index, clock_.steady())) {
    broker_.enqueue(eval, now());
  }
  wake_worker();
}

void EvalQueue::storage_gained(const StorageGain& gain, uint64_t index) {
  MutexLock lock(mutex_);
  for (const v1::Evaluation& eval : blocked_.unblock_storage(gain, index, clock_.steady())) {
    broker_.enqueue(eval, now());
  }
  wake_worker();
}

void EvalQueue::storage_unknown(uint64_t index) {
  MutexLock lock(mutex_);
  for (const v1::Evaluation& eval : blocked_.unblock_all_storage(index)) broker_.enqueue(eval, now());
  wake_worker();
}

bool EvalQueue::awaits_storage() const {
  MutexLock lock(mutex_);
  return blocked_.awaits_storage();
}

bool EvalQueue::is_busy() const {
  MutexLock lock(mutex_);
  return broker_.unacked() > 0 || broker_.has_ready();
}

std::optional<Delivery> EvalQueue::dequeue(const std::set<std::string>& types, std::stop_token stop) {
  MutexLock lock(mutex_);
  std::optional<Delivery> delivery;
  ready_.wait(lock, stop, [&]() DROVER_REQUIRES(mutex_) {
    if (!stop.stop_requested() && !paused_) delivery = next(types);
    return delivery.has_value();
  });
  if (delivery) wake_worker();  // they are woken one after the other
  return delivery;
}

std::optional<Delivery> EvalQueue::try_dequeue(const std::set<std::string>& types) {
  MutexLock lock(mutex_);
  return paused_ ? std::nullopt : next(types);
}

std::optional<Delivery> EvalQueue::next(const std::set<std::string>& types) {
  std::erase_if(again_, [&](const Delivery& one)
                            DROVER_REQUIRES(mutex_) { return !broker_.outstanding(one.eval.id(), one.token); });
  const auto at = std::ranges::find_if(
      again_, [&](const Delivery& one) { return types.empty() || types.contains(one.eval.type()); });
  if (at != again_.end()) {
    Delivery delivery = std::move(*at);
    again_.erase(at);
    return delivery;
  }
  if (!broker_.has_ready() || broker_.unacked() >= kMostInFlight) return std::nullopt;
  return broker_.dequeue(types, Uuid::random().bytes(), now());
}

std::optional<Delivery> EvalQueue::deliver(const v1::Evaluation& eval) {
  MutexLock lock(mutex_);
  if (paused_) return std::nullopt;
  return broker_.deliver(eval, Uuid::random().bytes(), now());
}

void EvalQueue::ack(const Delivery& delivery) {
  MutexLock lock(mutex_);
  // A delivery that was taken back is answered by whoever has it now.
  (void)broker_.ack(delivery.eval.id(), delivery.token, now());
  wake();
}

void EvalQueue::nack(const Delivery& delivery) {
  MutexLock lock(mutex_);
  (void)broker_.nack(delivery.eval.id(), delivery.token, now());
  wake();
}

void EvalQueue::again(Delivery delivery) {
  MutexLock lock(mutex_);
  if (!broker_.extend(delivery.eval.id(), delivery.token, now()).ok()) return;
  again_.push_back(std::move(delivery));
  wake();
}

void EvalQueue::block_again(const Delivery& delivery, const v1::Evaluation& eval) {
  MutexLock lock(mutex_);
  if (!broker_.ack(delivery.eval.id(), delivery.token, now()).ok()) return;
  // Another one that the job has by now was written down, which cancelled this one there.
  const Blocked::Outcome outcome = blocked_.block(eval);
  if (outcome.runnable) broker_.enqueue(*outcome.runnable, now());
  wake();
}

bool EvalQueue::extend(const std::string& eval_id, const std::string& token) {
  MutexLock lock(mutex_);
  return broker_.extend(eval_id, token, now()).ok();
}

bool EvalQueue::rest(const std::string& eval_id, const std::string& token) {
  MutexLock lock(mutex_);
  return broker_.rest(eval_id, token).ok();
}

EvalQueue::Chores EvalQueue::wait_for_chores(SteadyTime until, std::stop_token stop) {
  MutexLock lock(mutex_);
  Chores chores;
  while (!stop.stop_requested()) {
    broker_.tick(now());
    wake_worker();
    chores.failed = broker_.take_failed();
    chores.cancelable = broker_.take_cancelable(kCancelBatch);
    if (!chores.empty() || clock_.steady() >= until) break;
    const SteadyTime next = std::min(until, broker_.next_deadline().value_or(until));
    bool woken = false;
    next_chores_ = next;
    chores_.wait_until(lock, stop, next, [&]() DROVER_REQUIRES(mutex_) { return std::exchange(woken, true); });
    next_chores_ = {};
  }
  return chores;
}

void EvalQueue::retry_conflicted() {
  MutexLock lock(mutex_);
  for (const v1::Evaluation& eval : blocked_.take_conflicted()) broker_.enqueue(eval, now());
  wake_worker();
}

void EvalQueue::prune() {
  MutexLock lock(mutex_);
  blocked_.prune(clock_.steady() - kGainsKept);
}

void EvalQueue::report(Metrics& metrics) const {
  Broker::Stats broker;
  Blocked::Stats blocked;
  {
    MutexLock lock(mutex_);
    broker = broker_.stats();
    blocked = blocked_.stats();
  }
  const auto set = [&](const std::string& name, size_t value) { metrics.set(name, static_cast<double>(value)); };
  set("nomad.nomad.broker.total_ready", broker.ready);
  set("nomad.nomad.broker.total_unacked", broker.unacked);
  set("nomad.nomad.broker.total_pending", broker.pending);
  set("nomad.nomad.broker.total_waiting", broker.waiting);
  set("nomad.nomad.broker.total_cancelable", broker.cancelable);
  for (const auto& [type, counts] : broker.types) {
    set("nomad.nomad.broker." + type + ".ready", counts.ready);
    set("nomad.nomad.broker." + type + ".unacked", counts.unacked);
  }
  set("nomad.nomad.blocked_evals.total_blocked", blocked.blocked);
  set("nomad.nomad.blocked_evals.total_escaped", blocked.escaped);
}

}  // namespace drover::scheduler
