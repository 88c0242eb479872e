#include "kernel/raft/core/progress.h"

#include <algorithm>

#include "drover/result.h"

namespace drover::raft {

// Both counters at once, on every change of state (R8).
void Progress::clear_window() {
  in_flight.clear();
  in_flight_bytes = 0;
}

void Progress::become_probe(Index next_index) {
  DROVER_CHECK(next_index > match);
  state = State::probe;
  next = next_index;
  is_paused = false;
  commit_sent = 0;
  clear_window();
}

void Progress::become_replicate() {
  state = State::replicate;
  next = match + 1;
  is_paused = false;
  commit_sent = 0;
  clear_window();
}

void Progress::become_snapshot() {
  state = State::snapshot;
  is_paused = false;
  clear_window();
}

void Progress::sent(Index last, uint64_t bytes) {
  DROVER_CHECK(state == State::replicate && last >= next);
  in_flight.push_back({.last = last, .bytes = bytes});
  in_flight_bytes += bytes;
  next = last + 1;
}

bool Progress::accepted(Index index) {
  if (index <= match) return false;
  match = index;
  next = std::max(next, match + 1);
  while (!in_flight.empty() && in_flight.front().last <= match) {
    in_flight_bytes -= in_flight.front().bytes;
    in_flight.pop_front();
  }
  return true;
}

}  // namespace drover::raft
