// Follows what drivers have to tell of their tasks (TaskDriver::follow_events), on a thread for each driver that has
// had a task here. Owned by the plugin.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "drover/mutex.h"
#include "drover/task_driver.h"
#include "drover/uuid.h"

namespace drover::agent {

// "<allocation>/<task>/<anything>"
struct TaskPlace {
  Uuid allocation;
  std::string task;
};
std::optional<TaskPlace> place_of(std::string_view task_id);

class DriverEvents {
 public:
  using Take =
      std::function<void(const TaskPlace& place, const std::string& driver, const driver::DriverTaskEvent& event)>;
  // `take` may be called by several threads at once, until stop() has returned.
  explicit DriverEvents(Take take) : take_(std::move(take)) {}
  ~DriverEvents() { stop(); }

  // From now on; each driver once. It outlives stop(). [any]
  void follow(const std::string& name, TaskDriver& driver);
  void stop();  // idempotent

 private:
  const Take take_;
  Mutex mutex_;
  bool is_stopped_ DROVER_GUARDED_BY(mutex_) = false;
  std::map<TaskDriver*, std::jthread> followers_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::agent
