// A leader's knowledge of one follower. A value of the core; nothing of it outlives a leadership (R6).
//
//             accepted                    next is compacted
//   probe ──────────────▶ replicate ─────────────────────────┐
//     ▲  ◀──────────────      │                              ▼
//     │   refused, or         └─ accepted ◀────────────── snapshot
//     └── unreachable ◀─────────────────── sent or given up ─┘
//
// probe      one append at a time, until the follower's log is known to match; waits for a sign of life after each
// replicate  appends are sent ahead without waiting, within the window (R8)
// snapshot   nothing but heartbeats, until the snapshot has been sent
#pragma once

#include <deque>

#include "kernel/raft/core/core.h"

namespace drover::raft {

struct Progress {
  using State = PeerStatus::State;
  struct InFlight {
    Index last = 0;
    uint64_t bytes = 0;
  };

  NodeId id{};
  State state = State::probe;
  Index match = 0;          // durable there, as far as we know; never decreases (I5)
  Index next = 1;           // the first entry to send
  bool is_paused = false;   // probe: the one append is out
  bool is_reading = false;  // a LogRead is out
  Index commit_sent = 0;    // the newest commit index it has been told in an append
  uint64_t ticks_since_contact = 0;
  bool is_damaged = false;  // as its last append answer says
  uint64_t round = 0;       // the newest heartbeat round it has answered
  std::deque<InFlight> in_flight{};
  uint64_t in_flight_bytes = 0;

  void become_probe(Index next_index);
  void become_replicate();
  void become_snapshot();
  bool is_full(const CoreConfig& config) const {
    return in_flight.size() >= config.window_messages || in_flight_bytes >= config.window_bytes;
  }
  // An append up to `last` has been sent. Requires: state replicate.
  void sent(Index last, uint64_t bytes);
  // Everything up to `index` is durable there. False when that is no news.
  bool accepted(Index index);
  // True when later news has overtaken a refusal of the append behind `prev` (R5).
  bool is_stale_refusal(Index prev) const { return prev <= match || (state == State::probe && prev + 1 != next); }

 private:
  void clear_window();
};

}  // namespace drover::raft
