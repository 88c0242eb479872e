// Which node a new host volume goes to. Pure. [any]
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::v1 {
class DynamicHostVolume;
class Node;
}  // namespace drover::v1

namespace drover::host_volumes {

// The attribute by which a node says that it has the plugin.
std::string plugin_attribute(const std::string& plugin_id);

struct Candidate {
  const v1::Node* node;
  bool has_name = false;  // a volume of that name is there
  size_t volumes = 0;     // that are there
};

// Errors: failed_precondition, saying why the node cannot have it.
Status may_have(const v1::Node& node, const v1::DynamicHostVolume& volume);

// The one with the fewest volumes among those that may have it: ready, in its pool, with its plugin, meeting its
// constraints, without another one of its name. Errors: failed_precondition, counting why not.
Result<const v1::Node*> choose_node(const std::vector<Candidate>& candidates, const v1::DynamicHostVolume& volume);

}  // namespace drover::host_volumes
