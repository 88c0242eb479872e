// Notices that tasks end and settles them: kills what they left behind, asks whether memory was the cause, tears
// down their isolation, and only then calls them exited.
//
//   exit told by the launcher ──▶ closing ──tree empty, or given up──▶ settled
//   launcher lost ──▶ tasks it no longer knows are watched by descriptor ──they end──▶ closing
//
// One thread, which a task that resists cannot hold up: killing is tried again and again in between. Owned by the
// driver.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "drover/mutex.h"
#include "process_task.h"

namespace drover {

class TaskReaper {
 public:
  // `name`: of the driver, in the log. `tasks_of_launcher`: connects again if need be and asks what the launcher knows.
  // Called on the reaper's thread.
  TaskReaper(std::string name, TaskStore& store,
             std::function<Result<std::vector<Launcher::Task>>()> tasks_of_launcher);
  ~TaskReaper();

  void stop();  // idempotent

  // Tell the reaper what has happened. [any]
  void exited(const std::string& id, const Launcher::Exit& exit);
  void launcher_lost();
  void watch(std::shared_ptr<ProcessTask> task);  // its process has no launcher

 private:
  struct Event {
    enum class Kind : uint8_t { exited, lost, watch } kind;
    std::shared_ptr<ProcessTask> task;
    Launcher::Exit exit;
  };
  struct Watched {
    std::shared_ptr<ProcessTask> task;
    int fd;
  };
  struct Closing {
    std::shared_ptr<ProcessTask> task;
    std::optional<Launcher::Exit> exit;
    SteadyTime gives_up_at;
  };

  void post(Event event);
  void run(std::stop_token stop);
  void handle(Event event);
  void find_lost_tasks();
  void start_watching(std::shared_ptr<ProcessTask> task);
  void close_task(std::shared_ptr<ProcessTask> task, std::optional<Launcher::Exit> exit);
  bool finish_closing(const Closing& closing);

  const std::string name_;
  TaskStore& store_;
  const std::function<Result<std::vector<Launcher::Task>>()> tasks_of_launcher_;
  const int wake_;  // eventfd

  Mutex mutex_;
  std::vector<Event> events_ DROVER_GUARDED_BY(mutex_);

  // owned by the thread
  std::vector<Watched> watched_;
  std::list<Closing> closing_;

  std::jthread thread_;
};

}  // namespace drover
