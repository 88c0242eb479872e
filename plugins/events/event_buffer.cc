#include "event_buffer.h"

#include <algorithm>
#include <string>

#include "drover/result.h"

namespace drover::events {

const std::vector<Event>& Group::events(const Topics& topics) const {
  std::call_once(made_, [&] { events_ = topics.events_of(*batch_); });
  return events_;
}

void EventBuffer::add(std::shared_ptr<const Group> group) {
  std::shared_ptr<const Group> oldest;  // freed outside the lock
  const MutexLock lock(mutex_);
  groups_.push_back(std::move(group));
  if (groups_.size() > most_) {
    oldest = std::move(groups_.front());
    groups_.pop_front();
    ++first_;
    lost_index_ = oldest->index();
  }
  changed_.notify_all();
}

void EventBuffer::reset(uint64_t index) {
  const MutexLock lock(mutex_);
  // A place that nobody has: readers at the end are to notice as well.
  first_ = end() + 1;
  void_ = first_ - 1;
  groups_.clear();
  lost_index_ = index;
  changed_.notify_all();
}

void EventBuffer::close() {
  const MutexLock lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

EventBuffer::Place EventBuffer::at_least(uint64_t index) const {
  const MutexLock lock(mutex_);
  const auto at = std::ranges::find_if(groups_, [&](const auto& group) { return group->index() >= index; });
  if (at == groups_.end() && !groups_.empty()) return end() - 1;
  return first_ + static_cast<Place>(at - groups_.begin());
}

Result<EventBuffer::Place> EventBuffer::after(uint64_t index) const {
  const MutexLock lock(mutex_);
  if (index < lost_index_) {
    return failed_precondition("events behind index " + std::to_string(index) + " are not held any more; those behind index " +
                        std::to_string(lost_index_) + " are");
  }
  const auto at = std::ranges::find_if(groups_, [&](const auto& group) { return group->index() > index; });
  return first_ + static_cast<Place>(at - groups_.begin());
}

EventBuffer::Place EventBuffer::latest() const {
  const MutexLock lock(mutex_);
  return end();
}

EventBuffer::Next EventBuffer::next(Place& place, SteadyTime deadline, const std::stop_token& stop) {
  MutexLock lock(mutex_);
  changed_.wait_until(lock, stop, deadline,
                      [&]() DROVER_REQUIRES(mutex_) { return is_closed_ || place <= void_ || place < end(); });
  if (is_closed_ || place <= void_) return Closed{};
  if (place < first_) return Lost{};
  if (place >= end()) return Idle{};
  return groups_[place++ - first_];
}

}  // namespace drover::events
