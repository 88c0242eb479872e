// Notices when consensus stands still where it should not, says what it waits for, and names the smallest step that may
// help. Pure; fed about once a second by the composition root, which logs and carries out.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "drover/clock.h"
#include "kernel/raft/raft.h"

namespace drover::raft {

// The progress that the loops of this server show.
struct Vitals {
  uint64_t ticks = 0;  // of [raft]'s clock, since the start
  bool leads = false;
  bool is_ready = false;  // and serves: all of earlier terms is applied
  Term term = 0;
  Index last = 0;
  Index durable = 0;  // on this server's own disk
  Index commit = 0;
  Index applied = 0;
  std::vector<PeerInfo> peers{};  // while it leads
};

struct Finding {
  std::string sentence;
  std::string waits_for;  // "the disk of this server", "the server 5f1c…, at 12 of 40"
  NodeId renew{};         // a server whose stream of entries is to be opened anew; zero: none
};

class Watchdog {
 public:
  explicit Watchdog(std::chrono::nanoseconds patience = std::chrono::seconds(10)) : patience_(patience) {}

  // Each finding comes once the standstill has lasted as long as patience allows, and again after as long.
  std::vector<Finding> look(const Vitals& now, SteadyTime time);

 private:
  // The time since which a number has not moved.
  struct Standstill {
    uint64_t value = 0;
    SteadyTime since{};
    bool is_due(uint64_t now, SteadyTime time, std::chrono::nanoseconds patience);
  };

  const std::chrono::nanoseconds patience_;
  Standstill ticks_, readiness_, applying_;
  std::map<NodeId, Standstill> following_;
};

}  // namespace drover::raft
