#include "engine/check_engine.h"

#include <pthread.h>

#include <algorithm>

#include "drover/duration.h"

#include "drover/v1/check_provider.pb.h"

namespace drover::checks {
namespace {

using namespace std::chrono_literals;

constexpr auto kTick = 1s;
constexpr auto kNoThread = 100ms;  // until a check that found no thread tries again
constexpr auto kIdle = 1h;

}  // namespace

struct CheckEngine::Answer {
  uint64_t number, turn;
  EngineCheck::Result result;
};

struct CheckEngine::Inbox {
  Mutex mutex;
  CondVarAny changed;
  std::vector<Answer> answers DROVER_GUARDED_BY(mutex);
  bool is_woken DROVER_GUARDED_BY(mutex) = false;
  size_t waiting DROVER_GUARDED_BY(mutex) = 0;  // threads in run()
};

CheckEngine::CheckEngine(Clock& clock, std::function<void()> tick, Limits limits)
    : clock_(clock),
      tick_(std::move(tick)),
      limits_(limits),
      inbox_(std::make_shared<Inbox>()),
      pool_({.workers = 1, .max_borrowed = limits.waiting}, clock) {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

CheckEngine::~CheckEngine() { stop(); }

uint64_t CheckEngine::add(EngineCheck check) {
  auto entry = std::make_shared<Entry>();
  entry->check = std::move(check);
  uint64_t number = 0;
  {
    const MutexLock lock(mutex_);
    number = ++last_;
    due_.put(number, clock_.steady() + first_delay(entry->check.interval, chance()));
    entries_.emplace(number, std::move(entry));
  }
  wake();
  return number;
}

void CheckEngine::remove(uint64_t number) {
  if (number == 0) return;
  EntryPtr entry;
  {
    MutexLock lock(mutex_);
    const auto at = entries_.find(number);
    if (at != entries_.end()) {
      entry = at->second;
      if (entry->is_running) --running_;
      entries_.erase(at);
      due_.remove(number);
      ends_.remove(number);
    }
    const bool is_own = std::this_thread::get_id() == thread_.get_id();
    if (!is_own) called_.wait(lock, [&]() DROVER_REQUIRES(mutex_) { return calling_ != number; });
  }
  if (entry) entry->stop.request_stop();
}

void CheckEngine::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  std::map<uint64_t, EntryPtr> entries;
  {
    const MutexLock lock(mutex_);
    entries.swap(entries_);
  }
  for (const auto& [number, entry] : entries) entry->stop.request_stop();
  pool_.stop();
}

size_t CheckEngine::size() const {
  const MutexLock lock(mutex_);
  return entries_.size();
}

void CheckEngine::wake() {
  const MutexLock lock(inbox_->mutex);
  inbox_->is_woken = true;
  inbox_->changed.notify_all();
}

// ---- the thread "checks"

void CheckEngine::work(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "checks");
  while (!stop.stop_requested()) {
    std::vector<Answer> answers;
    {
      MutexLock lock(inbox_->mutex);
      answers.swap(inbox_->answers);
      inbox_->is_woken = false;
    }
    for (Answer& answer : answers) take(std::move(answer));
    const SteadyTime now = clock_.steady();
    end_overdue(now);
    for (const Due& due : take_due(now)) start(due);
    if (size() > 0 && now >= next_tick_) {
      next_tick_ = now + kTick;
      tick_();
    }
    const SteadyTime next = next_time();
    MutexLock lock(inbox_->mutex);
    inbox_->changed.wait_until(lock, stop, next, [this]() DROVER_REQUIRES(inbox_->mutex) {
      return inbox_->is_woken || !inbox_->answers.empty();
    });
  }
}

SteadyTime CheckEngine::next_time() const {
  const MutexLock lock(mutex_);
  SteadyTime next = clock_.steady() + kIdle;
  if (!entries_.empty()) next = std::min(next, next_tick_);
  if (const auto end = ends_.next()) next = std::min(next, *end);
  // Without room an answer or an end comes first.
  if (const auto due = due_.next(); due && running_ < limits_.running) next = std::min(next, *due);
  return next;
}

std::vector<CheckEngine::Due> CheckEngine::take_due(SteadyTime now) {
  std::vector<Due> out;
  const MutexLock lock(mutex_);
  for (const uint64_t number : due_.take_due(now, limits_.running - std::min(running_, limits_.running))) {
    const EntryPtr& entry = entries_.at(number);
    entry->is_running = true;
    entry->stop = std::stop_source();
    ++entry->turn;
    ++running_;
    ends_.put(number, now + entry->check.timeout);
    out.push_back({number, entry->turn, entry, entry->stop.get_token()});
  }
  return out;
}

void CheckEngine::start(const Due& due) {
  const auto told = [inbox = inbox_, number = due.number, turn = due.turn](EngineCheck::Result result) {
    const MutexLock lock(inbox->mutex);
    inbox->answers.push_back({number, turn, std::move(result)});
    inbox->changed.notify_all();
  };
  if (due.entry->check.begin(due.stop, told) || start_waiting(due, told)) return;
  const MutexLock lock(mutex_);
  if (!entries_.contains(due.number)) return;
  due.entry->is_running = false;
  --running_;
  ends_.remove(due.number);
  due_.put(due.number, clock_.steady() + kNoThread);
}

// False: no thread is free.
bool CheckEngine::start_waiting(const Due& due, CheckProvider::Told told) {
  {
    const MutexLock lock(inbox_->mutex);
    if (inbox_->waiting >= limits_.waiting) return false;
    ++inbox_->waiting;
  }
  const auto body = [inbox = inbox_, entry = due.entry, stop = due.stop, told = std::move(told)] {
    auto result = entry->check.run(stop);
    {
      const MutexLock lock(inbox->mutex);
      --inbox->waiting;
    }
    told(std::move(result));
  };
  if (pool_.run_blocking(body).ok()) return true;
  const MutexLock lock(inbox_->mutex);
  --inbox_->waiting;
  return false;
}

void CheckEngine::end_overdue(SteadyTime now) {
  std::vector<Due> over;
  {
    const MutexLock lock(mutex_);
    for (const uint64_t number : ends_.take_due(now)) {
      const EntryPtr& entry = entries_.at(number);
      over.push_back({number, entry->turn, entry, {}});
    }
  }
  for (const Due& due : over) {
    std::stop_source stop = due.entry->stop;
    take({due.number, due.turn, check::critical("no answer within " + format_duration(due.entry->check.timeout))});
    stop.request_stop();
  }
}

void CheckEngine::take(Answer answer) {
  EntryPtr entry;
  {
    const MutexLock lock(mutex_);
    const auto at = entries_.find(answer.number);
    if (at == entries_.end() || !at->second->is_running || at->second->turn != answer.turn) return;
    entry = at->second;
    entry->is_running = false;
    --running_;
    ends_.remove(answer.number);
    due_.put(answer.number, clock_.steady() + next_delay(entry->check.interval, chance()));
    calling_ = answer.number;
  }
  entry->check.answered(std::move(answer.result));
  const MutexLock lock(mutex_);
  calling_ = 0;
  called_.notify_all();
}

}  // namespace drover::checks
