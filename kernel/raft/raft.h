// The kernel's consensus, seen from outside: propose a command, learn what became of it, read consistently, follow
// leadership. Owned by the composition root, which also implements StateMachine and so joins this room to state/.
//
// Threads: [raft] orders, [log] writes, [apply] calls the state machine, [snapshot] streams it to disk. Everything of
// Consensus may be called from [any]. Callbacks must not block; while the threads run they are never called inside the
// call that registers them (before start() and after stop() there is no other thread to call them on).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "drover/byte_stream.h"
#include "drover/clock.h"
#include "drover/result.h"
#include "storage/snapshot_files.h"
#include "storage/types.h"

namespace drover::raft {

using drover::ByteSink;
using drover::ByteSource;

// A frozen state, written out while apply goes on. Destroyed on [snapshot].
class SnapshotSource {
 public:
  virtual ~SnapshotSource() = default;
  // The index of the last entry in it.
  virtual Index index() = 0;
  virtual Status write(ByteSink& sink) = 0;  // [snapshot]
};

// The state that the log drives. Its calls come one at a time, and none runs beside another.
class StateMachine {
 public:
  virtual ~StateMachine() = default;

  // Applies consecutive entries, the first one being applied_index() + 1, and appends one answer an entry. Entries that
  // are not commands change nothing but the applied index; their answers are ignored. A command that fails by the rules
  // of its table fails the same way on every server: that is an error answer, and the index still moves.
  virtual void apply(std::span<const Entry> entries, std::vector<Result<std::string>>& answers) = 0;  // [apply]
  virtual Index applied_index() = 0;                                                                  // [apply]
  // The state as it is now, in constant time.
  virtual std::unique_ptr<SnapshotSource> snapshot() = 0;  // [apply]
  // Replaces the whole state, index included, in one step; an error changes nothing. Runs inside Consensus::start()
  // before anything is applied, and on [apply] when a leader sends its snapshot.
  virtual Status restore(ByteSource& source) = 0;
};

struct Applied {
  Index index = 0;
  std::string answer;
};

enum class Role : uint8_t { follower, candidate, leader };
std::string_view to_string(Role role);

// One edit of the membership. add_voter also promotes a learner, add_learner also demotes a voter; an edit that a
// member already fulfils changes its address.
struct MemberEdit {
  enum class Kind : uint8_t { add_voter, add_learner, remove };
  Kind kind = Kind::add_voter;
  NodeId id{};
  std::string address{};
};

// A leader's knowledge of another server.
struct PeerInfo {
  NodeId id{};
  Index match = 0;  // durable there, as far as is known
  std::chrono::nanoseconds since_contact{};
  bool is_reached = false;  // heard since this leadership began
  bool is_damaged = false;  // says so itself: it has lost what it had confirmed, and is being repaired
};

// Durations by powers of two: bucket i counts those below 2^i microseconds, the last one everything longer.
struct Histogram {
  static constexpr size_t kBuckets = 24;
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t max_ns = 0;
  std::array<uint64_t, kBuckets> buckets{};

  void add(uint64_t ns);
};

struct LogStats {
  uint64_t batches = 0;          // disk writes that carried something
  uint64_t confirm_batches = 0;  // empty ones that only state what is durable
  uint64_t entries = 0;
  uint64_t payload_bytes = 0;
  uint64_t written_bytes = 0;  // with headers and padding
  uint64_t segments = 0;       // now on disk, spares not counted
  uint64_t spare_segments = 0;
  uint64_t recycled_segments = 0;
  uint64_t queued_bytes = 0;  // submitted and not yet durable
  bool is_direct = false;     // O_DIRECT|O_DSYNC rather than fdatasync
  Histogram sync;             // one write made durable
};

// Counters since start; gauges as of now.
struct Stats {
  uint64_t proposals = 0;  // accepted into the log
  uint64_t proposals_not_leader = 0;
  uint64_t proposals_backlog = 0;
  uint64_t proposals_too_large = 0;
  uint64_t proposals_expired = 0;
  uint64_t reads = 0;
  uint64_t reads_by_lease = 0;
  uint64_t reads_by_round = 0;   // confirmed by the others' heartbeats, shared by those that waited
  uint64_t reads_by_leader = 0;  // asked of the leader
  uint64_t elections_started = 0;
  uint64_t elections_won = 0;
  uint64_t step_downs = 0;
  uint64_t messages_dropped = 0;
  uint64_t apply_batches = 0;
  uint64_t applied_entries = 0;
  uint64_t uncommitted_bytes = 0;
  uint64_t unapplied_bytes = 0;
  uint64_t snapshots_taken = 0;
  uint64_t snapshots_failed = 0;
  uint64_t snapshots_kept = 0;
  uint64_t snapshots_sent = 0;
  uint64_t snapshots_installed = 0;
  uint64_t snapshot_bytes = 0;  // of the newest
  uint64_t snapshot_ns = 0;     // the time the newest took
  bool is_damaged = false;      // the log has lost what it had confirmed: neither votes nor campaigns until it is whole
  uint64_t repairs = 0;         // times it became whole again
  uint64_t scrub_rounds = 0;
  uint64_t scrub_errors = 0;
  bool is_rotten = false;  // the last round of scrubbing found damage
  Index snapshot_index = 0;
  Term snapshot_term = 0;
  Index first_index = 0;
  Term last_term = 0;  // of the last entry
  Histogram commit;    // from propose to applied
  LogStats log;
};

class SnapshotReader;  // kernel/raft/snapshot_store.h

class Consensus {
 public:
  using ProposeDone = std::function<void(Result<Applied>)>;
  using IndexDone = std::function<void(Result<Index>)>;
  using StatusDone = std::function<void(Status)>;
  using SnapshotDone = std::function<void(Result<SnapshotInfo>)>;
  using Leadership = std::function<void(Term term, std::stop_token until)>;

  virtual ~Consensus() = default;

  // Recovers log and snapshot, restores the state machine and starts the threads. Once.
  // A log that is damaged where other voters can send it again keeps its good beginning (Stats::is_damaged).
  // Errors: data_loss when the disk holds less than was acknowledged and nobody can send it again (nothing is changed
  // then); failed_precondition when the directory is in use, belongs to another node or cluster, has a newer format, or
  // has no room for another damaged part in quarantine/.
  virtual Status start() = 0;
  // Ends leadership, makes durable and applies what is in the log, joins. Idempotent. Callbacks still open are called.
  virtual void stop() = 0;

  // Puts a command into the log. `done` is called exactly once: on [apply] with the state machine's answer after the
  // entry was applied here, or on [raft] with an error (on the stopping thread during stop()). Errors:
  //   unavailable          not the leader, or stopping; the command never entered the log: retry with the leader
  //   resource_exhausted   the backlog is full, or the command is larger than max_entry_bytes; it never entered the log
  //   deadline_exceeded    UNCERTAIN: the deadline passed, or leadership or this server ended, while the command was in
  //                        the log; it may still be applied. Never report it as failure, never repeat it blindly
  //   anything else        the state machine's own answer: the entry was applied and said no
  // A caller that decided on the state of a term names it: in another term the command is refused as aborted (decide
  // again), so nothing decided under an earlier leadership slips into a later one. 0: any term.
  virtual void propose(std::string command, SteadyTime deadline, ProposeDone done, Term only_in_term = 0) = 0;

  // A linearizable read without a log write: `done` gets an index c such that every write acknowledged before this call
  // is at or below c, and is called when c has been applied here. Errors: unavailable; deadline_exceeded.
  virtual void read_index(SteadyTime deadline, IndexDone done) = 0;

  // Calls back on every gain of leadership, once all entries of earlier terms have been applied here. The token is
  // stopped when leadership is lost or this server stops. A subscriber that comes while this server leads is called
  // too. Subscriptions last as long as this object. Runs on [raft].
  virtual void subscribe_leadership(Leadership on_gain) = 0;

  virtual Role role() const = 0;
  virtual Term term() const = 0;
  // The leader as far as this server knows; an empty address when it knows none.
  virtual Member leader_hint() const = 0;
  // Since the leader was heard; zero on the leader, nothing when none has been heard since the start.
  virtual std::optional<std::chrono::nanoseconds> last_contact() const = 0;
  // The others, while this server leads; otherwise empty.
  virtual std::vector<PeerInfo> peers() const = 0;

  virtual Membership membership() const = 0;
  // All edits as one change, through the log; one change at a time. One voter more or less goes directly, everything
  // else through a joint membership. `done` is called when it is committed. Errors: invalid_argument (says why);
  // failed_precondition while another change is under way; unavailable; deadline_exceeded (uncertain).
  virtual void change_membership(std::vector<MemberEdit> edits, SteadyTime deadline, StatusDone done) = 0;
  // Hands leadership to a voter; zero: the one that is furthest. `done` is called when somebody else leads. Errors: as
  // change_membership.
  virtual void transfer_leadership(NodeId to, SteadyTime deadline, StatusDone done) = 0;

  // Begins a new cluster with these voters, this server among them; each of them is told the same. Only on a server
  // that has never been part of one. Errors: failed_precondition; invalid_argument.
  virtual void bootstrap(std::vector<Member> voters, StatusDone done) = 0;

  // Takes a snapshot now and compacts the log behind it. The newest one when nothing was applied since. `done` runs on
  // [snapshot], on [apply] when there is nothing new, or on the stopping thread. Errors: unavailable; the disk's own.
  virtual void take_snapshot(SnapshotDone done) = 0;

  // The newest snapshot's state, checked again while it is read; readable while it is open. Errors: not_found; the
  // disk's.
  struct OpenSnapshot {
    SnapshotInfo info;
    std::unique_ptr<ByteSource> bytes;
  };
  virtual Result<OpenSnapshot> open_snapshot() = 0;

  // Valid after start().
  virtual ClusterId cluster_id() const = 0;
  virtual NodeId node_id() const = 0;

  virtual Index last_index() const = 0;
  virtual Index commit_index() const = 0;
  virtual Index applied_index() const = 0;
  virtual Index durable_index() const = 0;
  virtual Stats stats() const = 0;
};

}  // namespace drover::raft
