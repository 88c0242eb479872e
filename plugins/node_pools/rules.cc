#include "rules.h"

#include <algorithm>

#include "drover/model/node.h"
#include "drover/v1/node_pool.pb.h"

namespace drover::node_pools {
namespace {

constexpr size_t kMaxDescription = 256;
constexpr int64_t kShortestIdentity = 60'000'000'000;  // nanoseconds

}  // namespace

std::vector<v1::NodePool> built_in_pools() {
  std::vector<v1::NodePool> pools(2);
  pools[0].set_name("all");
  pools[0].set_description("Node pool with all nodes in the cluster.");
  pools[1].set_name("default");
  pools[1].set_description("Default node pool.");
  return pools;
}

bool is_built_in(std::string_view name) { return name == "all" || name == "default"; }

Status check_pool(const v1::NodePool& pool) {
  std::string wrong;
  const auto require = [&](bool holds, const std::string& text) {
    if (!holds) wrong += (wrong.empty() ? "" : "; ") + text;
  };
  require(is_pool_name(pool.name()),
          "invalid name \"" + pool.name() + "\": a node pool is named by 1 to 128 letters, digits, - and _");
  require(pool.description().size() <= kMaxDescription,
          "description longer than " + std::to_string(kMaxDescription) + " characters");
  const std::string& algorithm = pool.scheduler_configuration().scheduler_algorithm();
  require(algorithm.empty() || algorithm == "binpack" || algorithm == "spread",
          "invalid scheduler algorithm \"" + algorithm + "\": use binpack or spread");
  require(pool.node_identity_ttl() == 0 || pool.node_identity_ttl() >= kShortestIdentity,
          "node_identity_ttl must be at least 1m");
  return wrong.empty() ? ok_status() : invalid_argument("invalid node pool: " + wrong);
}

}  // namespace drover::node_pools
