// An allocation whose node is out of reach: how long it may be so, and where it stands. Pure.
// [any]
#pragma once

#include <cstdint>
#include <optional>

namespace drover::v1 {
class Allocation;
class TaskGroup;
}  // namespace drover::v1

namespace drover {

// How long allocations of the group may be out of reach before they are lost, in nanoseconds; nothing: they are lost at
// once.
std::optional<int64_t> lost_after(const v1::TaskGroup& group);
// How long the node itself lets them run while it cannot reach a server, in nanoseconds; nothing: for ever.
std::optional<int64_t> stop_on_client_after(const v1::TaskGroup& group);

// True when the last that the servers noted of it is that it was out of reach.
bool needs_reconnect(const v1::Allocation& alloc);
// True when it is still out of reach and its time is over. `group`: of its own version of the job; `now`: nanoseconds
// since 1970.
bool expired(const v1::Allocation& alloc, const v1::TaskGroup& group, int64_t now);

}  // namespace drover
