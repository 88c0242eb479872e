// How a cluster that exists takes in the servers that appear, and follows those that move. Pure.
#pragma once

#include <string>
#include <vector>

#include "drover/raft.h"
#include "drover/server_directory.h"

namespace drover::gossip {

struct Growth {
  std::vector<RaftEdit> edits;           // at most one: each is a change of its own
  std::vector<std::string> strangers{};  // names of servers that are part of another cluster
};

// What the leader should change. New servers become learners; whether they vote is autopilot's decision.
Growth decide_growth(const RaftInfo& raft, const std::vector<ServerMember>& servers, const std::string& region);

}  // namespace drover::gossip
