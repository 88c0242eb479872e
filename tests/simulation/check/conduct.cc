#include "tests/simulation/check/conduct.h"

#include <algorithm>
#include <functional>

namespace drover::simulation {
namespace {

using raft::MessageType;

// True when the servers of which `is_true` holds are a quorum, in both halves of a joint membership.
bool is_quorum(const raft::Membership& membership, const std::function<bool(raft::NodeId)>& is_true) {
  size_t voters = 0, found = 0;
  for (const raft::Member& member : membership.members) {
    if (member.suffrage != raft::Suffrage::voter) continue;
    ++voters;
    found += is_true(member.id);
  }
  const auto old = static_cast<size_t>(std::ranges::count_if(membership.outgoing, is_true));
  return 2 * found > voters && (membership.outgoing.empty() || 2 * old > membership.outgoing.size());
}

bool is_quorum_of_one(const std::vector<raft::Membership>& memberships,
                      const std::function<bool(raft::NodeId)>& is_true) {
  return std::ranges::any_of(memberships, [&](const raft::Membership& one) { return is_quorum(one, is_true); });
}

bool is_voter(const raft::Membership& membership, raft::NodeId id) {
  return std::ranges::any_of(membership.members, [&](const raft::Member& member) {
    return member.id == id && member.suffrage == raft::Suffrage::voter;
  });
}

}  // namespace

void Conduct::fail(const char* rule, int server, const std::string& what) {
  invariants_.fail(rule, "n" + std::to_string(server) + " " + what);
}

bool Conduct::hears_a_leader(const Server& self, const raft::CoreStatus& status) const {
  if (status.role == raft::Role::leader) return true;
  const auto timeout = static_cast<int>(configuration_.election_ticks);
  if (configuration_.lease_reads != 0 && self.ticks_since_start < timeout) return true;
  return !status.leader.is_zero() && self.ticks_since_leader < timeout;
}

// ---- inputs ----

void Conduct::before(int server, const raft::Input& input, const raft::CoreStatus& status) {
  Server& self = servers_[static_cast<size_t>(server)];
  ++time_;
  self.must_stay = 0;
  self.old_news.reset();
  self.is_tick = std::holds_alternative<raft::Tick>(input);
  if (self.is_tick) {
    ++self.ticks_since_leader;
    ++self.ticks_since_start;
  } else if (const auto* slow = std::get_if<raft::StorageSlow>(&input)) {
    self.is_slow = slow->is_slow;
  } else if (const auto* read = std::get_if<raft::ReadIndex>(&input)) {
    if (status.role == raft::Role::leader) self.asked[read->token] = time_;
  } else if (const auto* received = std::get_if<raft::Receive>(&input)) {
    receive(self, received->message, status);
  }
}

void Conduct::receive(Server& self, const raft::Message& m, const raft::CoreStatus& status) {
  switch (m.type) {
    case MessageType::append:
    case MessageType::heartbeat:
      if (m.term >= status.term && m.round != kMalformed) self.ticks_since_leader = 0;
      break;
    case MessageType::vote:
      if (m.term > status.term && !m.is_transfer && hears_a_leader(self, status)) self.must_stay = status.term;
      break;
    case MessageType::pre_vote:
      if (m.is_transfer || !hears_a_leader(self, status)) ++self.grantable[{m.from, m.term}];
      break;
    case MessageType::heartbeat_answer:
      if (m.term == status.term && status.role == raft::Role::leader) {
        const auto round = self.rounds.find(m.round);
        if (round != self.rounds.end()) self.heard[m.from] = std::max(self.heard[m.from], round->second);
      }
      break;
    case MessageType::append_answer:
      if (m.is_refused && !m.is_damaged && m.term == status.term) {
        const auto peer = std::ranges::find(status.peers, m.from, &raft::PeerStatus::id);
        if (peer != status.peers.end() && m.log_index <= peer->match) self.old_news = *peer;
      }
      break;
    case MessageType::pre_vote_answer:
      if (!m.is_refused) self.pre_votes.emplace(m.term, m.from);
      break;
    case MessageType::read_index:
      self.passed_on.try_emplace({m.from, m.round}, time_);  // it may come twice
      break;
    default:
      break;
  }
}

void Conduct::after(int server, const raft::CoreStatus& status, const raft::Membership& membership) {
  Server& self = servers_[static_cast<size_t>(server)];
  if (self.memberships.empty() || self.memberships.back().index != membership.index)
    self.memberships.push_back(membership);
  if (self.must_stay != 0 && status.term != self.must_stay)
    fail("stickiness", server, "hears a leader and lets a candidate raise its term to " + std::to_string(status.term));
  if (self.old_news) {
    const auto peer = std::ranges::find(status.peers, self.old_news->id, &raft::PeerStatus::id);
    if (peer != status.peers.end() && (peer->state != self.old_news->state || peer->next != self.old_news->next))
      fail("replication", server, "goes back for a refusal that was overtaken");
  }
  if (self.is_tick && status.role == raft::Role::leader) lead(server, status, membership);
}

// ---- effects ----

void Conduct::effects(int server, const raft::Effects& effects, const raft::CoreStatus& status,
                      const raft::Membership& membership, bool is_installing) {
  Server& self = servers_[static_cast<size_t>(server)];
  const raft::Term handed_over = self.handed_over_in;
  for (const raft::Message& message : effects.send) {
    if (message.type == MessageType::heartbeat) self.rounds.try_emplace(message.round, time_);
  }
  for (const raft::Message& message : effects.send) send(server, message, status, membership);
  if (effects.write) write(server, *effects.write, status);
  for (const raft::ReadReady& ready : effects.reads) {
    const auto asked = self.asked.find(ready.token);
    if (asked == self.asked.end()) continue;
    if (ready.outcome == raft::Outcome::committed)
      check_round(server, asked->second, handed_over != status.term, membership);
    self.asked.erase(asked);
  }
  if (is_installing && effects.apply_to != 0) fail("install", server, "applies while it installs a snapshot");
  if (self.memberships.size() > 1) self.memberships = {membership};
  self.was_slow = self.is_slow;
  self.transfer = status.transfer;
}

void Conduct::send(int server, const raft::Message& m, const raft::CoreStatus& status,
                   const raft::Membership& membership) {
  Server& self = servers_[static_cast<size_t>(server)];
  switch (m.type) {
    case MessageType::pre_vote_answer:
      if (!m.is_refused && self.grantable[{m.to, m.term}]-- == 0)
        fail("stickiness", server, "hears a leader and grants a pre-vote");
      break;
    case MessageType::pre_vote:
    case MessageType::vote:
      if (self.was_slow && self.is_slow) fail("campaigns", server, "campaigns while its disk is slow");
      if (m.type == MessageType::vote && !m.is_transfer) check_pre_vote(server, m.term, membership);
      if (m.type == MessageType::vote && status.role == raft::Role::candidate && !invariants_.is_log_durable(server))
        fail("campaigns", server, "campaigns with a log that is not on its disk");
      break;
    case MessageType::timeout_now:
      self.handed_over_in = m.term;
      if (status.role == raft::Role::leader && !invariants_.is_past(m.to, m.term) &&
          !invariants_.has_all_of(m.to, server))
        fail("transfer", server, "hands leadership to a server that lacks entries");
      break;
    case MessageType::read_index_answer:
      if (const auto asked = self.passed_on.extract({m.to, m.round}); !asked.empty() && !m.is_refused)
        check_round(server, asked.mapped(), false, membership);
      break;
    default:
      break;
  }
}

void Conduct::check_pre_vote(int server, raft::Term term, const raft::Membership& membership) {
  const Server& self = servers_[static_cast<size_t>(server)];
  const auto would_vote = [&](raft::NodeId id) {
    return id == invariants_.id(server) || self.pre_votes.contains({term, id});
  };
  if (!is_quorum(membership, would_vote) && !is_quorum_of_one(self.memberships, would_vote))
    fail("campaigns", server, "campaigns in term " + std::to_string(term) + " unasked");
}

void Conduct::write(int server, const raft::LogWrite& write, const raft::CoreStatus& status) {
  if (status.role != raft::Role::leader) return;
  const Server& self = servers_[static_cast<size_t>(server)];
  const bool still_transfers = status.transfer != 0 && self.transfer == status.transfer;
  for (const raft::Entry& entry : write.entries) {
    if (entry.term != status.term) continue;
    if (still_transfers && entry.type == raft::EntryType::command)
      return fail("transfer", server, "takes a command while it hands leadership over");
    if (entry.type == raft::EntryType::membership && !invariants_.is_of_term(server, status.commit_index, status.term))
      return fail("membership", server, "changes the membership before an entry of its term is committed");
  }
}

void Conduct::lead(int server, const raft::CoreStatus& status, const raft::Membership& membership) {
  const raft::NodeId self = invariants_.id(server);
  const auto is_heard = [&](raft::NodeId id) {
    if (id == self) return true;
    const auto peer = std::ranges::find(status.peers, id, &raft::PeerStatus::id);
    return peer != status.peers.end() &&
           peer->ticks_since_contact <= static_cast<uint64_t>(configuration_.election_ticks);
  };
  if (!is_quorum(membership, is_heard)) fail("check quorum", server, "leads without having heard from a quorum");
  const bool is_settled = membership.index <= status.commit_index && membership.outgoing.empty();
  if (is_settled && !is_voter(membership, self)) fail("membership", server, "leads and is no voter any more");
}

void Conduct::check_round(int server, uint64_t since, bool may_be_lease, const raft::Membership& membership) {
  const Server& self = servers_[static_cast<size_t>(server)];
  if (may_be_lease && configuration_.lease_reads != 0) return;
  const raft::NodeId own = invariants_.id(server);
  const auto has_answered = [&](raft::NodeId id) {
    const auto heard = self.heard.find(id);
    return id == own || (heard != self.heard.end() && heard->second >= since);
  };
  // Between two effects the membership may have changed, and back again: by the one that was in force.
  if (!is_quorum(membership, has_answered) && !is_quorum_of_one(self.memberships, has_answered))
    fail("read rounds", server, "confirms a read by heartbeats from before it was asked for");
}

}  // namespace drover::simulation
