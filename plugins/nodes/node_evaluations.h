// Which jobs must be looked at again when a node changes. A function of a snapshot.
#pragma once

#include "drover/tables.h"

namespace google::protobuf {
template <typename Message>
class RepeatedPtrField;
}
namespace drover::v1 {
class Evaluation;
class Node;
enum NodeStatus : int;
}  // namespace drover::v1

namespace drover::nodes {

// Adds an evaluation, trigger node-update, for each job that has an allocation on the node, and for each that belongs
// on every node and reaches this one.
void add_node_evaluations(const ReadView& view, TableId allocs, TableId jobs, const v1::Node& node,
                          google::protobuf::RepeatedPtrField<v1::Evaluation>& evaluations);

// The status of a node that missed its heartbeat: out of reach while some allocation may be so, else down. `now`:
// nanoseconds since 1970.
v1::NodeStatus status_when_silent(const ReadView& view, TableId allocs, TableId job_versions, const v1::Node& node,
                                  int64_t now);
// The status of a node that says it is `wanted`: one that was out of reach is ready only once it has reported what it
// runs.
v1::NodeStatus status_when_heard(const ReadView& view, TableId allocs, const v1::Node& node, v1::NodeStatus wanted);

// True when going from one status to the other matters to the scheduler.
bool concerns_scheduler(v1::NodeStatus from, v1::NodeStatus to);

}  // namespace drover::nodes
