// Which nodes take work, and of which jobs. Pure. [any]
#pragma once

#include <cstdint>
#include <string_view>

namespace drover::v1 {
class Job;
class Node;
}  // namespace drover::v1

namespace drover {

// True when it is ready and does not drain.
bool is_ready(const v1::Node& node);
// True when it may be given new work: it is ready and eligible.
bool accepts_work(const v1::Node& node);
// The pool that it is in: "default" where it says none.
std::string_view pool_of(const v1::Node& node);
// True for 1 to 128 letters, digits, - and _.
bool is_pool_name(std::string_view name);
// True when it is in the job's pool.
bool in_pool(const v1::Job& job, const v1::Node& node);
// True when it is in the job's datacenters and pool.
bool in_reach(const v1::Job& job, const v1::Node& node);

// True when that is the node's proof: its identity, or for a moment the one before it; for a node without identities
// its secret, sixteen bytes. `now_ns`: since 1970.
bool is_proof_of(const v1::Node& node, std::string_view shown, int64_t now_ns);

}  // namespace drover
