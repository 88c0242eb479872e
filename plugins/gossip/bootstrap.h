// How servers that were told a number, and nothing else, begin one cluster together.
//
// Each server that sees as many candidates as it was told to expect announces with which of them it would begin: the
// first by identifier. It keeps to that while all of them are there. When all of the list announce the same list, each
// begins the cluster with it; so it does when one of the list has begun with it. Nobody begins one while somebody known
// is part of another. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core.h"
#include "drover/raft.h"

namespace drover::gossip {

struct BootstrapDecision {
  enum class Kind : uint8_t {
    wait,      // not enough servers yet
    disagree,  // they expect different numbers: `detail` names both
    announce,  // `proposal` is to be announced, with `voters`
    begin,     // all announce it
    never,     // somebody is part of a cluster
  };
  Kind kind = Kind::wait;
  uint64_t proposal = 0;
  std::vector<RaftServer> voters{};
  std::string detail{};
};

// `announced` are the voters that `self` announces now; empty when it announces none.
BootstrapDecision decide_bootstrap(const Member& self, const std::vector<Member>& members,
                                   const std::vector<RaftServer>& announced);

// The same for the same servers at the same addresses; never zero.
uint64_t digest(const std::vector<RaftServer>& voters);

}  // namespace drover::gossip
