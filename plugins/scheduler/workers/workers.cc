#include "workers/workers.h"

#include <pthread.h>

#include <thread>

namespace drover::scheduler {

Workers::Settings Workers::settings() const {
  const MutexLock lock(mutex_);
  return settings_;
}

void Workers::change(Settings settings) {
  const MutexLock lock(mutex_);
  settings_ = std::move(settings);
  ++changes_;
  changed_.notify_all();
}

std::vector<Workers::Member> Workers::members() const {
  const MutexLock lock(mutex_);
  return members_;
}

void Workers::note(size_t worker, bool is_busy) {
  const MutexLock lock(mutex_);
  members_[worker].is_busy = is_busy;
}

void Workers::run(Clock& clock, const Life& life, std::stop_token stop) {
  while (!stop.stop_requested()) {
    uint64_t seen = 0;
    Settings now;
    {
      const MutexLock lock(mutex_);
      seen = changes_;
      now = settings_;
      for (int i = 0; i < now.count; ++i)
        members_.push_back({.id = Uuid::random(), .started_ns = clock.wall_ns(), .types = now.types});
    }
    {
      std::vector<std::jthread> threads;  // each is told to stop, and waited for, at the end of this block
      for (size_t i = 0; i < static_cast<size_t>(now.count); ++i) {
        threads.emplace_back([this, i, &now, &life](std::stop_token until) {
          ::pthread_setname_np(::pthread_self(), "worker");
          life(now.types, [this, i](bool is_busy) { note(i, is_busy); }, std::move(until));
        });
      }
      MutexLock lock(mutex_);
      changed_.wait(lock, stop, [&]() DROVER_REQUIRES(mutex_) { return changes_ != seen; });
      lock.unlock();
      for (std::jthread& thread : threads) thread.request_stop();
    }
    const MutexLock lock(mutex_);
    members_.clear();
  }
}

}  // namespace drover::scheduler
