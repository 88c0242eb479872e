// Looks, every so often, at all that somebody waits for changes of. One thread for a whole node.
#pragma once

#include <chrono>
#include <set>
#include <thread>

#include "drover/clock.h"
#include "drover/mutex.h"

namespace drover::templates {

class Watched {
 public:
  virtual ~Watched() = default;
  // Must not wait. [the watcher's thread]
  virtual void look() = 0;
};

// [any]
class Watcher {
 public:
  explicit Watcher(std::chrono::nanoseconds every) : every_(every) {}
  ~Watcher() { stop(); }

  // From now on it is looked at; does nothing for one that is already. The first one starts the thread.
  void add(Watched& one);
  // Once it returns, nobody looks any more.
  void remove(Watched& one);
  void stop();

 private:
  void run(const std::stop_token& stop);

  const std::chrono::nanoseconds every_;
  Mutex mutex_;  // held over a look
  std::set<Watched*> all_ DROVER_GUARDED_BY(mutex_);
  bool is_over_ DROVER_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace drover::templates
