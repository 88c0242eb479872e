// The rules for the name and the content of a node pool. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::v1 {
class NodePool;
}  // namespace drover::v1

namespace drover::node_pools {

// The pools that every cluster has: "default" for nodes and jobs that name none, "all" for jobs that run anywhere.
std::vector<v1::NodePool> built_in_pools();
bool is_built_in(std::string_view name);

// Errors: invalid_argument with all that is wrong.
Status check_pool(const v1::NodePool& pool);

}  // namespace drover::node_pools
