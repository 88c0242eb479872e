// Runs one allocation: its hooks first, then its tasks in the order of their life cycle (lifecycle.h).
//
//   new ──begin──▶ prerun ──▶ running ──all tasks dead──▶ postrun ──▶ done ──destroy──▶ gone (files and rows removed)
//                                │ stop ──▶ tasks end in order ──▶ postrun   └ it failed: done, until it is ordered
//                                again └ detach ──▶ tasks are left as they are, for the agent's next life
//
// Owned by Allocations. A coroutine on a strand of its own decides; its tasks are coroutines on the same strand. No
// thread is held while nothing happens, and a slow driver or hook holds up nobody else's allocation.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client.h"
#include "drover/mutex.h"
#include "health.h"
#include "hooks/alloc_hooks.h"
#include "lifecycle.h"
#include "task_runner.h"

namespace drover::agent {

// The stored state of an allocation.
struct StoredRun {
  std::map<std::string, StoredHook> hooks;
  StoredHealth health;
  std::vector<std::pair<std::string, StoredTask>> tasks;  // empty: it is new here
};

class AllocRunner final : private HookedAlloc, private HookRows {
 public:
  AllocRunner(const Client& client, AllocSpecPtr spec, StoredRun stored);
  ~AllocRunner();  // detached, when it still runs
  AllocRunner(const AllocRunner&) = delete;
  AllocRunner& operator=(const AllocRunner&) = delete;

  void begin();  // once
  void join();   // Requires: detach() before, or it is gone. Not from the strand.

  // --- Orders. [any]
  void update(AllocSpecPtr spec);  // stops when the servers no longer want it to run
  // The servers had lost sight of it: its tasks say so, and it is reported again.
  void reconnected();
  // Ends the tasks, each within `cap` when given.
  void stop(std::optional<std::chrono::nanoseconds> cap = {});
  // Stops, and when done removes files and rows. Where that fails it is kept, until the next order.
  void destroy();
  void detach();
  // Restarts one task, or all that run when `task` is empty.
  Status restart(const std::string& task);
  // Restarts all tasks, those that have ended too, once the hooks have heard of it.
  Status restart_all();
  Status signal(const std::string& task, const std::string& name);
  void driver_event(const std::string& task, const std::string& driver, const driver::DriverTaskEvent& event);

  // --- Questions. [any]
  Uuid id() const override { return id_; }
  AllocSpecPtr spec() const override;
  const AllocFolders& folders() const override { return folders_; }
  // The report to the servers.
  v1::Allocation report() const;
  v1::ClientStatus client_status() const;
  bool is_terminal() const;
  bool is_gone() const;
  bool wait_terminal(SteadyTime deadline, std::stop_token stop = {}) const;
  bool wait_gone(SteadyTime deadline) const;
  // Waits for what destroy() has ordered. Errors: why it could not be removed; deadline_exceeded.
  Status wait_removed(SteadyTime deadline) const;
  // It could not be removed when that was ordered last.
  bool is_left_behind() const;
  const TaskRunner* task(const std::string& name) const;  // null: unknown
  std::vector<const TaskRunner*> tasks() const;

 private:
  struct Flags {
    bool dirty = true;
    bool stop = false;
    bool destroy = false;
    bool detach = false;
    std::optional<std::chrono::nanoseconds> kill_cap;
    bool new_spec = false;
    bool restart_all = false;
  };
  void make_runners(const std::vector<std::pair<std::string, StoredTask>>& stored);

  // HookedAlloc, HookRows
  bool is_restored() const override { return restored_; }
  void share_network(const driver::NetworkIsolationSpec& network) override;
  std::optional<driver::NetworkIsolationSpec> shared_network() const override;
  void describe_network(const v1::NetworkStatus& status) override;
  v1::NetworkStatus network_status() const override;
  void tell(const v1::TaskEvent& event) override;
  void health_changed() override {
    note([](Flags&) {});
  }
  StoredHook hook(const std::string& name) const override;
  Status change_hook(const std::string& name, const std::function<void(StoredHook&)>& change) override;

  Async<> run();
  Async<> run_tasks();
  Async<Status> prerun();
  Async<> apply_update();
  Async<> restart_tasks();
  Async<> carry_out(LifecycleDecision decision);
  Async<> await_destruction();
  bool remove_everything();  // false: it is kept. [borrowed]
  template <typename Call>
  Async<> call_hooks(Call call);  // on a borrowed thread

  Status store_spec();
  void tell_if_changed(const std::vector<TaskView>& views);
  // Decides about its health; when to do so again.
  std::optional<SteadyTime> look_at_health();
  void tell_why_unhealthy(const AllocSpec& spec, const HealthFacts& facts, int64_t began);
  std::vector<TaskView> views() const;
  TaskRunner* find(const std::string& name) const;
  void note(const std::function<void(Flags&)>& change);
  bool has_orders() const;  // since they were looked at

  const Client& client_;
  const Uuid id_;
  const AllocFolders folders_;
  const bool restored_;
  std::string setup_error_;  // constant after construction

  Mutex persisting_;  // held while the row is written; outside of mutex_
  mutable Mutex mutex_;
  mutable CondVarAny changed_;
  AllocSpecPtr spec_ DROVER_GUARDED_BY(mutex_);
  std::map<std::string, StoredHook> hooks_rows_ DROVER_GUARDED_BY(mutex_);
  HealthWatch health_ DROVER_GUARDED_BY(mutex_);
  std::optional<driver::NetworkIsolationSpec> network_ DROVER_GUARDED_BY(mutex_);  // absent: the machine's
  std::optional<v1::NetworkStatus> network_status_ DROVER_GUARDED_BY(mutex_);
  Flags flags_ DROVER_GUARDED_BY(mutex_);
  std::stop_source interrupt_ DROVER_GUARDED_BY(mutex_);  // of prerun
  bool terminal_ DROVER_GUARDED_BY(mutex_) = false;
  bool gone_ DROVER_GUARDED_BY(mutex_) = false;
  Status removal_ DROVER_GUARDED_BY(mutex_);  // of the last attempt

  Strand strand_;
  Wakeup wakeup_;
  std::vector<std::unique_ptr<TaskRunner>> runners_;  // constant after construction
  AllocHooks hooks_;
  std::optional<AllocStatus> told_;  // the strand's own, as what follows
  bool is_prekilled_ = false;
};

}  // namespace drover::agent
