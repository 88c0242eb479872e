// The state of a core and its handlers, one file a concern: core.cc (dispatch, roles, effects), election.cc,
// replication.cc (the leader's side), follower.cc (the other one, with snapshots), membership.cc, reads.cc,
// invariants.cc. Included by those only.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "kernel/raft/core/core.h"
#include "kernel/raft/core/log_view.h"
#include "kernel/raft/core/progress.h"
#include "kernel/raft/core/quorum.h"
#include "kernel/raft/core/reach.h"

namespace drover::raft {

struct Core::Impl {
  enum class Stage : uint8_t { follower, pre_candidate, candidate, leader };

  struct Held {  // leaves when write_seq is durable
    uint64_t write_seq = 0;
    Message message;
  };
  struct Proposed {  // in the log by this leadership, not yet committed
    Index index = 0;
    uint64_t bytes = 0;
    std::optional<uint64_t> token{};  // nothing: proposed by the core itself
  };
  struct Transfer {
    uint64_t number = 0;
    NodeId to{};
    std::optional<uint64_t> token{};
    int elapsed = 0;       // ticks
    bool is_sent = false;  // TimeoutNow has left
  };
  struct Read {
    uint64_t token = 0;  // of the caller here, or the number of the asking peer
    NodeId from{};       // zero: the caller is here
    Index index = 0;
    uint64_t round = 0;
  };
  struct ForwardedRead {
    uint64_t token = 0;
    int elapsed = 0;
  };

  Impl(const CoreConfig& core_config, CoreState state);

  // core.cc: dispatch and effects
  void step(Input input);
  Effects take_effects();
  CoreStatus status() const;
  void on(Tick& tick);
  void on(Receive& receive);
  void on(LogDurable& durable);
  void on(AppliedTo& applied);
  void on(StorageSlow& slow);
  void on(Quarantine& quarantine) { is_quarantined = quarantine.is_on; }
  void on(PeerUnreachable& peer);
  void on(PeerReconnected& peer);
  void receive(Message& m);
  bool is_well_formed(const Message& m) const;
  void drop() { ++counters.messages_dropped; }

  // core.cc: roles, hard state, messages
  bool is_leader() const { return stage == Stage::leader; }
  void set_hard_state(Term new_term, const NodeId& new_vote);
  bool is_hard_state_durable() const { return log.is_durable(hard_state_write); }
  void become_follower(Term new_term, const NodeId& new_leader, std::string_view reason);
  void enter(Stage new_stage, const NodeId& new_leader);
  void end_leadership();
  void note_role(std::string_view reason);
  Message message(MessageType type, const NodeId& to) const;
  void send(Message m) { out.send.push_back(std::move(m)); }
  void send_when_durable(uint64_t write_seq, Message m);
  void resolve(uint64_t token, Outcome outcome, Index index = 0, std::string why = {});

  // election.cc
  void on(Campaign&);
  void tick_election();
  void restart_election_timer();
  bool can_campaign() const;
  bool hears_a_leader() const;
  bool is_up_to_date(const Message& m) const;
  void start_pre_vote();
  void start_election(bool is_transfer);
  void ask_for_votes(MessageType type, Term at, bool is_transfer);
  void count_votes();
  void become_leader();
  void on_pre_vote(const Message& m);
  void on_pre_vote_answer(const Message& m);
  void on_vote(const Message& m);
  void on_vote_answer(const Message& m);
  void on_timeout_now(const Message& m);

  // replication.cc: while leading
  void on(Propose& propose);
  void on(EntriesRead& read);
  void on(SnapshotSent& sent);
  void append(EntryType type, std::shared_ptr<const std::string> payload, std::optional<uint64_t> token);
  std::optional<Outcome> refuse(const Proposal& proposal) const;
  void tick_leader();
  void send_heartbeats();
  void sync_peers();
  Progress* find_peer(const NodeId& id);
  Index own_match() const;
  bool has_own_commit() const { return commit >= term_start; }  // an entry of this term is committed
  void replicate(Progress& peer);
  bool send_next(Progress& peer);
  void send_empty(Progress& peer);
  void send_entries(Progress& peer, std::vector<Entry> entries);
  void want_snapshot(Progress& peer);
  void on_append_answer(const Message& m);
  void on_refusal(Progress& peer, const Message& m);
  void on_heartbeat_answer(const Message& m);
  void advance_commit();

  // follower.cc
  void on(SnapshotArrived& arrived);
  void on(SnapshotInstalled& installed);
  void on(SnapshotTaken& taken);
  void follow(const Message& m);
  void on_append(Message& m);
  void on_heartbeat(const Message& m);
  bool is_prev_held(const Message& m) const;
  void refuse_append(const Message& m);
  Index merge(Message& m);
  void acknowledge();
  void ask_for_repair();
  void recover_from_damage();

  // membership.cc
  void on(ChangeMembership& change);
  const Membership& in_force() const { return memberships.back(); }
  const Membership& committed_membership() const;
  bool is_known(const NodeId& id) const;
  void adopt(Membership membership);
  void roll_back_memberships(Index from);
  void commit_to(Index index);
  void finish_joint_membership();
  void on(TransferLeadership& request);
  bool is_to_stay_voter(const NodeId& id) const;
  std::optional<NodeId> best_successor() const;
  void make_way();
  void start_transfer(const NodeId& to, std::optional<uint64_t> token);
  void continue_transfer();
  void send_timeout_now(const NodeId& to);
  void tick_transfer();
  void finish_transfer(Outcome outcome);

  // reads.cc
  void on(ReadIndex& read);
  void on_read_index(const Message& m);
  void on_read_index_answer(const Message& m);
  void answer(const Read& read, Outcome outcome);
  bool may_read() const;
  bool has_lease(SteadyTime at) const;
  void start_reads();
  void start_round();
  void confirm_reads();
  void fail_reads();
  void fail_forwarded_reads();
  void tick_reads();

  // invariants.cc
  void check_step();
  void check() const;

  const CoreConfig config;
  std::mt19937_64 random;  // of election timeouts (E7)
  CoreCounters counters;
  Effects out;  // since the last take_effects()

  // Durable, or becoming so with hard_state_write.
  Term term = 0;
  NodeId vote{};
  uint64_t hard_state_write = 0;
  bool is_hard_state_new = false;  // goes into the next write
  LogView log;
  // By index: the one in force at the commit index, then every later one in the log. Never empty.
  std::vector<Membership> memberships;
  bool is_membership_new = false;  // goes into the next write
  std::vector<Held> held;

  Index commit = 0;
  Index applied = 0;
  Index apply_to = 0;  // handed out
  Index snapshot_index = 0;
  Index installing = 0;           // the snapshot on its way into the state machine; 0: none
  uint64_t start_over_write = 0;  // the log is ours from this write on

  Stage stage = Stage::follower;
  NodeId leader{};               // of this term; zero: nobody known
  CoreStatus announced{};        // role, term and leader as of the last RoleChange
  std::map<NodeId, bool> votes;  // of the campaign under way
  uint64_t own_vote_write = 0;   // candidate: our own vote counts once this is durable
  bool is_damaged = false;
  bool is_quarantined = false;
  bool is_storage_slow = false;
  bool is_log_unreadable = false;  // leading: of what is not committed, so that no snapshot can stand in for it

  // Time, in ticks.
  int election_elapsed = 0;
  int election_timeout = 0;
  int since_leader = 0;  // since the leader was heard
  int since_start = 0;
  int heartbeat_elapsed = 0;
  // For the lease only: as told by the newest input, and the first tick after the leader was heard.
  SteadyTime now{};
  std::optional<SteadyTime> leader_heard{};
  bool is_leader_heard = false;  // since the last tick

  // Following.
  Index matched = 0;       // our log equals the leader's up to here
  Index acknowledged = 0;  // and it has been told so
  bool owes_answer = false;
  // While damaged: the question how far the leader's log went after we started, and its answer (5.5); 0: none yet.
  uint64_t repair_number = 0;
  Index repair_target = 0;
  uint64_t read_number = 0;
  std::map<uint64_t, ForwardedRead> forwarded_reads;  // by number

  // Leading.
  Index term_start = 0;         // its first entry (R1)
  std::vector<Progress> peers;  // by id; every other member, of the membership in force and of the committed one
  std::deque<Proposed> proposed;
  uint64_t uncommitted_bytes = 0;
  uint64_t transfers_begun = 0;
  std::optional<Transfer> transfer;  // outlives the leadership until its token is resolved
  std::vector<Read> waiting_reads;   // for the next round
  std::deque<Read> started_reads;
  uint64_t round = 0;  // never starts again, so answers to other leaderships' rounds are recognised
  struct RoundStart {
    uint64_t round = 0;
    SteadyTime at{};
  };
  std::deque<RoundStart> round_starts;  // with lease_reads
  SteadyTime lease_until{};
  bool is_lease_barred = false;  // a TimeoutNow has left in this term

  struct Seen {  // by check_step
    Term term = 0;
    Index commit = 0;
    Index applied = 0;
    Index snapshot = 0;
    Term leader_term = 0;
    NodeId leader{};
    Term vote_term = 0;
    NodeId vote{};
  } seen;
};

}  // namespace drover::raft
