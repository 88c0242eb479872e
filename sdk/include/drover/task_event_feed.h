// Carries what a driver tells of its tasks, from whichever thread it happens on to whoever follows:
//
//   drover::TaskEventFeed feed_;
//   feed_.tell(task, "image pulled", {{"image", "alpine:3"}});                                    // [any]
//   void follow_events(const TellEvent& tell, std::stop_token stop) override { feed_.follow(tell, stop); }
//
// While nobody follows, the newest 256 are kept for the next follower; each event goes to every follower once.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "drover/mutex.h"
#include "drover/task_driver.h"

namespace drover {

class TaskEventFeed {
 public:
  static constexpr size_t kKept = 256;

  // Tells an event that happens now. Never blocks. [any]
  void tell(const driver::TaskConfig& task, std::string message, const std::map<std::string, std::string>& annotations);
  // Tells an event as it is.
  void pass_on(const driver::DriverTaskEvent& event);
  void follow(const TaskDriver::TellEvent& tell, std::stop_token stop);

 private:
  Mutex mutex_;
  CondVarAny told_;
  uint64_t first_ DROVER_GUARDED_BY(mutex_) = 0;  // number of the oldest one kept
  uint64_t heard_ DROVER_GUARDED_BY(mutex_) = 0;  // of the first one that no follower has had
  std::deque<std::shared_ptr<const driver::DriverTaskEvent>> events_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover
