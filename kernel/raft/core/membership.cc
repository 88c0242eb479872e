// Membership in force when appended, one change at a time, joint with automatic leave (Raft §4; section 9), and the
// transfer of leadership (Raft §3.10).
#include "storage/membership_bytes.h"

#include <algorithm>

#include "drover/result.h"
#include "kernel/raft/core/state.h"

namespace drover::raft {

const Membership& Core::Impl::committed_membership() const {
  const auto later = std::ranges::upper_bound(memberships, commit, {}, &Membership::index);
  return later == memberships.begin() ? memberships.front() : *std::prev(later);
}

bool Core::Impl::is_known(const NodeId& id) const {
  return std::ranges::any_of(memberships, [&](const Membership& one) { return is_member(one, id); });
}

// 9.2: takes effect when appended.
void Core::Impl::adopt(Membership membership) {
  memberships.push_back(std::move(membership));
  is_membership_new = true;
  if (is_leader()) sync_peers();
}

void Core::Impl::roll_back_memberships(Index from) {
  while (memberships.size() > 1 && memberships.back().index >= from) {
    DROVER_REACH("a membership rolled back");  // S45
    memberships.pop_back();
    is_membership_new = true;
  }
}

void Core::Impl::on(ChangeMembership& change) {
  if (!is_leader()) return resolve(change.token, Outcome::not_leader);
  if (transfer) return resolve(change.token, Outcome::busy, 0, "leadership is being transferred");
  const bool is_open = in_force().index > commit || !in_force().outgoing.empty();
  if (is_open) return resolve(change.token, Outcome::busy, 0, "another change is under way");
  if (!has_own_commit()) {  // 9.3 (S46)
    return resolve(change.token, Outcome::busy, 0, "no entry of this term is committed yet");
  }
  std::string why;
  std::optional<Membership> next = plan_change(in_force(), change.edits, why);
  if (!next) return resolve(change.token, Outcome::invalid, 0, std::move(why));
  next->index = log.last_index() + 1;
  append(EntryType::membership, std::make_shared<const std::string>(encode_membership(*next)), change.token);
  adopt(*std::move(next));
  advance_commit();  // the quorum may have become a smaller one
}

// Tells callers that their entries are committed, and forgets the memberships before the last committed one.
void Core::Impl::commit_to(Index index) {
  if (index <= commit) return;
  DROVER_CHECK(index <= log.last_index());  // I1
  commit = index;
  while (!proposed.empty() && proposed.front().index <= commit) {
    const Proposed& one = proposed.front();
    uncommitted_bytes -= one.bytes;
    if (one.token) resolve(*one.token, Outcome::committed, one.index);
    proposed.pop_front();
  }
  const auto later = std::ranges::upper_bound(memberships, commit, {}, &Membership::index);
  if (later - memberships.begin() > 1) memberships.erase(memberships.begin(), std::prev(later));
}

// While leading, after a commit: leaves the joint membership (9.3), and leadership if it is no voter any more (9.5).
void Core::Impl::finish_joint_membership() {
  if (!is_leader() || in_force().index > commit || !has_own_commit()) return;
  sync_peers();
  if (!in_force().outgoing.empty()) {
    if (transfer) return;  // whoever leads then proposes it
    Membership next{.index = log.last_index() + 1, .members = in_force().members};
    append(EntryType::membership, std::make_shared<const std::string>(encode_membership(next)), std::nullopt);
    adopt(std::move(next));
    return advance_commit();
  }
  if (is_voter(in_force(), config.id)) return;
  DROVER_REACH("a leader out of the membership");
  const std::optional<NodeId> successor = best_successor();
  if (successor && find_peer(*successor)->match == log.last_index()) send_timeout_now(*successor);
  become_follower(term, {}, "no voter any more");
}

// ---- transfer ----

// False for a server that only the outgoing half of a joint membership counts.
bool Core::Impl::is_to_stay_voter(const NodeId& id) const {
  const auto member = std::ranges::find(in_force().members, id, &Member::id);
  return member != in_force().members.end() && member->suffrage == Suffrage::voter;
}

// The voter that is furthest, among those heard within an election timeout.
std::optional<NodeId> Core::Impl::best_successor() const {
  const Progress* best = nullptr;
  for (const Progress& peer : peers) {
    const bool is_near = peer.ticks_since_contact < static_cast<uint64_t>(config.election_ticks);
    if (is_near && is_to_stay_voter(peer.id) && (!best || peer.match > best->match)) best = &peer;
  }
  return best ? std::optional(best->id) : std::nullopt;
}

void Core::Impl::on(TransferLeadership& request) {
  if (!is_leader()) return resolve(request.token, Outcome::not_leader);
  if (transfer) return resolve(request.token, Outcome::busy, 0, "leadership is being transferred already");
  const std::optional<NodeId> to = request.to.is_zero() ? best_successor() : request.to;
  if (!to) return resolve(request.token, Outcome::invalid, 0, "there is no other voter");
  if (*to == config.id) return resolve(request.token, Outcome::invalid, 0, "this server leads already");
  if (!is_to_stay_voter(*to)) {
    return resolve(request.token, Outcome::invalid, 0, "server " + to->short_string() + " is not a voter");
  }
  start_transfer(*to, request.token);
}

void Core::Impl::start_transfer(const NodeId& to, std::optional<uint64_t> token) {
  transfer = Transfer{.number = ++transfers_begun, .to = to, .token = token};
  continue_transfer();
}

// A leader whose disk hangs hands over and stays out until it is well; heartbeats of one that cannot write would freeze
// the cluster (S29), and so would those of one that cannot read entries that the others lack (S29e). With nobody to
// hand over to it stays: nobody would do better.
void Core::Impl::make_way() {
  if (!(is_storage_slow || is_log_unreadable) || transfer) return;
  if (const std::optional<NodeId> successor = best_successor()) start_transfer(*successor, std::nullopt);
}

// The target must have everything durably; `next` says only what was sent.
void Core::Impl::continue_transfer() {
  if (!is_leader() || !transfer || transfer->is_sent) return;
  const Progress* peer = find_peer(transfer->to);
  if (!peer || peer->match < log.last_index()) return;
  transfer->is_sent = true;
  send_timeout_now(transfer->to);
}

// From here on the followers' promise not to elect another is void, for as long as this message may be under way.
void Core::Impl::send_timeout_now(const NodeId& to) {
  is_lease_barred = true;
  send(message(MessageType::timeout_now, to));
}

// Gives a transfer up after an election timeout. A leader that cannot write or read steps down all the same. One that
// cannot read may be the only electable server and may be able to later: it lets the others go first, and no more.
void Core::Impl::tick_transfer() {
  if (!transfer || ++transfer->elapsed < config.election_ticks) return;
  DROVER_REACH("a transfer given up");
  std::erase_if(out.send, [](const Message& one) { return one.type == MessageType::timeout_now; });  // not sent yet
  finish_transfer(Outcome::uncertain);
  if (!is_leader()) return;
  if (is_storage_slow) return become_follower(term, {}, "its disk hangs");
  if (is_log_unreadable) {
    become_follower(term, {}, "its log cannot be read");
    election_timeout += 2 * config.election_ticks;
    return;
  }
  finish_joint_membership();
}

void Core::Impl::finish_transfer(Outcome outcome) {
  if (transfer->token) resolve(*transfer->token, outcome);
  transfer.reset();
}

}  // namespace drover::raft
