// A hook of tasks: what a node does for one task, before each of its starts, beside it and after it.
//
//   attach ──▶ prestart ──▶ (driver starts the task) ──▶ poststart ──▶ (it runs) ──▶ exited ──▶ again, or stop
//                                                            │ update: the servers describe it anew
//                                                            │ prekill: it is about to be stopped
//                                                            └ shutdown: the agent ends; the task goes on
//
// Registered as declare.extend<TaskHook>(name, hook). Hooks run in the order of order_hooks; exited, stop and shutdown
// in the reverse order. prestart and exited come with every start, stop once, when the task will not start again.
//
// Restore: after a restart of the agent a task that still runs is attached again, and its prestart runs again with
// `recovered` set, before the driver finds the task; then poststart. A hook that said `done` is not asked again, on
// this node, for this task: what it added then is added again.
//
// Failure: a failed prestart shows as the event "Task hook failed" with "NAME: CAUSE". The codes unavailable,
// cancelled, deadline_exceeded and resource_exhausted leave it to the restart policy to try again; any other fails the
// task for good. The failure for a recovered task is shown and the task goes on. Other failures are logged.
//
// Threads: the calls for one task come one at a time, each on a thread where it may wait. Those for different tasks
// come in parallel.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/hook.h"
#include "drover/task_driver.h"
#include "drover/task_environment.h"
#include "drover/uuid.h"

namespace hashicorp::nomad::plugins::drivers::proto {
class NetworkOverride;
}
namespace drover::v1 {
class NetworkStatus;
class Node;
class TaskEvent;
}  // namespace drover::v1

namespace drover {

// A task of this node, as a hook sees it. Lives longer than the hook's part in it. [any]
class HookedTask {
 public:
  virtual ~HookedTask() = default;
  virtual Uuid allocation() const = 0;
  virtual const std::string& name() const = 0;
  virtual AllocSpecPtr spec() const = 0;  // has a group with a task of this name
  virtual const AllocFolders& alloc_folders() const = 0;
  virtual const TaskFolders& folders() const = 0;
  // The network that the allocation's tasks share, as a hook described it. Without an address: the machine's.
  virtual v1::NetworkStatus network_status() const = 0;
  // The network that the driver has made for the task, once it runs. Empty: none.
  virtual hashicorp::nomad::plugins::drivers::proto::NetworkOverride driver_network() const = 0;

  // Adds an event to the task's, for people to see.
  virtual void tell(v1::TaskEvent event) = 0;
  // Errors: failed_precondition when the task does not run.
  virtual Status restart(std::string reason) = 0;
  // The same, because the task does not work: it counts as a failure for its restart policy.
  virtual Status restart_failed(std::string reason) { return restart(std::move(reason)); }
  virtual Status signal(const std::string& name) = 0;
  virtual Status exec(std::vector<std::string> command, bool tty, ExecStream& caller) const = 0;
  // Ends the task for good; it counts as failed.
  virtual void fail(v1::TaskEvent event) = 0;
};

// One start, as the hooks make it ready.
struct TaskPrestart {
  const driver::DriverCapabilities& capabilities;  // of the task's driver
  const Variables& environment;                    // with what the hooks before have added
  const Variables& node;                           // node_variables(), for interpolate()
  std::string user{};                              // the task's, as its driver will be told; empty: none
  bool recovered = false;                          // the task runs already, started by a former agent
  std::stop_token stop;                            // requested when the task is to end meanwhile, or the agent

  // The hook's additions to what the driver is given: env (it wins over what is there), device_env, mounts, devices,
  // stdout_path, stderr_path; user, in place of the job's.
  driver::TaskConfig& adds;
  bool done = false;  // set: this hook's prestart has nothing more to do for this task
};

// An event for people to see, of this type, with a text. Pure.
v1::TaskEvent task_event(int64_t now_ns, const std::string& type, const std::string& said);

class TaskHook {
 public:
  static constexpr std::string_view kExtensionPoint = "task_hook";
  virtual ~TaskHook() = default;

  virtual HookInfo info() const = 0;  // constant

  // The hook's part in one task.
  class Part {
   public:
    virtual ~Part() = default;
    virtual Status prestart(TaskPrestart& start) { return (void)start, ok_status(); }
    virtual Status poststart() { return ok_status(); }
    virtual Status update() { return ok_status(); }
    virtual Status prekill() { return ok_status(); }
    virtual Status exited() { return ok_status(); }
    virtual Status stop() { return ok_status(); }
    virtual void shutdown() {}
  };
  // Null: it has nothing to do for this task. Must not wait. Both arguments outlive the part. [any]
  virtual std::unique_ptr<Part> attach(HookedTask& task, HookState& state) = 0;
};

}  // namespace drover
