// A server's consensus, for the plugins that show and run a cluster: who is in it, who leads, who should. [any]
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/clock.h"
#include "drover/result.h"
#include "drover/uuid.h"

namespace drover {

struct RaftServer {
  Uuid id;
  std::string address;  // RPC, "host:port"
  bool is_voter = true;
  bool is_leader = false;
  // While the asked server leads, of the others. `since_contact` is empty when nothing was heard in this leadership.
  uint64_t match_index = 0;  // durable there, as far as is known
  std::optional<std::chrono::nanoseconds> since_contact{};
  bool is_damaged = false;  // its disk has lost what it had confirmed, as RaftInfo::is_damaged
};

struct RaftInfo {
  Uuid server_id;
  Uuid cluster_id;  // zero: part of no cluster yet
  std::string role = "follower";
  bool is_leader = false;
  uint64_t term = 0;
  uint64_t last_index = 0, commit_index = 0, applied_index = 0, durable_index = 0;
  uint64_t first_index = 0, snapshot_index = 0;
  uint64_t last_term = 0,
           snapshot_term = 0;  // the terms of the last entry and of the newest snapshot; 0: there is none
  Uuid leader_id;              // zero when unknown
  std::string leader_address;  // RPC address, empty when unknown
  // Since the leader was heard; zero on the leader, nothing when none was.
  std::optional<std::chrono::nanoseconds> last_contact{};
  uint64_t configuration_index = 0;  // of the entry that set the membership
  std::vector<RaftServer> servers{};
  // This server's disk has lost what it had confirmed: it is being repaired by the leader, or the last reading of log
  // and snapshots found damage that a restart repairs.
  bool is_damaged = false;
};

// One edit of who counts. add_voter also promotes a learner, add_learner also demotes a voter; of a member that is
// already what is asked for, the address is changed.
struct RaftEdit {
  enum class Kind : uint8_t { add_voter, add_learner, remove };
  Kind kind = Kind::add_voter;
  Uuid id;
  std::string address{};
};

class RaftControl {
 public:
  virtual ~RaftControl() = default;

  // Begins a new cluster with these voters, this server among them; each of them is told the same. Errors:
  // failed_precondition on a server that is part of one; invalid_argument.
  virtual Status bootstrap(std::vector<RaftServer> voters) = 0;
  // All edits as one change, through the log; returns when it is committed. Errors: invalid_argument (says why);
  // failed_precondition while another change is under way; unavailable when this server does not lead;
  // deadline_exceeded leaves it open.
  virtual Status change_servers(std::vector<RaftEdit> edits, SteadyTime deadline) = 0;
  // Zero: the voter that is furthest. Returns when somebody else leads. Errors as change_servers.
  virtual Status transfer_leadership(Uuid to, SteadyTime deadline) = 0;

  // The state as a snapshot (storage/state_snapshot.h): `sink` gets its bytes in order and may refuse. It holds all
  // that was acknowledged before the call, unless it may be stale: then a server without a leader answers as well.
  // Errors: unavailable; the disk's; the sink's own.
  struct Snapshot {
    uint64_t index = 0;
    uint64_t term = 0;
  };
  virtual Result<Snapshot> save_snapshot(bool may_be_stale, const std::function<Status(std::string_view bytes)>& sink,
                                         SteadyTime deadline) = 0;
};

}  // namespace drover
