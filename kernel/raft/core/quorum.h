// Majorities and joint majorities, pure (Raft §4.3: while joint, both halves must agree, each by itself).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernel/raft/core/core.h"
#include "storage/types.h"

namespace drover::raft {

enum class VoteResult : uint8_t { pending, won, lost };

// The voters of one half each; the second is empty unless joint.
struct Halves {
  explicit Halves(const Membership& membership);
  std::vector<NodeId> incoming;
  std::vector<NodeId> outgoing;
};

bool is_voter(const Membership& membership, const NodeId& id);  // in either half
bool is_member(const Membership& membership, const NodeId& id);
std::vector<NodeId> all_voters(const Membership& membership);   // of both halves, each once, sorted
std::vector<NodeId> all_members(const Membership& membership);  // with learners, each once, sorted

// The largest number that a quorum has reached; 0 without voters.
uint64_t quorum_value(const Membership& membership, const std::function<uint64_t(const NodeId&)>& value_of);
// Lost when no quorum can be reached any more, or there is no voter.
VoteResult vote_result(const Membership& membership, const std::function<std::optional<bool>(const NodeId&)>& vote_of);

// The membership that `edits` make of `now`: joint unless the voters differ by at most one. Index is left zero.
// Nothing when they make no sense; `why` says it.
std::optional<Membership> plan_change(const Membership& now, const std::vector<MemberEdit>& edits, std::string& why);

}  // namespace drover::raft
