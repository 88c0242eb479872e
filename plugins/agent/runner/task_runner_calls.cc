// Calls to a task's driver while the task runs, beside its life. [any]
#include "drover/mutex.h"
#include "nomad/plugins/driver.pb.h"
#include "task_events.h"
#include "task_runner.h"

namespace drover::agent {

Result<TaskRunner::Running> TaskRunner::running() const {
  MutexLock lock(mutex_);
  if (!running_) return failed_precondition("Task not running");
  return Running{.id = stored_.handle().config().id(), .driver = driver_};
}

Status TaskRunner::signal(const std::string& name) {
  DROVER_TRY(const Running task, running());
  if (!task.driver->capabilities().send_signals())
    return failed_precondition("the driver of task " + name_ + " cannot send signals");
  DROVER_RETURN_IF_ERROR(task.driver->signal_task(task.id, name));
  tell(event::signaling(client_.wall_ns(), name, ""));
  return ok_status();
}

Result<driver::TaskStats> TaskRunner::stats() const {
  DROVER_TRY(const Running task, running());
  return task.driver->task_stats(task.id);
}

Status TaskRunner::exec(std::vector<std::string> command, bool tty, ExecStream& caller) const {
  DROVER_TRY(const Running task, running());
  if (!task.driver->capabilities().exec())
    return unimplemented("the driver of task " + name_ + " does not run commands inside of it");
  return task.driver->exec_task_streaming({.task_id = task.id, .command = std::move(command), .tty = tty}, caller);
}

void TaskRunner::driver_event(const std::string& driver, const driver::DriverTaskEvent& event) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t told_at = event.timestamp().seconds() * kSecond + event.timestamp().nanos();
  v1::TaskEvent shown = event::driver_message(told_at > 0 ? told_at : client_.wall_ns(), driver, event);
  {
    MutexLock lock(mutex_);
    const bool is_ours = event.task_id() == starting_id_ || event.task_id() == stored_.handle().config().id();
    if (!is_ours || event::has_driver_message(stored_.state(), shown)) return;
    event::append(*stored_.mutable_state(), std::move(shown));
  }
  (void)persist();  // logged
  changed_callback_();
}

}  // namespace drover::agent
