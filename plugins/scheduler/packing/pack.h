// A plan in the log: what its placements share is said once, and each says only what differs from the one before.
// Pure.
//
//   PlanApplied ──pack──▶ PlansPacked ──log──▶ unpack ──▶ the same PlanApplied, on every server
//
// format.h describes the bytes. Nodes and evaluations are named by the first bytes of their identifiers, so both sides
// look at their tables.
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
class PlansPacked;
}  // namespace drover::v1

namespace drover::scheduler::packing {

struct KnownNode {
  std::string id, name;
};
struct Lookup {
  // The only node whose identifier begins with these bytes; nothing when there is none, or several.
  std::function<std::optional<KnownNode>(std::string_view prefix)> node;
  // The row of the only such evaluation, likewise.
  std::function<std::optional<std::string>(std::string_view prefix)> eval;
};
// Looks in a view. Requires: the view outlives the answer.
Lookup lookup_in(const ReadView& view, TableId nodes, TableId evals);

// Takes the plan. Leaves it and gives nothing when it cannot be packed, or not be unpacked within bounds.
std::optional<v1::PlansPacked> pack(v1::PlanApplied& plan, const Lookup& lookup);
// Errors: data_loss for what no pack() wrote; failed_precondition when a node is gone, or a new one has the same first
// bytes, or an evaluation is gone or another than it was.
Result<v1::PlanApplied> unpack(v1::PlansPacked packed, const Lookup& lookup);

// The same without the metrics of what it places: these are added to `metrics` as they were serialized, empty where
// there is none. Nothing has looked whether they are any.
Result<v1::PlanApplied> unpack_apart(v1::PlansPacked packed, const Lookup& lookup, std::vector<std::string>& metrics);
// The same for an entry of an old log. Errors: unimplemented, too, for a format that never was.
Result<v1::PlanApplied> unpack_apart(v1::PlansApplied packed, const Lookup& lookup, std::vector<std::string>& metrics);

}  // namespace drover::scheduler::packing
