// Work that the host runs later, by name: each name at most once at a time, the newest order counts. After stop()
// nothing of it runs any more. [any]
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "drover/mutex.h"
#include "drover/plugin.h"

namespace drover::mounts {

class Later {
 public:
  explicit Later(Host& host) : host_(host), shared_(std::make_shared<Shared>()) {}
  ~Later() { stop(); }

  // Runs `work` after the pause, instead of what was ordered under that name before and has not begun. Work that runs
  // already is not run a second time: it is run again after its end.
  void run(const std::string& name, std::chrono::nanoseconds pause, std::function<void()> work);
  // Orders that have not begun begin now.
  void hurry();
  // Requests the stop of what runs, waits for it, and drops the rest. Idempotent.
  void stop();
  std::stop_token token() const { return stop_.get_token(); }

 private:
  struct Order {
    uint64_t number = 0;
    std::function<void()> work;
    bool is_due = false;  // its time came while the former one of its name still ran
  };
  // Outlives this object in what the host still holds.
  struct Shared {
    Mutex mutex;
    CondVarAny idle;
    bool is_stopped DROVER_GUARDED_BY(mutex) = false;
    uint64_t last DROVER_GUARDED_BY(mutex) = 0;
    std::map<std::string, Order> orders DROVER_GUARDED_BY(mutex);
    std::set<std::string> working DROVER_GUARDED_BY(mutex);
  };
  static void begin(const std::shared_ptr<Shared>& shared, const std::string& name, uint64_t number);

  Host& host_;
  const std::shared_ptr<Shared> shared_;
  std::stop_source stop_;
};

}  // namespace drover::mounts
