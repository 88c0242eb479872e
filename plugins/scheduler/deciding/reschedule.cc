#include "reschedule.h"

#include <algorithm>

namespace drover::scheduler {
namespace {

constexpr int kEventsKept = 5;  // of an unlimited policy

}  // namespace

bool reschedules(const v1::ReschedulePolicy& policy) { return policy.unlimited() || policy.attempts() > 0; }

int64_t end_time(const v1::Allocation& alloc) {
  int64_t last = 0;
  for (const auto& [name, state] : alloc.task_states()) last = std::max(last, state.finished_at());
  return last > 0 ? last : alloc.modify_time();
}

int64_t next_delay(const v1::Allocation& alloc, const v1::ReschedulePolicy& policy) {
  const auto& events = alloc.reschedule_tracker().events();
  if (events.empty()) return policy.delay();
  const v1::RescheduleEvent& last = events[events.size() - 1];
  int64_t delay = policy.delay();
  const int64_t limit = policy.max_delay() > 0 ? policy.max_delay() : INT64_MAX;
  if (policy.delay_function() == "exponential") {
    delay = last.delay() > INT64_MAX / 2 ? INT64_MAX : last.delay() * 2;
  } else if (policy.delay_function() == "fibonacci") {
    if (events.size() >= 2) {
      const int64_t before = events[events.size() - 2].delay();
      delay = last.delay() > INT64_MAX - before ? INT64_MAX : last.delay() + before;
      // The sequence began again at the base: its second member is the base as well.
      if (last.delay() == policy.delay() && before == limit) delay = last.delay();
    }
  } else {
    return policy.delay();
  }
  if (delay > limit) {
    delay = limit;
    // It ran longer than the longest delay: begin again.
    if (end_time(alloc) - last.reschedule_time() > delay) delay = policy.delay();
  }
  return delay;
}

std::optional<int64_t> next_try(const v1::Allocation& alloc, const v1::ReschedulePolicy& policy) {
  if (!reschedules(policy)) return std::nullopt;
  const int64_t ended = end_time(alloc);
  const int64_t delay = next_delay(alloc, policy);
  if (!policy.unlimited() && !alloc.reschedule_tracker().events().empty()) {
    int used = 0;
    for (const v1::RescheduleEvent& event : alloc.reschedule_tracker().events()) {
      used += ended - event.reschedule_time() < policy.interval();
    }
    if (used >= policy.attempts() || delay >= policy.interval()) return std::nullopt;
  }
  return ended + delay;
}

v1::RescheduleTracker next_tracker(const v1::Allocation& failed, const v1::ReschedulePolicy& policy, int64_t now) {
  v1::RescheduleTracker tracker;
  const auto& events = failed.reschedule_tracker().events();
  for (int i = 0; i < events.size(); ++i) {
    const bool keep =
        policy.unlimited() ? events.size() - i <= kEventsKept : now - events[i].reschedule_time() < policy.interval();
    if (keep) *tracker.add_events() = events[i];
  }
  v1::RescheduleEvent& event = *tracker.add_events();
  event.set_reschedule_time(now);
  event.set_prev_alloc_id(failed.id());
  event.set_prev_node_id(failed.node_id());
  event.set_delay(next_delay(failed, policy));
  return tracker;
}

}  // namespace drover::scheduler
