// Autopilot's view and decisions: the health of the cluster's servers, and which are promoted or removed. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drover/clock.h"
#include "drover/raft.h"
#include "drover/server_directory.h"

namespace drover::autopilot {

struct Config {
  bool cleanup_dead_servers = true;
  std::chrono::nanoseconds last_contact_threshold = std::chrono::milliseconds(200);
  uint64_t max_trailing_logs = 250;
  uint64_t min_quorum = 0;  // the dead are not removed below this many voters
  std::chrono::nanoseconds server_stabilization_time = std::chrono::seconds(10);
};

struct Health {
  Uuid id;
  std::string name, address, version;
  std::optional<ServerStatus> status;  // nothing: gossip does not know it
  bool is_leader = false, is_voter = false, is_healthy = false;
  std::optional<std::chrono::nanoseconds> last_contact;  // nothing: not heard in this leadership
  uint64_t last_term = 0, last_index = 0;
  bool is_damaged = false;
  SteadyTime stable_since{};      // healthy, or not, since
  int64_t stable_since_wall = 0;  // the same for people
};

struct Report {
  std::vector<Health> servers;
  bool is_healthy = false;    // all are
  int failure_tolerance = 0;  // healthy voters that may be lost without losing the quorum
};

// `before` is the last report of this leadership: servers that stay as they are keep their stable_since.
// Requires: this server leads.
Report examine(const Config& config, const RaftInfo& raft, const std::vector<ServerMember>& members,
               const Report& before, SteadyTime now, int64_t wall_ns);

struct Action {
  RaftEdit edit;
  std::string reason;
};
struct Plan {
  std::optional<Action> action;  // one change at a time
  std::string held;              // why dead servers stay, when they do
};

// Removes servers that left. Removes failed servers unless that takes more than a minority of the voters at once or
// goes below the quorum that the operator wants. Then promotes learners that were healthy long enough to voters.
Plan decide(const Config& config, const Report& report, SteadyTime now);

}  // namespace drover::autopilot
