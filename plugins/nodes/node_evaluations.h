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

// Adds an evaluation, trigger node-update, for each job that has an allocation on the node which is not over yet.
void add_node_evaluations(const ReadView& view, TableId allocs, TableId jobs, const v1::Node& node,
                          google::protobuf::RepeatedPtrField<v1::Evaluation>& evaluations);

// True when going from one status to the other matters to the scheduler.
bool concerns_scheduler(v1::NodeStatus from, v1::NodeStatus to);

}  // namespace drover::nodes
