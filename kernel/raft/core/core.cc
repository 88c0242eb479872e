#include "kernel/raft/core/core.h"

#include <algorithm>
#include <utility>

#include "drover/result.h"
#include "kernel/raft/core/state.h"
#include "storage/membership_bytes.h"

namespace drover::raft {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::committed:
      return "committed";
    case Outcome::not_leader:
      return "not_leader";
    case Outcome::backlog_full:
      return "backlog_full";
    case Outcome::too_large:
      return "too_large";
    case Outcome::other_term:
      return "other_term";
    case Outcome::busy:
      return "busy";
    case Outcome::invalid:
      return "invalid";
    case Outcome::uncertain:
      return "uncertain";
  }
  return "unknown";
}

Core::Core(const CoreConfig& config, CoreState state) : impl_(std::make_unique<Impl>(config, std::move(state))) {}
Core::~Core() = default;
void Core::step(Input input) { impl_->step(std::move(input)); }
Effects Core::take_effects() { return impl_->take_effects(); }
CoreStatus Core::status() const { return impl_->status(); }
const CoreCounters& Core::counters() const { return impl_->counters; }
const Membership& Core::membership() const { return impl_->in_force(); }
const Membership& Core::committed_membership() const { return impl_->committed_membership(); }
void Core::check() const { impl_->check(); }

Core::Impl::Impl(const CoreConfig& core_config, CoreState state)
    : config(core_config),
      random(core_config.seed),
      term(state.hard_state.term),
      vote(state.hard_state.vote),
      hard_state_write(state.write_seq),
      log(std::move(state.terms), state.write_seq, core_config.recent_bytes),
      memberships(std::move(state.memberships)),
      commit(state.snapshot_index),
      applied(state.snapshot_index),
      apply_to(state.snapshot_index),
      snapshot_index(state.snapshot_index),
      is_damaged(state.is_damaged),
      is_quarantined(state.is_quarantined) {
  DROVER_CHECK(config.heartbeat_ticks > 0 && config.election_ticks > config.heartbeat_ticks);
  DROVER_CHECK(config.window_messages > 0 && config.window_bytes > 0);
  if (memberships.empty()) memberships.emplace_back();
  // The snapshot was durable before a crash, the term and the end of the log that go with it were not (10.5).
  if (state.snapshot_term > term) set_hard_state(state.snapshot_term, {});
  if (!log.holds(snapshot_index, state.snapshot_term)) {
    DROVER_REACH("start with a log that does not reach the snapshot");
    log.start_over(snapshot_index, state.snapshot_term);
    start_over_write = log.next_write();
    is_membership_new = true;
    memberships.resize(1);
  }
  DROVER_CHECK(log.first_index() <= snapshot_index + 1);
  seen = {
      .term = term, .commit = commit, .applied = applied, .snapshot = snapshot_index, .vote_term = term, .vote = vote};
  announced.term = term;
  read_number = random();  // an answer to an earlier incarnation must not fit
  restart_election_timer();
}

void Core::Impl::step(Input input) {
  std::visit([this](auto& one) { on(one); }, input);
  check_step();
}

void Core::Impl::on(Tick& tick) {
  now = std::max(now, tick.now);
  if (std::exchange(is_leader_heard, false)) leader_heard = now;
  ++since_start;
  if (is_leader()) {
    tick_leader();
  } else {
    tick_election();
  }
  tick_transfer();
  tick_reads();
  ask_for_repair();
}

void Core::Impl::on(Receive& receive_input) { receive(receive_input.message); }

// Applies the rules for terms (Raft §3.3): a larger one makes us follow, except where a pre-vote or E2 says otherwise.
// A server that is no member is heard only as a candidate (E5) or as a leader that may know a newer membership.
void Core::Impl::receive(Message& m) {
  if (!is_well_formed(m)) return drop();
  switch (m.type) {
    case MessageType::pre_vote:
      return on_pre_vote(m);
    case MessageType::vote:
      return on_vote(m);
    case MessageType::append:
      return on_append(m);
    case MessageType::heartbeat:
      return on_heartbeat(m);
    default:
      break;
  }
  if (!is_known(m.from)) return drop();
  if (m.type == MessageType::pre_vote_answer) return on_pre_vote_answer(m);
  if (m.term > term) become_follower(m.term, {}, "a higher term was seen");
  if (m.type == MessageType::read_index) return on_read_index(m);
  if (m.term < term) return;  // a leftover of an earlier term
  switch (m.type) {
    case MessageType::vote_answer:
      return on_vote_answer(m);
    case MessageType::append_answer:
      return on_append_answer(m);
    case MessageType::heartbeat_answer:
      return on_heartbeat_answer(m);
    case MessageType::timeout_now:
      return on_timeout_now(m);
    case MessageType::read_index_answer:
      return on_read_index_answer(m);
    default:
      return drop();
  }
}

bool Core::Impl::is_well_formed(const Message& m) const {
  if (m.from.is_zero() || m.from == config.id || m.to != config.id) return false;  // S59
  if (m.term == 0 && m.type != MessageType::pre_vote_answer) return false;
  if (m.type == MessageType::vote || m.type == MessageType::pre_vote) return (m.log_index == 0) == (m.log_term == 0);
  if (m.type != MessageType::append) return m.entries.empty();
  if ((m.log_index == 0) != (m.log_term == 0)) return false;
  Index index = m.log_index;
  Term last = m.log_term;
  for (const Entry& entry : m.entries) {  // R7
    if (entry.index != ++index || entry.term < last || entry.term == 0) return false;
    last = entry.term;
    if (entry.type == EntryType::membership && !decode_membership(entry.bytes())) return false;
  }
  return last <= m.term;
}

void Core::Impl::on(LogDurable& durable) {
  log.confirm(durable.write_seq);
  std::erase_if(held, [this](Held& one) {
    if (!log.is_durable(one.write_seq)) return false;
    send(std::move(one.message));
    return true;
  });
  if (stage == Stage::candidate && !votes.contains(config.id) && log.is_durable(own_vote_write)) {
    votes[config.id] = true;
    count_votes();
  }
  if (is_leader()) advance_commit();
  recover_from_damage();
}

void Core::Impl::on(AppliedTo& input) {
  if (installing != 0 && input.index > apply_to) return;  // a snapshot's, which SnapshotInstalled tells of
  DROVER_CHECK(input.index <= apply_to);
  applied = std::max(applied, input.index);
}

void Core::Impl::on(StorageSlow& slow) {
  is_storage_slow = slow.is_slow;
  if (is_leader()) make_way();
}

void Core::Impl::on(PeerUnreachable& input) {
  Progress* peer = find_peer(input.peer);
  if (!peer || peer->state != Progress::State::replicate) return;
  peer->become_probe(peer->match + 1);
  peer->is_paused = true;  // until it gives a sign of life
}

void Core::Impl::on(PeerReconnected& input) {
  Progress* peer = find_peer(input.peer);
  if (peer && peer->state != Progress::State::snapshot) peer->become_probe(peer->match + 1);
}

void Core::Impl::set_hard_state(Term new_term, const NodeId& new_vote) {
  if (new_term != term) held.clear();  // promises of an earlier term are nobody's business any more
  term = new_term;
  vote = new_vote;
  hard_state_write = log.next_write();
  is_hard_state_new = true;  // one record, one write (E8)
}

void Core::Impl::become_follower(Term new_term, const NodeId& new_leader, std::string_view reason) {
  if (is_leader()) end_leadership();
  if (new_term > term) set_hard_state(new_term, {});
  enter(Stage::follower, new_leader);
  note_role(reason);
}

void Core::Impl::enter(Stage new_stage, const NodeId& new_leader) {
  if (leader != new_leader) fail_forwarded_reads();
  stage = new_stage;
  leader = new_leader;
  votes.clear();
  matched = commit;  // what is committed equals every leader's log
  acknowledged = commit;
  owes_answer = false;
  repair_number = repair_target = 0;
  is_log_unreadable = false;
  restart_election_timer();
  if (transfer && !leader.is_zero()) {
    finish_transfer(leader == config.id ? Outcome::uncertain : Outcome::committed);
  }
}

// Resolves everything that this leader promised its callers (E6).
void Core::Impl::end_leadership() {
  ++counters.step_downs;
  fail_reads();
  for (const Proposed& one : proposed) {
    if (one.token) resolve(*one.token, Outcome::uncertain);
  }
  proposed.clear();
  out.log_reads.clear();  // orders of this leadership
  out.snapshots.clear();
  uncommitted_bytes = 0;  // R10
  peers.clear();          // R6
  round_starts.clear();
  lease_until = {};
  if (transfer && !transfer->token) transfer.reset();
}

void Core::Impl::note_role(std::string_view reason) {
  const Role role = is_leader() ? Role::leader : stage == Stage::follower ? Role::follower : Role::candidate;
  if (announced.role == role && announced.term == term && announced.leader == leader) return;
  announced.role = role;
  announced.term = term;
  announced.leader = leader;
  out.roles.push_back({.role = role, .term = term, .leader = leader, .reason = reason});
}

Message Core::Impl::message(MessageType type, const NodeId& to) const {
  return {.type = type, .from = config.id, .to = to, .term = term};
}

void Core::Impl::send_when_durable(uint64_t write_seq, Message m) {
  if (log.is_durable(write_seq)) return send(std::move(m));
  // The newest of a kind is enough, so a disk that hangs fills no memory.
  std::erase_if(held, [&](const Held& one) { return one.message.to == m.to && one.message.type == m.type; });
  held.push_back({.write_seq = write_seq, .message = std::move(m)});
}

void Core::Impl::resolve(uint64_t token, Outcome outcome, Index index, std::string why) {
  out.resolved.push_back({.token = token, .outcome = outcome, .index = index, .term = term, .why = std::move(why)});
}

// One write, one append a peer, however many inputs there were.
Effects Core::Impl::take_effects() {
  if (is_leader()) {
    start_reads();
    for (Progress& peer : peers) replicate(peer);
  } else {
    acknowledge();
  }
  const bool is_more_than_entries = is_hard_state_new || is_membership_new;
  if ((out.write = log.take_write(is_more_than_entries))) {
    if (std::exchange(is_hard_state_new, false)) out.write->hard_state = HardState{.term = term, .vote = vote};
    if (std::exchange(is_membership_new, false)) out.write->membership = in_force();
  }
  // A leader rebuilds its state from the log after a crash, so it may apply entries that are committed elsewhere; a
  // follower's snapshot must never be ahead of its own log.
  const Index upto = is_leader() ? commit : std::min(commit, log.durable_index());
  if (upto > apply_to && installing == 0) out.apply_to = apply_to = upto;
  return std::exchange(out, {});
}

CoreStatus Core::Impl::status() const {
  CoreStatus s{.role = is_leader()                ? Role::leader
                       : stage == Stage::follower ? Role::follower
                                                  : Role::candidate,
               .term = term,
               .vote = vote,
               .leader = leader,
               .first_index = log.first_index(),
               .last_index = log.last_index(),
               .last_term = log.last_term(),
               .durable_index = log.durable_index(),
               .commit_index = commit,
               .applied_index = applied,
               .snapshot_index = snapshot_index,
               .uncommitted_bytes = uncommitted_bytes,
               .transfer = is_leader() && transfer ? transfer->number : 0,
               .is_damaged = is_damaged,
               .is_quarantined = is_quarantined};
  if (!is_leader()) return s;
  for (const Progress& peer : peers) {
    s.peers.push_back({.id = peer.id,
                       .state = peer.state,
                       .match = peer.match,
                       .next = peer.next,
                       .in_flight_messages = peer.in_flight.size(),
                       .in_flight_bytes = peer.in_flight_bytes,
                       .ticks_since_contact = peer.ticks_since_contact,
                       .is_damaged = peer.is_damaged});
  }
  return s;
}

}  // namespace drover::raft
