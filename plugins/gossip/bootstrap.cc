#include "bootstrap.h"

#include <algorithm>

namespace drover::gossip {
namespace {

using Kind = BootstrapDecision::Kind;

const Member* find(const std::vector<Member>& members, const Uuid& id) {
  const auto at = std::ranges::find_if(members, [&](const Member& member) { return member.info.id == id; });
  return at == members.end() ? nullptr : &*at;
}

bool is_candidate(const Member& member, const Member& self) {
  return member.state == State::alive && member.info.region == self.info.region && member.info.bootstrap_expect > 1;
}

// True when all voters are still there, at the same addresses.
bool still_hold(const std::vector<RaftServer>& voters, const std::vector<Member>& members, const Member& self) {
  return std::ranges::all_of(voters, [&](const RaftServer& voter) {
    const Member* member = find(members, voter.id);
    return member && (is_candidate(*member, self) || member->state == State::suspect) &&
           member->info.rpc_address == voter.address;
  });
}

}  // namespace

uint64_t digest(const std::vector<RaftServer>& voters) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto mix = [&](std::string_view bytes) {
    for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  };
  for (const RaftServer& voter : voters) {
    mix(voter.id.bytes());
    mix(voter.address);
    mix(std::string_view("\0", 1));
  }
  return hash == 0 ? 1 : hash;
}

BootstrapDecision decide_bootstrap(const Member& self, const std::vector<Member>& members,
                                   const std::vector<RaftServer>& announced) {
  const int expect = self.info.bootstrap_expect;
  if (expect <= 1 || !self.info.cluster_id.is_zero()) return {.kind = Kind::never};
  std::vector<RaftServer> candidates;
  bool has_begun = false;  // one of the list has, with the same list: all do, whoever is there still
  for (const Member& member : members) {
    if (member.info.region != self.info.region || member.state == State::left) continue;
    if (!member.info.cluster_id.is_zero()) {
      if (announced.empty() || member.proposal != digest(announced))
        return {.kind = Kind::never, .detail = member.info.name + " is part of a cluster"};
      has_begun = true;
    }
    if (!is_candidate(member, self)) continue;
    if (member.info.bootstrap_expect != expect) {
      return {.kind = Kind::disagree,
              .detail = self.info.name + " has bootstrap_expect = " + std::to_string(expect) + ", " + member.info.name +
                        " has bootstrap_expect = " + std::to_string(member.info.bootstrap_expect)};
    }
    candidates.push_back({.id = member.info.id, .address = member.info.rpc_address});
  }
  std::vector<RaftServer> voters = announced;
  if (voters.empty() || (!has_begun && !still_hold(voters, members, self))) {
    if (candidates.size() < static_cast<size_t>(expect)) return {};
    std::ranges::sort(candidates, {}, &RaftServer::id);
    candidates.resize(static_cast<size_t>(expect));
    voters = std::move(candidates);
  }
  const bool is_one = std::ranges::any_of(voters, [&](const RaftServer& voter) { return voter.id == self.info.id; });
  if (!is_one) return {};  // the others begin; this server is added
  const uint64_t proposal = digest(voters);
  const bool all_agree = std::ranges::all_of(voters, [&](const RaftServer& voter) {
    const Member* member = find(members, voter.id);
    return member && member->proposal == proposal;
  });
  return {
      .kind = all_agree || has_begun ? Kind::begin : Kind::announce, .proposal = proposal, .voters = std::move(voters)};
}

}  // namespace drover::gossip
