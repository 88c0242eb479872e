#include "drover/task_event_feed.h"

#include <algorithm>

#include "drover/mutex.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {

void TaskEventFeed::tell(const driver::TaskConfig& task, std::string message,
                         const std::map<std::string, std::string>& annotations) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t now = SystemClock().wall_ns();
  driver::DriverTaskEvent event;
  event.set_task_id(task.id());
  event.set_alloc_id(task.alloc_id());
  event.set_task_name(task.name());
  event.mutable_timestamp()->set_seconds(now / kSecond);
  event.mutable_timestamp()->set_nanos(static_cast<int32_t>(now % kSecond));
  event.set_message(std::move(message));
  for (const auto& [name, value] : annotations) (*event.mutable_annotations())[name] = value;
  pass_on(event);
}

void TaskEventFeed::pass_on(const driver::DriverTaskEvent& event) {
  auto told = std::make_shared<const driver::DriverTaskEvent>(event);
  const MutexLock lock(mutex_);
  events_.push_back(std::move(told));
  if (events_.size() > kKept) {
    events_.pop_front();
    ++first_;
  }
  told_.notify_all();
}

void TaskEventFeed::follow(const TaskDriver::TellEvent& tell, std::stop_token stop) {
  MutexLock lock(mutex_);
  uint64_t next = heard_;
  while (told_.wait(lock, stop, [&]() DROVER_REQUIRES(mutex_) { return first_ + events_.size() > next; }) &&
         !stop.stop_requested()) {
    next = std::max(next, first_);
    const auto event = events_[next - first_];
    heard_ = std::max(heard_, ++next);
    lock.unlock();
    tell(*event);
    lock.lock();
  }
}

}  // namespace drover
