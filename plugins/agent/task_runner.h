// Runs one task of one allocation: starts it through its driver, waits, starts it again as the restart policy says.
//
//   waiting ──allow_start──▶ starting ──handle stored──▶ running ──exit──▶ (policy) ──▶ delayed ──▶ starting
//      │ kill                   │ failed ──▶ (policy)       │ kill, restart              │ kill
//      ▼                        ▼                           ▼                           ▼
//    dead                 dead (failed)                 stopping ──▶ dead | starting    dead
//
//   restored with a handle ──recover_task──▶ running          any ──detach──▶ detached: the task is left as it is
//
// Owned by its AllocRunner. The thread "task" makes every call to the driver that may block; orders from elsewhere are
// noted and interrupt it. Requires: detach() or kill() before destruction.
//
// task_runner.cc has orders, questions and the thread; task_start.cc how a task comes to run, task_end.cc how it ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "alloc_dir.h"
#include "client.h"
#include "drover/task_driver.h"
#include "lifecycle.h"
#include "restart_policy.h"

#include "agent_state.pb.h"

namespace drover::agent {

class TaskRunner {
 public:
  // `stored`: what is known from before; null for a task that is new here.
  TaskRunner(const Client& client, AllocDir dir, std::shared_ptr<const AllocSpec> spec, const v1::Task& task,
             const StoredTask* stored, std::function<void()> changed);
  ~TaskRunner();
  TaskRunner(const TaskRunner&) = delete;
  TaskRunner& operator=(const TaskRunner&) = delete;

  void begin();
  void join();  // Requires: detach() before

  // --- Orders. [any]
  void allow_start();
  struct Kill {
    v1::TaskEvent reason;              // added to the task's events when it has a type
    std::chrono::nanoseconds delay{};  // shutdown_delay, before the signal
    std::optional<std::chrono::nanoseconds> timeout_cap;
  };
  void kill(Kill order);
  // Never starts: the task fails with this event.
  void fail(v1::TaskEvent event);
  // Errors: failed_precondition when the task does not run.
  Status restart(std::string reason);
  Status signal(const std::string& name);
  // The driver has something to tell of it. What is not of the task that runs now, or was told before, is dropped.
  void driver_event(const std::string& driver, const driver::DriverTaskEvent& event);
  // Begins again after its end: used when all tasks of the allocation are restarted. Requires: dead.
  void revive(std::string reason);
  void detach();
  // The next start is in this network instead of the machine's.
  void join_network(const driver::NetworkIsolationSpec& network);
  // The next start uses it.
  void update(std::shared_ptr<const AllocSpec> spec, const v1::Task& task);

  // --- Questions. [any]
  const std::string& name() const { return name_; }
  v1::TaskState state() const;
  TaskView view() const;
  Result<driver::TaskStats> stats() const;
  // Runs a command beside the task until it has ended. Errors also: failed_precondition when the task does not run;
  // unimplemented by its driver.
  Status exec(std::vector<std::string> command, bool tty, ExecStream& caller) const;
  v1::AllocatedTaskResources given() const;  // by the servers
  bool has_started() const;

 private:
  enum class Next : uint8_t { start, watch, settle, detached };
  struct Orders {
    bool allowed = false;
    bool detach = false;
    std::optional<Kill> kill;
    std::optional<std::string> restart;
    std::optional<v1::TaskEvent> fail;
    std::optional<std::string> revive;
  };

  struct Running {
    std::string id;  // as the driver knows it
    TaskDriver* driver;
  };

  Result<Running> running() const;  // failed_precondition when it does not
  void run();
  Next reattach();
  Status recover(const driver::TaskHandle& handle);
  Next await_permission();
  Next give_up(const Kill& kill);
  void append_reason(const Kill& kill);  // requires: mutex_
  Next start();
  Status lock_in(const TaskDriver& driver);
  // With its devices reserved.
  Next start_on(TaskDriver& driver, const AllocSpec& spec, const v1::Task& task,
                const device::ContainerReservation& devices);
  Next watch();
  Next obey();
  Next after_end(TaskEnd end);
  Next settle();                     // dead; waits to be revived or left
  bool end_task(const Kill& order);  // false: left as it is, because of detach
  void process_ended(const std::string& id);
  void release();
  void die(bool failed);
  Next fail_setup(v1::TaskEvent event);
  Status open_logs();

  v1::Task current_task() const;
  TaskDriver* find_driver(const std::string& driver) const;
  template <typename Edit>
  void change(Edit&& edit);  // under the lock; then stored and told
  void persist();
  void order(const std::function<void(Orders&)>& give);
  // Sleeps until the time, or an order that `wake` wants. True when ordered.
  template <typename Wake>
  bool wait_orders(std::optional<SteadyTime> until, Wake&& wake);
  // Of the thread, between two questions to a driver that is not there at the moment.
  static constexpr std::chrono::seconds kAskAgain{1};
  std::stop_token arm();  // a token that the next order triggers, or one already triggered when one is open
  bool interrupted() const { return orders_.detach || orders_.kill || orders_.restart; }

  const Client& client_;
  const AllocDir dir_;
  const Uuid alloc_id_;
  const std::string name_;
  const std::string holder_;  // of its devices
  const std::function<void()> changed_callback_;
  TaskHook hook_;
  bool sidecar_, leader_;

  std::mutex persisting_;  // held while the row is written; outside of mutex_
  mutable std::mutex mutex_;
  std::condition_variable orders_changed_;
  Orders orders_;                                              // guarded by mutex_
  std::stop_source interrupt_;                                 // guarded by mutex_
  std::shared_ptr<const AllocSpec> spec_;                      // guarded by mutex_
  v1::Task task_;                                              // guarded by mutex_
  StoredTask stored_;                                          // guarded by mutex_
  bool running_ = false;                                       // guarded by mutex_; the driver has it
  TaskView::Progress progress_ = TaskView::Progress::waiting;  // guarded by mutex_
  TaskDriver* driver_ = nullptr;                               // guarded by mutex_
  std::string starting_id_;                                    // guarded by mutex_; what a driver was told to start
  std::optional<driver::NetworkIsolationSpec> network_;        // guarded by mutex_; absent: the machine's

  std::vector<std::string> ended_ids_;  // the thread's own; still known to the driver
  std::jthread thread_;
};

template <typename Edit>
void TaskRunner::change(Edit&& edit) {
  {
    std::lock_guard lock(mutex_);
    edit();
  }
  persist();
  changed_callback_();
}

template <typename Wake>
bool TaskRunner::wait_orders(std::optional<SteadyTime> until, Wake&& wake) {
  std::unique_lock lock(mutex_);
  if (!until) {
    orders_changed_.wait(lock, wake);
    return true;
  }
  return orders_changed_.wait_until(lock, *until, wake);
}

}  // namespace drover::agent
