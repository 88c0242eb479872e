#include "driver_events.h"

#include <pthread.h>

#include "nomad/plugins/driver.pb.h"

namespace drover::agent {

std::optional<TaskPlace> place_of(std::string_view task_id) {
  const size_t first = task_id.find('/'), last = task_id.rfind('/');
  if (first == std::string_view::npos || last <= first + 1) return {};
  const auto allocation = Uuid::parse(task_id.substr(0, first));
  if (!allocation) return {};
  return TaskPlace{*allocation, std::string(task_id.substr(first + 1, last - first - 1))};
}

void DriverEvents::follow(const std::string& name, TaskDriver& driver) {
  const MutexLock lock(mutex_);
  if (is_stopped_ || followers_.contains(&driver)) return;
  followers_[&driver] = std::jthread([this, name, &driver](std::stop_token stop) {
    ::pthread_setname_np(::pthread_self(), "driver-events");
    driver.follow_events(
        [&](const driver::DriverTaskEvent& event) {
          if (const auto place = place_of(event.task_id())) take_(*place, name, event);
        },
        std::move(stop));
  });
}

void DriverEvents::stop() {
  std::map<TaskDriver*, std::jthread> ending;
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    ending.swap(followers_);
  }
  for (auto& [driver, follower] : ending) follower.request_stop();
}  // joins them

}  // namespace drover::agent
