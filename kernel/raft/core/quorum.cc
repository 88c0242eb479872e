#include "kernel/raft/core/quorum.h"

#include <algorithm>

namespace drover::raft {
namespace {

uint64_t majority_value(const std::vector<NodeId>& voters, const std::function<uint64_t(const NodeId&)>& value_of) {
  if (voters.empty()) return 0;
  std::vector<uint64_t> values;
  values.reserve(voters.size());
  for (const NodeId& id : voters) values.push_back(value_of(id));
  // n/2+1 have it: in descending order the one at n/2.
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2), std::greater<>());
  return values[values.size() / 2];
}

VoteResult majority_vote(const std::vector<NodeId>& voters,
                         const std::function<std::optional<bool>(const NodeId&)>& vote_of) {
  size_t granted = 0;
  size_t refused = 0;
  for (const NodeId& id : voters) {
    const std::optional<bool> vote = vote_of(id);
    if (vote) ++(*vote ? granted : refused);
  }
  const size_t needed = voters.size() / 2 + 1;
  if (granted >= needed) return VoteResult::won;
  return voters.size() - refused < needed ? VoteResult::lost : VoteResult::pending;
}

std::vector<NodeId> sorted_once(std::vector<NodeId> ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Member* find_member(Membership& membership, const NodeId& id) {
  const auto found = std::ranges::find(membership.members, id, &Member::id);
  return found == membership.members.end() ? nullptr : &*found;
}

}  // namespace

Halves::Halves(const Membership& membership) : outgoing(membership.outgoing) {
  for (const Member& member : membership.members) {
    if (member.suffrage == Suffrage::voter) incoming.push_back(member.id);
  }
}

bool is_voter(const Membership& membership, const NodeId& id) {
  return std::ranges::any_of(membership.members,
                             [&](const Member& m) { return m.id == id && m.suffrage == Suffrage::voter; }) ||
         std::ranges::find(membership.outgoing, id) != membership.outgoing.end();
}

bool is_member(const Membership& membership, const NodeId& id) {
  return std::ranges::find(membership.members, id, &Member::id) != membership.members.end() ||
         std::ranges::find(membership.outgoing, id) != membership.outgoing.end();
}

std::vector<NodeId> all_voters(const Membership& membership) {
  std::vector<NodeId> ids = membership.outgoing;
  for (const Member& member : membership.members) {
    if (member.suffrage == Suffrage::voter) ids.push_back(member.id);
  }
  return sorted_once(std::move(ids));
}

std::vector<NodeId> all_members(const Membership& membership) {
  std::vector<NodeId> ids = membership.outgoing;
  for (const Member& member : membership.members) ids.push_back(member.id);
  return sorted_once(std::move(ids));
}

uint64_t quorum_value(const Membership& membership, const std::function<uint64_t(const NodeId&)>& value_of) {
  const Halves halves(membership);
  const uint64_t incoming = majority_value(halves.incoming, value_of);
  return halves.outgoing.empty() ? incoming : std::min(incoming, majority_value(halves.outgoing, value_of));
}

VoteResult vote_result(const Membership& membership, const std::function<std::optional<bool>(const NodeId&)>& vote_of) {
  const Halves halves(membership);
  const VoteResult incoming = majority_vote(halves.incoming, vote_of);
  if (halves.outgoing.empty()) return incoming;
  const VoteResult outgoing = majority_vote(halves.outgoing, vote_of);
  if (incoming == VoteResult::lost || outgoing == VoteResult::lost) return VoteResult::lost;
  return incoming == VoteResult::won && outgoing == VoteResult::won ? VoteResult::won : VoteResult::pending;
}

std::optional<Membership> plan_change(const Membership& now, const std::vector<MemberEdit>& edits, std::string& why) {
  Membership next{.members = now.members};
  std::vector<NodeId> edited;
  for (const MemberEdit& edit : edits) {
    const std::string name = "server " + edit.id.short_string();
    if (edit.id.is_zero()) return why = "a server without an identifier", std::nullopt;
    if (std::ranges::find(edited, edit.id) != edited.end()) return why = name + " is named twice", std::nullopt;
    edited.push_back(edit.id);
    Member* member = find_member(next, edit.id);
    if (edit.kind == MemberEdit::Kind::remove) {
      if (!member) return why = name + " is not a member", std::nullopt;
      std::erase_if(next.members, [&](const Member& m) { return m.id == edit.id; });
      continue;
    }
    if (!member) member = &next.members.emplace_back(Member{.id = edit.id});
    member->suffrage = edit.kind == MemberEdit::Kind::add_voter ? Suffrage::voter : Suffrage::learner;
    if (!edit.address.empty()) member->address = edit.address;
    if (member->address.size() > UINT16_MAX) return why = "the address of " + name + " is too long", std::nullopt;
  }
  if (next.members == now.members) return why = "nothing would change", std::nullopt;
  const std::vector<NodeId> before = all_voters(now);
  const std::vector<NodeId> after = all_voters(next);
  if (after.empty()) return why = "the last voter cannot be removed or demoted", std::nullopt;
  std::vector<NodeId> different;
  std::ranges::set_symmetric_difference(before, after, std::back_inserter(different));
  if (different.size() > 1) next.outgoing = before;  // Raft §4.3
  return next;
}

}  // namespace drover::raft
