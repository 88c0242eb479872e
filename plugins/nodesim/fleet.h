// The simulated nodes, and the calls that they make: those of plugins/agent, without tasks.
//
//   Register ──▶ Heartbeat ready ──▶ most of the TTL ──▶ Heartbeat …
//                     └─ the first ──▶ Watch, blocking ──▶ Fetch ──▶ Watch …
//                     │                                     └──▶ Update, when a report is due
//                     └─ the first ──▶ NodeServices.Sync, when services change and as often as they ask for
//
// A failed call is made again after a growing, jittered time, at the next server where this one is out of reach. There
// is no thread of a node: answers come on the executor. [any], but for start() and stop().
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "allocation_book.h"
#include "drover/executor.h"
#include "drover/mutex.h"
#include "drover/wire.h"
#include "figures.h"
#include "settings.h"

namespace drover::nodesim {

class Fleet {
 public:
  // Everything outlives the fleet; the wire has been started. The fleet outlives the executor's last task.
  Fleet(const Settings& settings, Peers& wire, Executor& executor, Clock& clock, Figures& figures);
  ~Fleet();

  void start();
  // No calls begin any more, and those under way are cancelled.
  void stop() { stop_.request_stop(); }
  // Every node reports every running allocation, now.
  void report_all();

  struct Progress {
    size_t ready = 0;    // nodes that were heard
    size_t running = 0;  // allocations
    std::string last_error;
  };
  Progress progress() const;

 private:
  struct Node;
  template <typename Response>
  using Then = std::function<void(Result<Response>, const ReplyMeta&)>;
  template <typename Response, typename Request>
  void ask(Node& node, Kind kind, const char* method, const Request& request, std::chrono::nanoseconds time,
           QueryOptions query, Then<Response> then);

  void begin_next();
  void register_node(Node& node);
  void heartbeat(Node& node);
  void watch(Node& node);
  void fetch(Node& node, const std::vector<std::string>& ids, uint64_t index);
  void plan_report(Node& node);
  void report(Node& node);
  void sync_services_after(std::chrono::nanoseconds delay, Node& node);
  void sync_services_if_changed(Node& node);
  void sync_services(Node& node, uint64_t turn);

  void after(std::chrono::nanoseconds delay, std::function<void()> task);
  // How long to wait after the failure: longer from one to the next.
  std::chrono::nanoseconds pause_after(const Status& failure, std::chrono::nanoseconds& delay);
  double between(double low, double high);

  const Settings& settings_;
  const Course course_;
  Peers& wire_;
  Executor& executor_;
  Clock& clock_;
  Figures& figures_;
  std::stop_source stop_;
  std::vector<std::unique_ptr<Node>> nodes_;  // constant after the constructor
  std::atomic<size_t> begun_{0};              // of the nodes
  std::atomic<size_t> ready_{0};
  mutable Mutex mutex_;
  std::minstd_rand random_ DROVER_GUARDED_BY(mutex_){std::random_device{}()};
  std::string last_error_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::nodesim
