// A plan in the log: what its placements share is said once, and each says only what differs from the one before.
// Pure.
//
//   PlanApplied ──pack──▶ PlansApplied ──log──▶ unpack ──▶ the same PlanApplied, on every server
//
// format.h describes the bytes. Nodes are named by the first bytes of their identifiers, so both sides look at the
// table of nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"
#include "drover/tables.h"

namespace drover::v1 {
class PlanApplied;
class PlansApplied;
}  // namespace drover::v1

namespace drover::scheduler::packing {

struct KnownNode {
  std::string id, name;
};
// The only node whose identifier begins with these bytes; nothing when there is none, or several.
using FindNode = std::function<std::optional<KnownNode>(std::string_view prefix)>;
// Those of a view. Requires: it outlives the answer.
FindNode nodes_of(const ReadView& view, TableId nodes);

// Takes the plan. Leaves it and gives nothing when it cannot be packed, or not be unpacked within bounds.
std::optional<v1::PlansApplied> pack(v1::PlanApplied& plan, const FindNode& nodes);
// Errors: data_loss for what no pack() wrote; unimplemented for a later format; failed_precondition when a node is
// gone, or a new one has the same first bytes.
Result<v1::PlanApplied> unpack(v1::PlansApplied packed, const FindNode& nodes);

// The same without the metrics of what it places: these are added to `metrics` as they were serialized, empty where
// there is none. Nothing has looked whether they are any.
Result<v1::PlanApplied> unpack_apart(v1::PlansApplied packed, const FindNode& nodes,
                                     std::vector<std::string>& metrics);

}  // namespace drover::scheduler::packing
