#include "tests/simulation/world/event_loop.h"

#include <algorithm>

namespace drover::simulation {

EventLoop::~EventLoop() {
  for (const Due& due : heap_) actions_[due.slot].destroy(actions_[due.slot].bytes);
}

size_t EventLoop::take_slot() {
  if (free_.empty()) {
    actions_.emplace_back();
    return actions_.size() - 1;
  }
  const size_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void EventLoop::push(Due due) {
  heap_.push_back(due);
  std::push_heap(heap_.begin(), heap_.end());
}

bool EventLoop::step(Micros until) {
  if (heap_.empty() || heap_.front().at > until) {
    now_ = until;
    return false;
  }
  std::pop_heap(heap_.begin(), heap_.end());
  const Due due = heap_.back();
  heap_.pop_back();
  now_ = due.at;
  ++count_;
  Action& action = actions_[due.slot];
  action.run(action.bytes);
  action.destroy(action.bytes);
  free_.push_back(due.slot);
  return true;
}

}  // namespace drover::simulation
