// Runs one task of one allocation: starts it through its driver, waits, starts it again as the restart policy says.
//
//   waiting ──allow_start──▶ starting ──handle stored──▶ running ──exit──▶ (policy) ──▶ delayed ──▶ starting
//      │ kill                   │ failed ──▶ (policy)       │ kill, restart              │ kill
//      ▼                        ▼                           ▼                           ▼
//    dead                 dead (failed)                 stopping ──▶ dead | starting    dead
//
//   restored with a handle ──recover_task──▶ running          any ──detach──▶ detached: the task is left as it is
//
// Owned by its AllocRunner, and a coroutine on the allocation's strand: what happens is decided there. Calls to the
// driver and to hooks may wait, so each borrows a thread; orders from elsewhere are noted and interrupt it.
//
// task_runner.cc has orders, questions and the loop; task_start.cc how a task comes to run, task_end.cc how it ends.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client.h"
#include "drover/mutex.h"
#include "drover/task_driver.h"
#include "hooks/task_hooks.h"
#include "lifecycle.h"
#include "restart_policy.h"
#include "strand.h"

#include "agent_state.pb.h"

namespace drover::agent {

class TaskRunner final : public HookedTask, private HookRows {
 public:
  // `stored`: what is known from before; null for a task that is new here. `folders` and `strand` outlive it.
  // `changed` is called on any thread.
  TaskRunner(const Client& client, Strand& strand, const AllocFolders& folders, AllocSpecPtr spec, const v1::Task& task,
             const StoredTask* stored, std::function<void()> changed);
  TaskRunner(const TaskRunner&) = delete;
  TaskRunner& operator=(const TaskRunner&) = delete;

  // The task's life, until it is detached or dead and finished. [strand]
  Async<> run();
  bool has_returned() const { return has_returned_; }  // [strand]

  // --- Orders. [any]
  void allow_start();
  struct Kill {
    v1::TaskEvent reason;              // added to the task's events when it has a type
    std::chrono::nanoseconds delay{};  // shutdown_delay, before the signal
    std::optional<std::chrono::nanoseconds> timeout_cap;
    bool fails = false;  // the task counts as failed
  };
  void kill(Kill order);
  // Ends the task, or keeps it from starting: it has failed, with this event.
  void fail(v1::TaskEvent event) override;
  // Errors: failed_precondition when the task does not run.
  Status restart(std::string reason) override;
  Status restart_failed(std::string reason) override;
  Status signal(const std::string& name) override;
  // The driver has something to tell of it. Drops events that were told before or are not of the task that runs now.
  void driver_event(const std::string& driver, const driver::DriverTaskEvent& event);
  // Begins again after its end: used when all tasks of the allocation are restarted. Requires: dead.
  void revive(std::string reason);
  void detach();
  // All of the allocation is over: a dead task will not start again.
  void finish();
  // The next start is in this network instead of the machine's.
  void join_network(const driver::NetworkIsolationSpec& network);
  void describe_network(const v1::NetworkStatus& status);
  // The next start uses it. Ignored when the task is not in it.
  void update(AllocSpecPtr spec);
  void tell(v1::TaskEvent event) override;

  // --- Questions. [any]
  const std::string& name() const override { return name_; }
  Uuid allocation() const override { return alloc_id_; }
  AllocSpecPtr spec() const override;
  const AllocFolders& alloc_folders() const override { return alloc_folders_; }
  const TaskFolders& folders() const override { return folders_; }
  v1::NetworkStatus network_status() const override;
  driver::NetworkOverride driver_network() const override;
  v1::TaskState state() const;
  TaskView view() const;
  Result<driver::TaskStats> stats() const;
  // Runs a command beside the task until it has ended. Errors also: failed_precondition when the task does not run;
  // unimplemented by its driver.
  Status exec(std::vector<std::string> command, bool tty, ExecStream& caller) const override;
  bool has_started() const;

 private:
  enum class Next : uint8_t { start, watch, settle, detached, finished };
  struct Restart {
    std::string reason;
    TaskEnd::Kind as = TaskEnd::Kind::asked_to_restart;
  };
  struct Orders {
    bool allowed = false;
    bool detach = false;
    bool finish = false;
    bool update = false;
    std::optional<Kill> kill;
    std::optional<Restart> restart;
    std::optional<v1::TaskEvent> fail;
    std::optional<std::string> revive;
  };
  struct Running {
    std::string id;  // as the driver knows it
    TaskDriver* driver;
  };
  // The result of an attempt to start: a task, or an event that says why not and how the attempt counts.
  struct Launch {
    TaskDriver* driver = nullptr;  // null: it did not start
    driver::TaskHandle handle{};
    driver::NetworkOverride network{};
    std::optional<v1::TaskEvent> failure{};
    std::optional<TaskEnd::Kind> end{};  // nothing: it fails at once, whatever the restart policy says
  };

  // HookRows
  StoredHook hook(const std::string& name) const override;
  Status change_hook(const std::string& name, const std::function<void(StoredHook&)>& change) override;

  Result<Running> running() const;  // failed_precondition when it does not
  Async<Next> reattach();
  void note_started() DROVER_REQUIRES(mutex_);
  void forget_start() DROVER_REQUIRES(mutex_);
  bool had_turn() const DROVER_REQUIRES(mutex_) {
    return stored_.restart_count() > 0 || stored_.state().restarts() > 0;
  }
  Async<Status> recover(driver::TaskHandle handle);
  Async<Next> await_permission();
  Async<Next> give_up(Kill kill);
  void append_reason(const Kill& kill) DROVER_REQUIRES(mutex_);
  Async<Next> start();
  Launch launch(const std::stop_token& stop);  // [borrowed]
  Launch launch_on(TaskDriver& driver, const AllocSpec& spec, const v1::Task& task, const std::stop_token& stop);
  Result<driver::TaskConfig> run_prestart(const TaskDriver& driver, const Variables& node, bool is_recovered,
                                          const std::stop_token& stop);  // [borrowed]
  Async<Next> watch();
  Async<Result<driver::ExitResult>> wait_exit(std::string id);
  Async<Next> obey();
  Status order_restart(Restart restart);
  Async<Next> after_end(TaskEnd end);
  Async<Next> wait_when_dead();      // waits to be revived or left
  Async<bool> end_task(Kill order);  // false: left as it is, because of detach
  Async<Status> stop_task(std::string id, std::chrono::nanoseconds timeout, std::string signal);
  Async<> process_ended(std::string id);
  Async<> release();
  Async<> die(bool failed);
  Async<Next> fail_setup(v1::TaskEvent event);
  template <typename Call>
  Async<> call_hooks(Call call);  // on a borrowed thread

  v1::Task current_task() const;
  TaskDriver* find_driver(const std::string& driver) const;
  template <typename Edit>
  void change(Edit&& edit);  // under the lock; then stored and told
  Status persist();
  void order(const std::function<void(Orders&)>& give);
  // Until the time, or an order that `wake` wants, asked under the lock. True when ordered.
  Async<bool> wait_orders(std::optional<SteadyTime> until, std::function<bool()> wake);
  // Between two questions to a driver that is not there at the moment.
  static constexpr std::chrono::seconds kAskAgain{1};
  std::stop_token arm();  // a token that the next order triggers, or one already triggered when one is open
  bool interrupted() const DROVER_REQUIRES(mutex_) {
    return orders_.detach || orders_.kill || orders_.restart || orders_.update;
  }

  const Client& client_;
  Strand& strand_;
  const AllocFolders& alloc_folders_;
  const Uuid alloc_id_;
  const std::string name_;
  const TaskFolders folders_;
  const std::function<void()> changed_callback_;
  TaskStage stage_;
  bool sidecar_, leader_;

  Mutex persisting_;  // held while the row is written; outside of mutex_
  mutable Mutex mutex_;
  Orders orders_ DROVER_GUARDED_BY(mutex_);
  std::stop_source interrupt_ DROVER_GUARDED_BY(mutex_);
  AllocSpecPtr spec_ DROVER_GUARDED_BY(mutex_);
  StoredTask stored_ DROVER_GUARDED_BY(mutex_);
  bool running_ DROVER_GUARDED_BY(mutex_) = false;  // the driver has it
  TaskView::Progress progress_ DROVER_GUARDED_BY(mutex_) = TaskView::Progress::waiting;
  TaskDriver* driver_ = nullptr;                       // the strand writes it under the lock, and reads it without
  std::string starting_id_ DROVER_GUARDED_BY(mutex_);  // what a driver was told to start
  std::optional<driver::NetworkIsolationSpec> network_ DROVER_GUARDED_BY(mutex_);  // absent: the machine's
  v1::NetworkStatus network_status_ DROVER_GUARDED_BY(mutex_);

  Wakeup wakeup_;                       // an order came
  std::vector<std::string> ended_ids_;  // the strand's own; still known to the driver
  bool has_returned_ = false;           // the strand's own
  TaskHooks hooks_;                     // last: hooks may ask the task as soon as they are attached
};

template <typename Edit>
void TaskRunner::change(Edit&& edit) {
  {
    MutexLock lock(mutex_);
    edit();
  }
  (void)persist();  // logged
  changed_callback_();
}

template <typename Call>
Async<> TaskRunner::call_hooks(Call call) {
  const auto work = [this, call] { return call(hooks_), true; };
  co_await strand_.borrow(work);
}

}  // namespace drover::agent
