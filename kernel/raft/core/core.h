// Consensus as a pure state machine: Raft (Ongaro 2014) with pre-vote (§9.6), check-quorum (§6.2), leadership transfer
// (§3.10), joint membership (§4.3) in force when appended, reads without a log write (§6.4), learners (§4.2.1).
//
//   follower ──timeout──▶ pre-candidate ──quorum──▶ candidate ──quorum──▶ leader
//       ▲─────────── a higher term, or a leader is alive, or the quorum is gone ──────┘
//
// No thread, clock, I/O, randomness of its own, or global. Everything that happens enters through step(), everything to
// be done comes out of take_effects(): drain the whole queue into step(), then take once, so that five hundred
// proposals become one log write and one message a peer. Same configuration, state and inputs: same effects, byte for
// byte.
//
// Election, replication, membership and reads are one file each around this small state. Single-owner: [raft].
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drover/clock.h"
#include "kernel/raft/core/message.h"
#include "kernel/raft/log.h"
#include "kernel/raft/raft.h"
#include "storage/term_runs.h"
#include "storage/types.h"

namespace drover::raft {

struct CoreConfig {
  NodeId id{};
  uint64_t seed = 1;  // of this incarnation's election timeouts
  int heartbeat_ticks = 1;
  int election_ticks = 10;  // timeouts are drawn from [election_ticks, 2 * election_ticks) (E7)
  std::chrono::nanoseconds tick{std::chrono::milliseconds(100)};  // for the lease only
  uint64_t max_entry_bytes = 8ull << 20;
  uint64_t append_bytes = 1ull << 20;   // of entries in one append; a larger entry travels alone
  size_t window_messages = 256;         // appends in flight to one peer …
  uint64_t window_bytes = 32ull << 20;  // … and their bytes
  uint64_t max_uncommitted_bytes = 64ull << 20;
  uint64_t recent_bytes = 32ull << 20;  // entries kept by reference for sending; older ones are read (LogRead)
  bool lease_reads = false;
  uint32_t lease_drift_ppm = 500;
};

// The contents of the log and of the newest snapshot at start.
struct CoreState {
  HardState hard_state{};
  Index snapshot_index = 0;  // applied and committed at start
  Term snapshot_term = 0;
  TermRuns terms{};  // of the whole log; all of it durable
  std::vector<Membership>
      memberships{};  // by index: that of the snapshot (or of the log's header), then every later one
  uint64_t write_seq = 0;
  // The log was damaged below what had been confirmed and has been cut (log-on-disk §5.5): no campaign and no vote
  // before a leader has made this server whole again.
  bool is_damaged = false;
  bool is_quarantined = false;  // as input Quarantine
};

// ---- inputs ----

struct Proposal {
  uint64_t token = 0;
  EntryType type = EntryType::command;
  std::shared_ptr<const std::string> payload{};
  Term only_in_term = 0;  // 0: any
};

struct Tick {
  SteadyTime now{};  // for the lease only
};
struct Receive {
  Message message;
};
struct Propose {
  std::vector<Proposal> batch;
};
struct ChangeMembership {
  std::vector<MemberEdit> edits;  // one voter more or less goes directly, everything else through a joint membership
  uint64_t token = 0;
};
struct TransferLeadership {
  NodeId to{};  // zero: the voter that is furthest
  uint64_t token = 0;
};
struct ReadIndex {
  uint64_t token = 0;
  SteadyTime now{};  // read after the request arrived; for the lease only
};
struct LogDurable {
  uint64_t write_seq = 0;
};
struct AppliedTo {
  Index index = 0;
};
struct SnapshotTaken {  // here, durable; the log may be cut below first_index
  Index index = 0;
  Term term = 0;
  Membership membership{};
  Index first_index = 0;
};
struct SnapshotArrived {  // from a leader of that term, whole and durable, not yet in the state machine
  NodeId from{};
  Term leader_term = 0;
  Index index = 0;
  Term term = 0;
  Membership membership{};
};
struct SnapshotInstalled {  // the state machine is at it
  Index index = 0;
};
struct SnapshotSent {  // the answer to SnapshotSend: the peer has it durably, or the sending was given up
  NodeId to{};
  Index index = 0;
  bool is_ok = false;
};
struct EntriesRead {  // the answer to LogRead; empty: could not be read (compacted meanwhile, or a bad disk)
  NodeId to{};
  Index from = 0;
  std::vector<Entry> entries;
};
struct PeerUnreachable {
  NodeId peer{};
};
struct PeerReconnected {
  NodeId peer{};
};
struct StorageSlow {  // whether the oldest write has been out for more than an election timeout
  bool is_slow = false;
};
struct Quarantine {  // while on, this server replicates but does not campaign (5.6)
  bool is_on = false;
};
struct Campaign {};  // at once, pre-vote included: the sole voter's start, and tests

using Input = std::variant<Tick, Receive, Propose, ChangeMembership, TransferLeadership, ReadIndex, LogDurable,
                           AppliedTo, SnapshotTaken, SnapshotArrived, SnapshotInstalled, SnapshotSent, EntriesRead,
                           PeerUnreachable, PeerReconnected, StorageSlow, Quarantine, Campaign>;

// ---- effects ----

enum class Outcome : uint8_t {
  committed,
  // Never entered the log, nothing happened:
  not_leader,    // or no longer, or not able to (transfer under way); leader_id() may know who
  backlog_full,  // max_uncommitted_bytes
  too_large,     // max_entry_bytes
  other_term,    // only_in_term
  busy,          // another membership change or transfer is under way, or no entry of this term is committed yet
  invalid,       // a membership change that makes no sense; `why`
  // In the log when leadership ended: it may still be committed.
  uncertain,
};
std::string_view to_string(Outcome outcome);

// Each token comes back exactly once (I9). A transfer is `committed` when somebody else leads, `uncertain` when it
// timed out.
struct Resolution {
  uint64_t token = 0;
  Outcome outcome = Outcome::committed;
  Index index = 0;  // of the entry, when committed
  Term term = 0;
  std::string why{};
};
struct ReadReady {  // may run once applied ≥ index; or not_leader
  uint64_t token = 0;
  Outcome outcome = Outcome::committed;
  Index index = 0;
};
struct LogRead {  // entries from `from`, at most max_bytes but at least one, for an append to `to`; answer EntriesRead
  NodeId to{};
  Index from = 0;
  Index upto = 0;
  uint64_t max_bytes = 0;
};
struct SnapshotSend {  // the newest one; answer SnapshotSent
  NodeId to{};
};
struct SnapshotInstall {  // put the arrived snapshot into the state machine, in order with `write`; answer
                          // SnapshotInstalled
  Index index = 0;
  Term term = 0;
};
struct RoleChange {
  Role role = Role::follower;
  Term term = 0;
  NodeId leader{};          // zero: nobody known
  std::string_view reason;  // a constant
};

struct Effects {
  std::optional<LogWrite> write;  // with the hard state in it; in the order of write_seq
  std::vector<Message> send;      // may leave now: what must wait for the disk is held back until LogDurable
  Index apply_to = 0;             // entries up to here may be applied; 0: no more than before
  std::vector<Resolution> resolved;
  std::vector<ReadReady> reads;
  std::vector<LogRead> log_reads;
  std::vector<SnapshotSend> snapshots;
  std::optional<SnapshotInstall> install;
  std::vector<RoleChange> roles;  // in order; of role, term or known leader
};

// ---- the core ----

struct PeerStatus {
  NodeId id{};
  enum class State : uint8_t { probe, replicate, snapshot } state = State::probe;
  Index match = 0;
  Index next = 1;
  size_t in_flight_messages = 0;
  uint64_t in_flight_bytes = 0;
  uint64_t ticks_since_contact = 0;
  bool is_damaged = false;
};

struct CoreStatus {
  Role role = Role::follower;
  Term term = 0;
  NodeId vote{};
  NodeId leader{};
  Index first_index = 1;
  Index last_index = 0;
  Term last_term = 0;
  Index durable_index = 0;
  Index commit_index = 0;
  Index applied_index = 0;
  Index snapshot_index = 0;
  uint64_t uncommitted_bytes = 0;
  uint64_t transfer = 0;  // which transfer of leadership is under way, counted from 1; 0: none
  bool is_damaged = false;
  bool is_quarantined = false;
  std::vector<PeerStatus> peers{};  // while leading
};

// Counted since start; monitoring only.
struct CoreCounters {
  uint64_t elections_started = 0;
  uint64_t elections_won = 0;
  uint64_t step_downs = 0;
  uint64_t messages_dropped = 0;  // malformed, or from somebody who has no business here
  uint64_t appends_sent = 0;
  uint64_t appends_refused = 0;
  uint64_t snapshots_wanted = 0;
  uint64_t read_rounds = 0;
  uint64_t reads_by_lease = 0;
  uint64_t reads_by_round = 0;
  uint64_t reads_by_leader = 0;
};

class Core {
 public:
  Core(const CoreConfig& config, CoreState state);
  ~Core();

  void step(Input input);
  Effects take_effects();

  CoreStatus status() const;
  const CoreCounters& counters() const;
  const Membership& membership() const;            // in force: the last in the log, committed or not
  const Membership& committed_membership() const;  // at or below the commit index

  // Aborts on a broken invariant (I1 to I10). Cheap ones run in every step; this one re-derives everything, for tests.
  void check() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drover::raft
