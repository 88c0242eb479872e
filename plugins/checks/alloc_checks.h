// The checks of one allocation: which there are, what is known of them, and what follows for its tasks and its health.
//
//   (made) ──prerun: observes──▶ running ──prekill, postrun: purged──▶ over
//                                  │ update: those that are gone are purged, new ones begin
//                                  └ a task's prekill: its checks pause, until its next prestart
//
// Shared by the parts of its hooks, the engine and the calls of operators. [any]
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "check_state.h"
#include "drover/alloc_hook.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "drover/registry_checks.h"
#include "engine/check_engine.h"
#include "observed/observed_check.h"
#include "providers.h"
#include "task_port.h"

namespace drover::v1 {
class AllocationChecksResponse;
}

namespace drover::checks {

class StoredResults;

// Shared by all allocations. Borrowed.
struct Node {
  Host& host;
  CheckEngine& engine;
  const Providers& providers;
  std::function<void()> status_changed;  // of a check; must not wait

  int64_t now() const { return host.clock().wall_ns(); }
  Variables variables() const;  // of the node, for references
  RegistryChecks* registry(const std::string& provider) const;  // null: it keeps no checks
};

class AllocChecks : public std::enable_shared_from_this<AllocChecks> {
 public:
  AllocChecks(const Node& node, Uuid id) : node_(node), id_(id) {}

  // --- The allocation's hook. `alloc` lives until close().
  void open(HookedAlloc& alloc);
  void close();
  void prerun();
  void update();
  void purge();  // all of it, for good

  // --- The hooks of its tasks.
  void open_task(HookedTask& task);
  void close_task(const std::string& task);
  void resume(const std::string& task);  // it is about to start
  void started(const std::string& task);
  void ended(const std::string& task);
  void pause(const std::string& task);   // it is about to be stopped

  // --- Others.
  std::optional<PartHealth> health() const;
  ServiceHealthNow service_health(std::string_view task, std::string_view service) const;
  v1::AllocationChecksResponse list() const;
  std::string name_space() const;  // empty before the prerun: nothing is known then
  // Looks for checks that have been bad for too long, and has tasks restarted. [checks]
  void look_for_restarts();

 private:
  struct Check {
    ObservedCheck what;
    CheckState state;
    RestartWatch watch;
    uint64_t number = 0;  // of the engine; 0: it does not run
  };
  struct Order {
    std::string check;
    std::vector<std::shared_ptr<TaskPort>> tasks;
  };

  void observe_all();
  void begin_all();
  EngineCheck engine_check(const ObservedCheck& what, const AllocSpec& spec);
  void answered(const std::string& id, EngineCheck::Result result);
  static EngineCheck::Result for_registry(const EngineCheck::Result& result);
  bool take(Check& check, const EngineCheck::Result& result) DROVER_REQUIRES(mutex_);
  std::shared_ptr<TaskPort> port(const std::string& task) const;
  std::vector<Order> due_restarts();
  void tell_health();
  void store_soon();
  void store();
  StoredResults load() const;
  std::string key() const;

  const Node& node_;
  const Uuid id_;
  Mutex changing_;  // held by those who change which checks there are; outside of mutex_
  Mutex storing_;   // held while the row is written; outside of mutex_
  mutable Mutex mutex_;
  CondVar told_;
  HookedAlloc* alloc_ DROVER_GUARDED_BY(mutex_) = nullptr;
  int telling_ DROVER_GUARDED_BY(mutex_) = 0;  // calls of the allocation that are under way
  AllocSpecPtr spec_ DROVER_GUARDED_BY(mutex_);  // null before prerun
  std::map<std::string, Check> checks_ DROVER_GUARDED_BY(mutex_);  // by identifier
  std::map<std::string, std::shared_ptr<TaskPort>> tasks_ DROVER_GUARDED_BY(mutex_);
  std::set<std::string> paused_ DROVER_GUARDED_BY(mutex_);
  std::set<std::string> running_ DROVER_GUARDED_BY(mutex_);  // tasks
  bool is_observing_ DROVER_GUARDED_BY(mutex_) = false;
  bool is_over_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::checks
