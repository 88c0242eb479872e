// What a node that is gone, out of reach, or back again means for the allocations on it. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drover/model/disconnect.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {

using Alloc = const v1::Allocation*;
using Allocs = std::vector<Alloc>;

// True when one that is out of reach is replaced meanwhile, and one whose node is down is lost. Else both are unknown
// and keep their places until the node is back or gone, or somebody stops them.
bool replaces_disconnected(const v1::TaskGroup& group);

// When its node has certainly stopped it, if it was lost and its group says so.
std::optional<int64_t> stopped_on_client_at(const v1::Allocation& alloc, const v1::TaskGroup& group, int64_t now);

struct BySituation {
  Allocs untainted, migrate, lost, disconnecting, reconnecting, ignore;
};
// `replaces`: replaces_disconnected() of the group as it is wanted. `group_of`: the group in the allocation's own
// version of the job; null when it is no longer known.
BySituation split(const Allocs& allocs, int64_t now, bool replaces,
                  const std::function<v1::NodeStatus(const std::string& node_id)>& node_status,
                  const std::function<const v1::TaskGroup*(const v1::Allocation&)>& group_of);

// The description of the change that marks a reconnected allocation as such; the same for one out of reach.
v1::AllocState client_state(v1::ClientStatus status, int64_t now);

// Chooses between one that is back and its replacement. `strategy`: of the disconnect block; empty: the best score.
bool keeps_replacement(const v1::Allocation& back, const v1::Allocation& replacement, const std::string& strategy);

}  // namespace drover::scheduler
