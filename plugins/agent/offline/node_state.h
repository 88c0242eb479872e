// The rows of a node (agent_state.proto) as JSON, for people: allocations, tasks, what drivers and hooks keep.
//
// No secrets: fields are shown by a list of those that hold none, and each place names in "LeftOut" what it has beside
// them. That is what tasks have in their environment and their driver's configuration, the values that hooks keep
// (tokens are among them), and of a driver's own state all but the numbers and names by which it finds its task.
#pragma once

#include <string>
#include <vector>

#include "agent_store.h"
#include "drover/result.h"

namespace drover::agent {

struct NodeState {
  std::string json;                   // {"Node": {…}, "Allocations": {ID: {…}}}, with a final newline
  std::vector<std::string> problems;  // rows that cannot be read, and are not shown
};

// Errors: not_found when the rows are no node's; the store's own.
Result<NodeState> node_state(AgentStore& store);

}  // namespace drover::agent
