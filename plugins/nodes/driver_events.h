// The events that tell an operator of a node's drivers when the node registers again. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace drover::v1 {
class Node;
class NodeEvent;
}  // namespace drover::v1

namespace drover::nodes {

// One event for each driver that has come, gone, or become healthy or unhealthy: subsystem "Driver", the driver's name
// in the details, and as message what it says of its health. By name. `time` is in nanoseconds.
std::vector<v1::NodeEvent> driver_events(const v1::Node& before, const v1::Node& now, int64_t time);

}  // namespace drover::nodes
