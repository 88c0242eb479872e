#include "kernel/host/lifecycle.h"

#include <pthread.h>

#include <algorithm>

#include <atomic>

#include "drover/log.h"

namespace drover::host {

std::string_view to_string(Stage stage) {
  static constexpr std::string_view kNames[] = {"loaded", "declared", "started", "leading", "stopped"};
  return kNames[static_cast<size_t>(stage)];
}

struct Lifecycle::Entry {
  Member member;
  Stage stage = Stage::loaded;
  Mutex leading;  // held by the leadership in progress: terms of one plugin never overlap
};

Lifecycle::Lifecycle(std::vector<Member> members, Clock& clock) : clock_(clock) {
  for (Member& member : members) {
    entries_.push_back(std::make_unique<Entry>());
    entries_.back()->member = std::move(member);
  }
}

Lifecycle::~Lifecycle() {
  stop(std::chrono::seconds(5));
  while (!entries_.empty()) entries_.pop_back();  // users before those they use
}

void Lifecycle::set_stage(Entry& entry, Stage stage) {
  MutexLock lock(mutex_);
  entry.stage = stage;
}

Status Lifecycle::declare(const std::function<Status(const std::string&, Plugin&)>& each) {
  for (auto& entry : entries_) {
    DROVER_RETURN_IF_ERROR(
        each(entry->member.name, *entry->member.plugin).with_context("plugin " + entry->member.name));
    set_stage(*entry, Stage::declared);
  }
  return ok_status();
}

bool Lifecycle::has_started(std::string_view name) const {
  MutexLock lock(mutex_);
  return std::ranges::none_of(
      entries_, [&](const auto& entry) { return entry->member.name == name && entry->stage < Stage::started; });
}

Status Lifecycle::start(const std::function<Host&(const std::string&)>& host_of) {
  for (auto& entry : entries_) {
    const SteadyTime began = clock_.steady();
    DROVER_RETURN_IF_ERROR(entry->member.plugin->start(host_of(entry->member.name))
                               .with_context("plugin " + entry->member.name + ": start"));
    set_stage(*entry, Stage::started);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.steady() - began);
    if (took > std::chrono::seconds(1)) {
      log::warn("host", "plugin was slow to start", {{"plugin", entry->member.name}, {"milliseconds", took.count()}});
    }
  }
  return ok_status();
}

void Lifecycle::lead(std::stop_token until) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  for (auto& entry : entries_) {
    leaders_.emplace_back([this, &entry = *entry, until] {
      pthread_setname_np(pthread_self(), ("lead-" + entry.member.name).substr(0, 15).c_str());
      MutexLock one_at_a_time(entry.leading);
      if (until.stop_requested()) return;
      set_stage(entry, Stage::leading);
      entry.member.plugin->lead(until);
      set_stage(entry, Stage::started);
    });
  }
}

void Lifecycle::leave() {
  for (auto at = entries_.rbegin(); at != entries_.rend(); ++at) {
    Plugin& plugin = *(*at)->member.plugin;
    plugin.leave(clock_.steady() + plugin.leave_time());
  }
}

std::vector<std::string> Lifecycle::stop(std::chrono::nanoseconds time) {
  const SteadyTime deadline = clock_.steady() + time;
  std::vector<std::thread> leaders;
  {
    MutexLock lock(mutex_);
    if (stopped_) return {};
    stopped_ = true;
    leaders.swap(leaders_);
  }
  // The caller has stopped leadership: these end on their own.
  for (std::thread& leader : leaders) leader.join();
  std::vector<std::string> late;
  for (auto at = entries_.rbegin(); at != entries_.rend(); ++at) {
    Entry& entry = **at;
    if (entry.stage == Stage::loaded || entry.stage == Stage::declared) continue;
    // On a thread of its own, so that one that hangs is named and does not keep the others from stopping.
    struct Outcome {
      Mutex mutex;
      CondVar done;
      bool ended DROVER_GUARDED_BY(mutex) = false;
    };
    auto outcome = std::make_shared<Outcome>();
    std::thread stopper([outcome, plugin = entry.member.plugin.get(), deadline] {
      pthread_setname_np(pthread_self(), "stop");
      plugin->stop(deadline);
      MutexLock lock(outcome->mutex);
      outcome->ended = true;
      outcome->done.notify_all();
    });
    MutexLock lock(outcome->mutex);
    const SteadyTime give_up = std::max(deadline, clock_.steady() + std::chrono::milliseconds(200));
    if (outcome->done.wait_until(lock, give_up, [&]() DROVER_REQUIRES(outcome->mutex) { return outcome->ended; })) {
      lock.unlock();
      stopper.join();
      set_stage(entry, Stage::stopped);
      continue;
    }
    lock.unlock();
    log::error("host", "plugin did not stop in time", {{"plugin", entry.member.name}});
    late.push_back(entry.member.name);
    stopper.detach();                     // it still uses the plugin,
    (void)entry.member.plugin.release();  // which therefore stays
  }
  return late;
}

std::vector<Lifecycle::State> Lifecycle::states() const {
  MutexLock lock(mutex_);
  std::vector<State> states;
  for (const auto& entry : entries_) states.push_back({entry->member.name, entry->stage});
  return states;
}

}  // namespace drover::host
