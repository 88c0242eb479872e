#include "tests/simulation/check/invariants.h"

#include <algorithm>
#include <utility>

#include "storage/segment_format.h"
#include "tests/simulation/world/random.h"

namespace drover::simulation {
namespace {

using raft::Index;
using raft::Term;

uint64_t hash_of(const raft::Entry& entry) { return hash_text(entry.bytes(), static_cast<uint64_t>(entry.type)); }

std::string at(Index index, Term term) { return "entry " + std::to_string(index) + " of term " + std::to_string(term); }

std::vector<raft::NodeId> voters(const raft::Membership& membership) {
  std::vector<raft::NodeId> ids;
  for (const raft::Member& member : membership.members) {
    if (member.suffrage == raft::Suffrage::voter) ids.push_back(member.id);
  }
  std::ranges::sort(ids);
  return ids;
}

// The members that edits make of these.
std::vector<raft::Member> edited(std::vector<raft::Member> members, const std::vector<raft::MemberEdit>& edits) {
  for (const raft::MemberEdit& edit : edits) {
    std::erase_if(members, [&](const raft::Member& member) { return member.id == edit.id; });
    if (edit.kind == raft::MemberEdit::Kind::remove) continue;
    const bool is_voter = edit.kind == raft::MemberEdit::Kind::add_voter;
    members.push_back({.id = edit.id, .suffrage = is_voter ? raft::Suffrage::voter : raft::Suffrage::learner});
  }
  return members;
}

bool are_same(std::vector<raft::Member> a, std::vector<raft::Member> b) {
  std::ranges::sort(a, {}, &raft::Member::id);
  std::ranges::sort(b, {}, &raft::Member::id);
  return std::ranges::equal(a, b, [](const raft::Member& one, const raft::Member& other) {
    return one.id == other.id && one.suffrage == other.suffrage;
  });
}

}  // namespace

void Invariants::fail(std::string_view property, std::string what) {
  if (is_broken()) return;
  breach_ = {std::string(property), std::move(what)};
}

void Invariants::introduce(int server, raft::NodeId id) { shadows_[static_cast<size_t>(server)].id = id; }

bool Invariants::is_behind(int server, const raft::LogState& state, Index snapshot) const {
  const Shadow& shadow = shadows_[static_cast<size_t>(server)];
  return std::max(state.last_index, snapshot) < shadow.durable || has_forgotten(server, state.hard_state);
}

bool Invariants::has_forgotten(int server, const raft::HardState& found) const {
  const raft::HardState& kept = shadows_[static_cast<size_t>(server)].confirmed;
  return found.term < kept.term || (found.term == kept.term && !kept.vote.is_zero() && found.vote != kept.vote);
}

void Invariants::remembers(int server, const raft::HardState& found) {
  if (has_forgotten(server, found))
    fail("durability", name(server) + " forgets its term or its vote with a part of its log");
}

void Invariants::started(int server, const raft::LogState& state, const std::vector<raft::Entry>& entries,
                         Index snapshot, bool has_lost) {
  Shadow& shadow = shadows_[static_cast<size_t>(server)];
  const auto lost = [&](const std::string& what) {
    if (!has_lost) fail("durability", name(server) + " restarts without " + what + ", which its device had confirmed");
  };
  if (is_behind(server, state, snapshot)) {
    lost("entry " + std::to_string(shadow.durable) + ", term " + std::to_string(shadow.confirmed.term) +
         " or its vote in it");
  }
  for (const raft::Entry& entry : entries) {
    const Item* item = shadow.find(entry.index);
    if (item == nullptr || entry.index > shadow.durable) continue;
    if (*item != Item{entry.term, hash_of(entry)}) lost(at(entry.index, item->term));
  }
  if (has_lost) shadow.lost = std::max(shadow.lost, shadow.durable);
  shadow.first = state.first_index;
  shadow.items.clear();
  shadow.unwritten.clear();
  for (const raft::Entry& entry : entries) shadow.items.push_back({entry.term, hash_of(entry)});
  shadow.durable = shadow.last();
  shadow.submitted = shadow.confirmed = state.hard_state;
  shadow.is_up = true;
  shadow.leads_in = shadow.term = 0;
  shadow.commit = shadow.applied = snapshot;
}

void Invariants::started_unseen(int server, Index snapshot) {
  Shadow& shadow = shadows_[static_cast<size_t>(server)];
  shadow.is_up = shadow.is_unseen = true;
  shadow.term = shadow.leads_in = 0;
  shadow.applied = snapshot;
}

void Invariants::append(int server, const raft::Entry& entry, Term former_term) {
  const Known known{hash_of(entry), former_term};
  const auto [found, is_new] = entries_.try_emplace(scatter(entry.index) ^ scatter(~entry.term), known);
  if (!is_new && (found->second.hash != known.hash || found->second.former_term != former_term))
    fail("log matching", name(server) + " has another " + at(entry.index, entry.term) + " than an earlier one");
}

void Invariants::submitted(int server, const raft::LogWrite& write, bool is_leader) {
  Shadow& shadow = shadows_[static_cast<size_t>(server)];
  if (write.start_over) {
    shadow.items.clear();
    shadow.first = write.first_index;
    shadow.durable = std::min(shadow.durable, write.first_index - 1);
    for (Unwritten& former : shadow.unwritten) former.last = 0;
  } else if (write.truncate_from != 0) {
    if (is_leader && write.truncate_from <= shadow.last())
      fail("leader append-only", name(server) + " leads and cuts its log at " + std::to_string(write.truncate_from));
    if (write.truncate_from <= shadow.commit)
      fail("durability", name(server) + " cuts its log at " + std::to_string(write.truncate_from) +
                             ", its commit index is " + std::to_string(shadow.commit));
    while (!shadow.items.empty() && shadow.last() >= write.truncate_from) shadow.items.pop_back();
    shadow.durable = std::min(shadow.durable, write.truncate_from - 1);
    for (Unwritten& former : shadow.unwritten) former.last = std::min(former.last, write.truncate_from - 1);
  }
  for (const raft::Entry& entry : write.entries) {
    if (entry.index != shadow.last() + 1) {
      return fail("log matching", name(server) + " appends " + at(entry.index, entry.term) + " to a log that ends at " +
                                      std::to_string(shadow.last()));
    }
    const Item* former = shadow.find(entry.index - 1);
    if (former != nullptr || entry.index == 1) append(server, entry, former != nullptr ? former->term : 0);
    shadow.items.push_back({entry.term, hash_of(entry)});
  }
  if (write.hard_state) {
    const raft::HardState& next = *write.hard_state;
    const raft::HardState& now = shadow.submitted;
    if (next.term < now.term || (next.term == now.term && !now.vote.is_zero() && next.vote != now.vote))
      fail("election safety", name(server) + " changes its vote in term " + std::to_string(next.term));
    shadow.submitted = next;
  }
  shadow.unwritten.push_back({write.write_seq, shadow.last(), shadow.submitted});
}

void Invariants::written(int server, uint64_t write_seq) {
  Shadow& shadow = shadows_[static_cast<size_t>(server)];
  if (!shadow.is_up) return;  // what it writes while it starts counts once it has started
  while (!shadow.unwritten.empty() && shadow.unwritten.front().write_seq <= write_seq) {
    shadow.durable = std::max(shadow.durable, shadow.unwritten.front().last);
    shadow.confirmed = shadow.unwritten.front().hard_state;
    shadow.unwritten.pop_front();
  }
}

// Section 3 of the protocol: which messages may leave before the disk has confirmed what they promise.
void Invariants::sending(int server, const raft::Message& message) {
  Shadow& shadow = shadows_[static_cast<size_t>(server)];
  if (message.is_refused) return;
  if (message.type == raft::MessageType::vote_answer) {
    const bool is_kept = shadow.confirmed.term == message.term && shadow.confirmed.vote == message.to;
    if (!is_kept && !shadow.is_unseen)
      fail("promise",
           name(server) + " grants a vote in term " + std::to_string(message.term) + " that its disk does not hold");
    const auto [vote, is_first] = shadow.votes.emplace(message.term, message.to);
    if (!is_first && vote->second != message.to)
      fail("election safety", name(server) + " votes twice in term " + std::to_string(message.term));
  }
  const bool leads = message.type == raft::MessageType::append || message.type == raft::MessageType::heartbeat;
  if (leads && shadow.leads_in != message.term) this->leads(server, message.term);
  if (message.type == raft::MessageType::append_answer && message.log_index > shadow.durable && !shadow.is_unseen)
    fail("promise", name(server) + " acknowledges entry " + std::to_string(message.log_index) + ", its disk holds " +
                        std::to_string(shadow.durable));
}

void Invariants::leads(int server, Term term) {
  Shadow& shadow = shadows_[static_cast<size_t>(server)];
  shadow.leads_in = term;
  const auto [leader, is_first] = leaders_.emplace(term, server);
  if (!is_first && leader->second != server)
    fail("election safety", name(server) + " and " + name(leader->second) + " both lead term " + std::to_string(term));
  if (shadow.is_unseen) return;
  for (Index index = shadow.first; index <= committed_.size(); ++index) {
    const Committed& entry = committed_[index - 1];
    if (entry.item.term == 0 || entry.in_term >= term) continue;
    const Item* item = shadow.find(index);
    if (item != nullptr && *item == entry.item) continue;
    return fail("leader completeness", name(server) + " leads term " + std::to_string(term) + " without " +
                                           at(index, entry.item.term) + ", committed in term " +
                                           std::to_string(entry.in_term));
  }
}

void Invariants::stepped(int server, const raft::CoreStatus& status, const raft::Membership& membership) {
  Shadow& shadow = shadows_[static_cast<size_t>(server)];
  const auto went_back = [&](const char* what, uint64_t from, uint64_t to) {
    fail("monotonic", name(server) + ": " + what + " goes from " + std::to_string(from) + " to " + std::to_string(to));
  };
  if (status.term < shadow.term) went_back("the term", shadow.term, status.term);
  if (status.commit_index < shadow.commit) went_back("the commit index", shadow.commit, status.commit_index);
  shadow.term = status.term;
  const bool is_leader = leads_in(server, status);
  if (status.commit_index > shadow.commit) commit(server, status.commit_index, is_leader, status.term, membership);
}

bool Invariants::has_on_disk(raft::NodeId id, Index index, const Item& item) const {
  const auto shadow = std::ranges::find(shadows_, id, &Shadow::id);
  if (shadow != shadows_.end() && index <= shadow->lost) return true;
  if (shadow == shadows_.end() || shadow->durable < index) return false;
  if (index < shadow->first) return true;  // in its snapshot
  const Item* held = shadow->find(index);
  return held != nullptr && *held == item;
}

bool Invariants::has_all_of(raft::NodeId holder, int server) const {
  const Shadow& shadow = shadows_[static_cast<size_t>(server)];
  const Item* last = shadow.find(shadow.last());
  return last == nullptr || has_on_disk(holder, shadow.last(), *last);
}

bool Invariants::is_past(raft::NodeId id, Term term) const {
  const auto shadow = std::ranges::find(shadows_, id, &Shadow::id);
  return shadow != shadows_.end() && shadow->submitted.term > term;
}

bool Invariants::is_on_quorum(const raft::Membership& membership, Index index, const Item& item) const {
  const auto holds = [&](const std::vector<raft::NodeId>& half) {
    const auto holders = std::ranges::count_if(half, [&](raft::NodeId id) { return has_on_disk(id, index, item); });
    return static_cast<size_t>(holders) * 2 > half.size();
  };
  return holds(voters(membership)) && (membership.outgoing.empty() || holds(membership.outgoing));
}

void Invariants::commit(int server, Index index, bool is_leader, Term term, const raft::Membership& membership) {
  Shadow& shadow = shadows_[static_cast<size_t>(server)];
  if (committed_.size() < index) committed_.resize(index);
  for (Index i = std::max(shadow.commit + 1, shadow.first); i <= index; ++i) {
    const Item* item = shadow.find(i);
    Committed& known = committed_[i - 1];
    if (item == nullptr) {
      return fail("commitment", name(server) + " commits entry " + std::to_string(i) + ", which is not in its log");
    }
    if (known.item.term == 0) {
      if (!is_leader)
        return fail("commitment", name(server) + " takes " + at(i, item->term) + " for committed, no leader did");
      known = {*item, term};
    } else if (known.item != *item) {
      return fail("state machine safety",
                  name(server) + " commits " + at(i, item->term) + ", committed was " + at(i, known.item.term));
    }
  }
  shadow.commit = index;
  if (!is_leader) return;
  const Item* newest = shadow.find(index);
  if (newest == nullptr) return;
  if (newest->term != term)
    fail("commitment", name(server) + " leads term " + std::to_string(term) + " and commits " +
                           at(index, newest->term) + " by counting");
  if (!is_on_quorum(membership, index, *newest))
    fail("commitment", name(server) + " commits " + at(index, newest->term) + ", which no quorum has on disk");
}

void Invariants::may_apply(int server, Index upto, bool is_leader) {
  const Shadow& shadow = shadows_[static_cast<size_t>(server)];
  if (!is_leader && upto > shadow.durable)
    fail("promise", name(server) + " follows and would apply entry " + std::to_string(upto) + ", its disk holds " +
                        std::to_string(shadow.durable));
}

void Invariants::applied(int server, const raft::Entry& entry) {
  Shadow& shadow = shadows_[static_cast<size_t>(server)];
  if (entry.index != shadow.applied + 1)
    fail("monotonic",
         name(server) + " applies entry " + std::to_string(entry.index) + " after " + std::to_string(shadow.applied));
  shadow.applied = entry.index;
  if (entry.index > shadow.commit && !shadow.is_unseen)
    fail("state machine safety", name(server) + " applies entry " + std::to_string(entry.index) +
                                     " beyond its commit index " + std::to_string(shadow.commit));
  if (applied_.size() < entry.index) applied_.resize(entry.index);
  Item& known = applied_[entry.index - 1];
  const Item item{entry.term, hash_of(entry)};
  if (known.term == 0) {
    known = item;
    if (entry.type == raft::EntryType::membership) {
      Result<raft::Membership> membership = raft::decode_membership(entry.bytes());
      if (!membership.ok()) return fail("membership", membership.status().message());
      membership->index = entry.index;
      check_membership(*membership);
    }
  } else if (known != item) {
    fail("state machine safety", name(server) + " applies " + at(entry.index, entry.term) +
                                     ", another server applied " + at(entry.index, known.term) +
                                     (known.term == entry.term ? " with other bytes" : ""));
  }
}

void Invariants::installed(int server, Index index) {
  Shadow& shadow = shadows_[static_cast<size_t>(server)];
  if (index < shadow.applied)
    fail("monotonic", name(server) + " installs a snapshot at " + std::to_string(index) + " over applied " +
                          std::to_string(shadow.applied));
  shadow.applied = index;
  shadow.commit = std::max(shadow.commit, index);
}

// The next committed membership: a requested change of the one before, directly or as a joint one, or the end of a
// joint one.
void Invariants::check_membership(const raft::Membership& next) {
  const auto later = memberships_.upper_bound(next.index);
  if (later == memberships_.begin()) {
    memberships_[next.index] = next;  // the first one
    return;
  }
  const raft::Membership& now = std::prev(later)->second;
  const std::string where = "at entry " + std::to_string(next.index);
  const auto is_requested = [&] {
    return std::ranges::any_of(requests_,
                               [&](const auto& edits) { return are_same(edited(now.members, edits), next.members); });
  };
  if (!now.outgoing.empty()) {
    if (!next.outgoing.empty() || !are_same(now.members, next.members))
      fail("membership", where + ": a joint membership is not followed by its own end");
  } else if (!is_requested()) {
    fail("membership", where + ": nobody asked for this change");
  } else if (next.outgoing.empty()) {
    const std::vector<raft::NodeId> before = voters(now), after = voters(next);
    std::vector<raft::NodeId> moved;
    std::ranges::set_symmetric_difference(before, after, std::back_inserter(moved));
    if (moved.size() > 1) fail("membership", where + ": more than one voter changes without a joint membership");
    if (after.empty()) fail("membership", where + ": no voter is left");
  } else {
    std::vector<raft::NodeId> outgoing = next.outgoing;
    std::ranges::sort(outgoing);
    if (outgoing != voters(now)) fail("membership", where + ": the outgoing half is not the former membership");
  }
  memberships_[next.index] = next;
}

void Invariants::read(int server, Index index, Index floor) {
  if (index < floor)
    fail("reads", name(server) + " serves a read at " + std::to_string(index) + ", before it was asked for " +
                      std::to_string(floor) + " had been acknowledged");
}

}  // namespace drover::simulation
