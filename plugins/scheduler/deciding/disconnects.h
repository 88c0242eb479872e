// What a node that is gone, out of reach, or back again means for the allocations on it. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {

using Alloc = const v1::Allocation*;
using Allocs = std::vector<Alloc>;

// How long allocations of the group may be out of reach before they are lost; nothing: they are lost at once.
std::optional<int64_t> lost_after(const v1::TaskGroup& group);
// How long the node itself lets them run while it cannot reach a server; nothing: for ever.
std::optional<int64_t> stop_on_client_after(const v1::TaskGroup& group);
// True when one that is out of reach is replaced meanwhile.
bool replaces_disconnected(const v1::TaskGroup& group);

// True when the last that the servers noted of it is that it was out of reach.
bool needs_reconnect(const v1::Allocation& alloc);
// True when it is still out of reach and its time is over. `group`: of its own version of the job.
bool expired(const v1::Allocation& alloc, const v1::TaskGroup& group, int64_t now);
// When its node has certainly stopped it, if it was lost and its group says so.
std::optional<int64_t> stopped_on_client_at(const v1::Allocation& alloc, const v1::TaskGroup& group, int64_t now);

struct BySituation {
  Allocs untainted, migrate, lost, disconnecting, reconnecting, ignore;
};
// `group_of`: the group in the allocation's own version of the job; null when it is no longer known.
BySituation split(const Allocs& allocs, int64_t now,
                  const std::function<v1::NodeStatus(const std::string& node_id)>& node_status,
                  const std::function<const v1::TaskGroup*(const v1::Allocation&)>& group_of);

// The description of the change that marks a reconnected allocation as such; the same for one out of reach.
v1::AllocState client_state(v1::ClientStatus status, int64_t now);

// Chooses between one that is back and its replacement. `strategy`: of the disconnect block; empty: the best score.
bool keeps_replacement(const v1::Allocation& back, const v1::Allocation& replacement, const std::string& strategy);

}  // namespace drover::scheduler
