// Publishes the instances of this node's services: whatever the workloads say last is what every provider is told.
//
//   put, remove ──▶ due, after kGather ──▶ sync of all that this provider has ──▶ quiet until sync_every
//                                               └ failed: again, first after kFirstRetry, then ever later
//
// A provider hears of the whole truth each time, so nothing that was lost, restarted or forgotten outlives the next
// sync. Nothing is said before the servers know the node: until then workloads of an agent's former life are put in
// again. One thread for each provider. [any]
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/node_calls.h"
#include "drover/service_health.h"
#include "drover/service_provider.h"

namespace drover::v1 {
class StoredInstances;
}

namespace drover::services {

struct WorkloadName {
  Uuid alloc;
  std::string task;  // empty: the group's services
  auto operator<=>(const WorkloadName&) const = default;
};

class Publisher final : public NodeRegistered {
 public:
  static constexpr std::chrono::milliseconds kGather{50};
  static constexpr std::chrono::milliseconds kFirstRetry{100};
  static constexpr std::chrono::seconds kLastRetry{10};

  ~Publisher() override { stop(); }

  // Once, before anything is put. `who`: this node; nothing until the servers know it. `health`: how instances do by
  // their checks; null: nobody knows. It outlives the publisher.
  void start(std::function<std::optional<NodeProofOf>()> who, const ServiceHealth* health = nullptr);
  void stop();

  // From now on this provider is told, of what was put before, too; does nothing for a name that is there. It outlives
  // the publisher.
  void offer(const std::string& name, ServiceProvider& provider);
  bool has(std::string_view provider);

  // The instances of this workload are these and no others. Those of providers that are not there wait for them.
  void put(const WorkloadName& name, const v1::StoredInstances& instances);
  void remove(const WorkloadName& name);
  // Waits until these providers, or all where none is named, have been told of what was said before; no longer than
  // until the stop. False: they were not within that time.
  bool settle(std::chrono::nanoseconds patience, const std::set<std::string>& providers = {});

  void registered() override;
  // Instances may do otherwise than was said: says all again, soon.
  void health_changed();

 private:
  struct Outlet {
    std::string name;
    ServiceProvider* provider;
    size_t at;  // of its progress
    std::jthread thread{};
  };
  struct Progress {
    uint64_t published = 0;  // up to this change
    bool is_due = false;     // said again whatever has changed
  };
  void run(Outlet& outlet, const std::stop_token& stop);
  Status sync(Outlet& outlet, const std::stop_token& stop);
  void changed() DROVER_REQUIRES(mutex_);

  std::function<std::optional<NodeProofOf>()> who_;
  const ServiceHealth* health_ = nullptr;
  Mutex mutex_;
  CondVarAny woken_, settled_;
  std::map<WorkloadName, std::shared_ptr<const v1::StoredInstances>> workloads_ DROVER_GUARDED_BY(mutex_);
  uint64_t change_ DROVER_GUARDED_BY(mutex_) = 1;
  std::vector<Progress> progress_ DROVER_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Outlet>> outlets_ DROVER_GUARDED_BY(mutex_);  // an outlet itself is constant
  bool is_stopped_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::services
