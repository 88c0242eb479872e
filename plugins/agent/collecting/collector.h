// Forgets allocations that are over, while the disk is too full or there are too many, and before new ones start.
//
// Owned by the plugin. Thread "collector" does all of it, one look after the other, so that nobody makes room twice.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>

#include "allocations.h"
#include "client.h"
#include "collecting/collect_plan.h"
#include "drover/mutex.h"

namespace drover::agent {

class Collector {
 public:
  // Percent of the disk and of its inodes that are used, and what is left of it for allocations.
  using Measure = std::function<CollectState()>;
  // Requires: all outlive it.
  Collector(const Client& client, Allocations& allocations, Measure measure);
  ~Collector();

  void start();
  void stop();  // idempotent

  // Makes room for an allocation that is about to start, as far as that can be done. Waits until it is made, or the
  // collector has stopped. [any]
  void make_room(int64_t needed_mb, std::stop_token stop);

 private:
  struct Request {
    int64_t needed_mb = 0;
    bool is_done = false;
  };
  using Need = CollectNeed (*)(const CollectLimits&, const CollectState&);
  void run(const std::stop_token& stop);
  void retry_left_behind();
  void collect_while(Need need, int64_t needed_mb, const std::stop_token& stop);
  CollectState look(int64_t needed_mb) const;
  std::vector<Collectable> collectables() const;

  const Client& client_;
  Allocations& allocations_;
  const Measure measure_;
  Mutex mutex_;
  CondVarAny changed_;
  std::deque<std::shared_ptr<Request>> requests_ DROVER_GUARDED_BY(mutex_);
  bool is_stopped_ DROVER_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

// Looks at the file system with the client's allocations.
CollectState measure_disk(const ClientConfig& config);

}  // namespace drover::agent
