// Decides how a running cluster takes in the servers that appear, and follows those that move. Pure.
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

// The change that the leader should make. New servers become learners; autopilot decides whether they vote.
Growth decide_growth(const RaftInfo& raft, const std::vector<ServerMember>& servers, const std::string& region);

}  // namespace drover::gossip
