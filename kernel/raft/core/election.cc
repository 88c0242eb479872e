// Elections: who may campaign, who may be voted for (Raft §3.4, §4.2.3, §9.6; rules E1 to E8).
#include <algorithm>

#include "kernel/raft/core/state.h"

namespace drover::raft {

void Core::Impl::on(Campaign&) {
  if (!is_leader() && can_campaign()) start_pre_vote();
}

void Core::Impl::tick_election() {
  ++election_elapsed;
  ++since_leader;
  if (election_elapsed < election_timeout) return;
  if (can_campaign()) return start_pre_vote();
  DROVER_REACH("election timeout of one who may not campaign");
  if (!leader.is_zero() || stage != Stage::follower) become_follower(term, {}, "the leader is silent");
  election_elapsed = election_timeout;  // as soon as it may
}

// E7: a fresh draw from [T, 2T) each time.
void Core::Impl::restart_election_timer() {
  election_elapsed = 0;
  const auto ticks = static_cast<uint64_t>(config.election_ticks);
  election_timeout = static_cast<int>(ticks + random() % ticks);
}

// E4. A server that a membership removed campaigns while that membership may still be cut: it may be the only one that
// has the entry (Raft §4.2.2). A server with an undurable tail does not: if it were elected and crashed, it would have
// led with entries that it does not have (S12).
bool Core::Impl::can_campaign() const {
  const bool is_log_durable = log.durable_index() == log.last_index() && log.is_durable(start_over_write);
  const bool may_vote =
      std::ranges::any_of(memberships, [this](const Membership& one) { return is_voter(one, config.id); });
  return may_vote && is_log_durable && installing == 0 && !is_quarantined && !is_damaged && !is_storage_slow;
}

// True when E1 and E2 ask us to keep others from disturbing a leader. With leases a follower's promise counts from the
// first tick after it heard the leader, in time as well as in ticks; a fresh process may have made one before (§8).
bool Core::Impl::hears_a_leader() const {
  if (is_leader()) return true;
  if (config.lease_reads) {
    if (since_start < config.election_ticks) return true;
    if (is_leader_heard) return true;
    if (leader_heard && now - *leader_heard < config.election_ticks * config.tick) return true;
  }
  return !leader.is_zero() && since_leader < config.election_ticks;
}

// E3, Raft §3.6.1.
bool Core::Impl::is_up_to_date(const Message& m) const {
  return m.log_term != log.last_term() ? m.log_term > log.last_term() : m.log_index >= log.last_index();
}

void Core::Impl::start_pre_vote() {
  ++counters.elections_started;
  enter(Stage::pre_candidate, {});
  votes = {{config.id, true}};  // changes nothing persistent, so nothing has to be durable
  note_role("the leader is silent");
  ask_for_votes(MessageType::pre_vote, term + 1, false);
  count_votes();
}

// The requests leave at once; our own vote counts when it is durable (section 3).
void Core::Impl::start_election(bool is_transfer) {
  set_hard_state(term + 1, config.id);
  enter(Stage::candidate, {});
  own_vote_write = hard_state_write;
  note_role(is_transfer ? "leadership is transferred here" : "a quorum would vote for it");
  ask_for_votes(MessageType::vote, term, is_transfer);
  count_votes();
}

void Core::Impl::ask_for_votes(MessageType type, Term at, bool is_transfer) {
  for (const NodeId& id : all_voters(in_force())) {
    if (id == config.id) continue;
    Message m = message(type, id);
    m.term = at;
    m.log_index = log.last_index();
    m.log_term = log.last_term();
    m.is_transfer = is_transfer;
    send(std::move(m));
  }
}

void Core::Impl::count_votes() {
  const VoteResult result = vote_result(in_force(), [this](const NodeId& id) -> std::optional<bool> {
    const auto found = votes.find(id);
    return found == votes.end() ? std::nullopt : std::optional(found->second);
  });
  if (result == VoteResult::lost) return become_follower(term, {}, "a quorum refused its vote");
  if (result == VoteResult::pending) return;
  if (stage == Stage::pre_candidate) {
    // It may have lost the right to campaign while it asked (E4).
    return can_campaign() ? start_election(false) : become_follower(term, {}, "it may not campaign any more");
  }
  // Needed even with enough other votes: a server that leads, forgets the term and leads it again has two logs in it.
  if (!log.is_durable(own_vote_write)) return;
  become_leader();
}

// Raft §3.4; R1: an empty entry of its own term at once.
void Core::Impl::become_leader() {
  ++counters.elections_won;
  enter(Stage::leader, config.id);
  heartbeat_elapsed = 0;
  is_lease_barred = false;
  sync_peers();
  term_start = log.last_index() + 1;
  note_role("a quorum voted for it");
  append(EntryType::noop, nullptr, std::nullopt);
}

// E1. The grant carries the term of the request, the refusal ours, so that a candidate that is behind catches up (S07).
void Core::Impl::on_pre_vote(const Message& m) {
  const bool is_term_free = m.term > term || (m.term == term && (vote.is_zero() || vote == m.from));
  const bool is_quiet = !hears_a_leader() || m.is_transfer;
  Message reply = message(MessageType::pre_vote_answer, m.from);
  reply.is_refused = !(is_term_free && is_quiet && !is_damaged && is_up_to_date(m));
  if (!reply.is_refused) reply.term = m.term;
  send(std::move(reply));
}

void Core::Impl::on_pre_vote_answer(const Message& m) {
  if (m.is_refused && m.term > term) return become_follower(m.term, {}, "a higher term was seen");
  const bool is_of_this_round = stage == Stage::pre_candidate && (m.is_refused || m.term == term + 1);
  if (!is_of_this_round) return;  // S10
  votes.emplace(m.from, !m.is_refused);
  count_votes();
}

// Raft §3.4. Anyone asked answers, also a learner or one who does not know the asker: it may know a newer membership
// (E5). A transfer lifts E2 and no other rule (S16).
void Core::Impl::on_vote(const Message& m) {
  Message reply = message(MessageType::vote_answer, m.from);
  if (m.term > term) {
    if (hears_a_leader() && !m.is_transfer) return;  // E2
    become_follower(m.term, {}, "somebody campaigns");
    reply.term = term;
  }
  const bool is_vote_free = vote.is_zero() || vote == m.from;
  const bool is_leaderless = leader.is_zero() || leader == m.from;
  reply.is_refused = m.term < term || !is_vote_free || !is_leaderless || is_damaged || !is_up_to_date(m);
  if (!reply.is_refused) {
    if (vote != m.from) set_hard_state(term, m.from);
    election_elapsed = 0;
  }
  send_when_durable(hard_state_write, std::move(reply));
}

void Core::Impl::on_vote_answer(const Message& m) {
  if (stage != Stage::candidate) return;
  votes.emplace(m.from, !m.is_refused);
  count_votes();
}

// Raft §3.10. A server that may not campaign by itself may not campaign here either (E4, S13).
void Core::Impl::on_timeout_now(const Message& m) {
  if (stage != Stage::follower || leader != m.from) return;
  if (!can_campaign()) {
    DROVER_REACH("told to campaign and may not");
    return;
  }
  ++counters.elections_started;
  start_election(true);
}

}  // namespace drover::raft
