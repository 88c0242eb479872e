// A command beside a task that is a process: a child of the launcher, with three pipes or on a terminal of its own,
// that a caller elsewhere speaks to. A driver of processes implements TaskDriver::exec_task_streaming with it.
//
//   started ──runs──▶ exited ──its output told to the end──▶ result told
//      └─caller gone, task ended─▶ hung up (SIGHUP) ──a second later──▶ killed with all of its session
//
// No descriptor and no process is left behind.
#pragma once

#include <stop_token>

#include "drover/launcher.h"
#include "drover/mutex.h"
#include "drover/task_driver.h"

namespace drover {

// The commands of one driver that are under way. They hold its launcher, whose thread calls the driver: so it ends them
// and waits for them before it goes. [any]
class ExecCalls {
 public:
  // For the time of one call; false when there may be none any more.
  class Entry {
   public:
    explicit Entry(ExecCalls& calls) : calls_(calls), is_in_(calls.enter()) {}
    ~Entry() {
      if (is_in_) calls_.leave();
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    explicit operator bool() const { return is_in_; }

   private:
    ExecCalls& calls_;
    const bool is_in_;
  };
  // Requested when they shall end.
  std::stop_token ending() const { return ending_.get_token(); }
  // Has them end, and returns when they have. Idempotent.
  void end();

 private:
  bool enter();
  void leave();

  std::stop_source ending_;
  Mutex mutex_;
  CondVar left_;
  int running_ DROVER_GUARDED_BY(mutex_) = 0;
  bool is_ended_ DROVER_GUARDED_BY(mutex_) = false;
};

// Returns when the command has ended. `start` says what runs, where, for whom and in which control group; its `id` and
// streams are made here. `task_ended` ends the command, and so does `ending`. Errors: those of the start
// (invalid_argument: it cannot be executed); cancelled when the caller has gone; unavailable when the launcher has. One
// thread more runs meanwhile.
Status run_process_exec(Launcher& launcher, Launcher::Start start, bool tty, ExecStream& caller,
                        const std::stop_token& task_ended, const std::stop_token& ending = {});

}  // namespace drover
