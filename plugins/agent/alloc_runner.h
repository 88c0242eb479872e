// Runs one allocation: its folder and its network first, then its tasks in the order of their life cycle (lifecycle.h).
//
//   new ──begin──▶ preparing ──▶ running ──all tasks dead──▶ done ──destroy──▶ gone (files and rows removed)
//                                   │ stop ──▶ tasks end in order ──▶ done
//                                   └ detach ──▶ tasks are left as they are, for the agent's next life
//
// Owned by Allocations. Thread "alloc" decides; the tasks have threads of their own, so a slow driver holds up nobody
// else's allocation.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "alloc_dir.h"
#include "client.h"
#include "lifecycle.h"
#include "task_runner.h"

#include "agent_state.pb.h"

namespace drover::agent {

class AllocRunner {
 public:
  // `tasks` and `network`: what is stored of them; empty for an allocation that is new here.
  AllocRunner(const Client& client, std::shared_ptr<const AllocSpec> spec,
              std::vector<std::pair<std::string, StoredTask>> tasks, std::optional<StoredNetwork> network);
  ~AllocRunner();
  AllocRunner(const AllocRunner&) = delete;
  AllocRunner& operator=(const AllocRunner&) = delete;

  void begin();

  // --- Orders. [any]
  void update(std::shared_ptr<const AllocSpec> spec);  // stops when the servers no longer want it to run
  // Ends the tasks, each within `cap` when given.
  void stop(std::optional<std::chrono::nanoseconds> cap = {});
  // Stops, and when done removes files and rows.
  void destroy();
  void detach();
  // Restarts one task, or all that run when `task` is empty.
  Status restart(const std::string& task);
  // Restarts all tasks, those that have ended too.
  Status restart_all();
  Status signal(const std::string& task, const std::string& name);
  void driver_event(const std::string& task, const std::string& driver, const driver::DriverTaskEvent& event);

  // --- Questions. [any]
  Uuid id() const { return id_; }
  std::shared_ptr<const AllocSpec> spec() const;
  // What the servers are told.
  v1::Allocation report() const;
  v1::ClientStatus client_status() const;
  bool is_terminal() const;
  bool is_gone() const;
  bool wait_terminal(SteadyTime deadline) const;
  bool wait_gone(SteadyTime deadline) const;
  const TaskRunner* task(const std::string& name) const;  // null: unknown
  std::vector<const TaskRunner*> tasks() const;
  const AllocDir& dir() const { return dir_; }

 private:
  struct Flags {
    bool dirty = true;
    bool stop = false;
    bool destroy = false;
    bool detach = false;
    std::optional<std::chrono::nanoseconds> kill_cap;
    bool new_spec = false;
  };
  void make_runners(const std::vector<std::pair<std::string, StoredTask>>& stored);
  void run();
  void remove_everything();
  Status prepare();
  void leave_network();
  void store_spec();
  void apply_update();
  void carry_out(const LifecycleDecision& decision);
  void tell_if_changed(const std::vector<TaskView>& views);
  std::vector<TaskView> views() const;
  TaskRunner* find(const std::string& name) const;
  void note(const std::function<void(Flags&)>& change);

  const Client& client_;
  const Uuid id_;
  const AllocDir dir_;
  const bool restored_;
  std::string setup_error_;                           // constant after construction
  std::vector<std::unique_ptr<TaskRunner>> runners_;  // constant after construction

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::shared_ptr<const AllocSpec> spec_;  // guarded by mutex_
  Flags flags_;                            // guarded by mutex_
  bool terminal_ = false;                  // guarded by mutex_
  bool finished_ = false;                  // guarded by mutex_; the thread has ended
  bool gone_ = false;                      // guarded by mutex_

  std::optional<AllocStatus> told_;       // the thread's own
  std::optional<StoredNetwork> network_;  // the thread's own; as the tasks have it
  std::jthread thread_;
};

}  // namespace drover::agent
