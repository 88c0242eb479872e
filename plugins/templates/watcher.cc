#include "watcher.h"

#include <pthread.h>

#include "drover/pause.h"

namespace drover::templates {

void Watcher::add(Watched& one) {
  const MutexLock lock(mutex_);
  if (is_over_) return;
  all_.insert(&one);
  if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Watcher::remove(Watched& one) {
  const MutexLock lock(mutex_);
  all_.erase(&one);
}

void Watcher::stop() {
  {
    const MutexLock lock(mutex_);
    is_over_ = true;
  }
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Watcher::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "templates");
  while (pause_for(every_, stop)) {
    const MutexLock lock(mutex_);
    for (Watched* one : all_) one->look();
  }
}

}  // namespace drover::templates
