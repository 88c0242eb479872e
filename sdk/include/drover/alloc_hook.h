// A hook of allocations: what a node does for an allocation as a whole, before its tasks, beside them and after them.
//
//   attach ──▶ prerun ──▶ (tasks) ──▶ postrun ──▶ destroy
//                 │ update: the servers describe it anew
//                 │ prerestart: all of its tasks are about to be restarted, by order
//                 │ prekill: the tasks are about to be stopped
//                 └ shutdown: the agent ends; the tasks go on
//
// Registered as declare.extend<AllocHook>(name, hook). Hooks run in the order of order_hooks; postrun, destroy and
// shutdown in the reverse order.
//
// Restore: after a restart of the agent each allocation that has not ended is attached again and its prerun runs again,
// with the state that was kept. So prerun must find what it made before; it makes it anew when the machine restarted.
//
// Failure: a failed prerun fails every task of the allocation with "failed to setup alloc: pre-run hook "NAME" failed:
// CAUSE", and no later hook's prerun runs. Other failures are logged. postrun and destroy come in any case, also when
// prerun failed or never ran, and after a failed postrun once more with the agent's next start: they must be
// idempotent. A failed destroy keeps the allocation, and all hooks are asked again with the node's next collection.
//
// Threads: the calls for one allocation come one at a time, each on a thread where it may wait. Those for different
// allocations come in parallel.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/hook.h"
#include "drover/uuid.h"

namespace hashicorp::nomad::plugins::drivers::proto {
class NetworkIsolationSpec;
}
namespace drover::v1 {
class NetworkStatus;
}

namespace drover::v1 {
class TaskEvent;
}

namespace drover {

// An allocation of this node, as a hook sees it. Lives longer than the hook's part in it. [any]
class HookedAlloc {
 public:
  virtual ~HookedAlloc() = default;
  virtual Uuid id() const = 0;
  virtual AllocSpecPtr spec() const = 0;
  virtual const AllocFolders& folders() const = 0;
  // A former agent has begun to run it.
  virtual bool is_restored() const = 0;
  // The tasks start in this network instead of the machine's; the last word counts. During prerun.
  virtual void share_network(const hashicorp::nomad::plugins::drivers::proto::NetworkIsolationSpec& network) = 0;
  // As a hook before shared it; nothing: the machine's.
  virtual std::optional<hashicorp::nomad::plugins::drivers::proto::NetworkIsolationSpec> shared_network() const = 0;
  // Tells the tasks and the servers under which address the shared network is reached. During prerun.
  virtual void describe_network(const v1::NetworkStatus& status) = 0;
  // As a hook described it. Without an address: the machine's.
  virtual v1::NetworkStatus network_status() const = 0;
  // Adds an event to those of each of its tasks, for people to see.
  virtual void tell(const v1::TaskEvent& event) = 0;
  // The part's health() says another thing than before: it is asked anew.
  virtual void health_changed() {}
};

// An allocation's health by what one hook knows of it, beside the states of its tasks.
struct PartHealth {
  struct Fault {
    std::string task;  // empty: all of them
    std::string why;   // a sentence, shown with an allocation that is unhealthy at its deadline
  };
  bool is_good = true;
  int64_t since_ns = 0;           // while good: without a break since then, nanoseconds since 1970
  std::vector<Fault> faults = {};  // while not
};

class AllocHook {
 public:
  static constexpr std::string_view kExtensionPoint = "alloc_hook";
  virtual ~AllocHook() = default;

  virtual HookInfo info() const = 0;  // constant

  // The hook's part in one allocation.
  class Part {
   public:
    virtual ~Part() = default;
    // `stop` is requested when the allocation is to end meanwhile, or the agent.
    virtual Status prerun(std::stop_token stop) { return (void)stop, ok_status(); }
    virtual Status update() { return ok_status(); }
    // The tasks are restarted when it returns, also when it failed. `stop` as with prerun.
    virtual Status prerestart(std::stop_token stop) { return (void)stop, ok_status(); }
    virtual Status prekill() { return ok_status(); }
    virtual Status postrun() { return ok_status(); }
    virtual Status destroy() { return ok_status(); }  // what is kept of an allocation that has ended is removed
    virtual void shutdown() {}
    // Nothing: the hook has nothing to say of the allocation's health. Asked where the job wants more than running
    // tasks (health_check = "checks"). Must not wait. [any]
    virtual std::optional<PartHealth> health() const { return std::nullopt; }
  };
  // Null: it has nothing to do for this allocation. Must not wait. Both arguments outlive the part. [any]
  virtual std::unique_ptr<Part> attach(HookedAlloc& alloc, HookState& state) = 0;
};

}  // namespace drover
