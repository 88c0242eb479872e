// The metrics of allocations, apart from their rows: what one decision placed looked at the same nodes, so neighbours
// say it once. Pure.
//
//   row of alloc_metrics: up to 64 allocations whose identifiers follow each other (ids.h)
//
// It is written with the allocations and goes with the last of them; what is in between stays as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"
#include "packing/format.h"

namespace drover::v1 {
class AllocMetric;
class PassMetrics;
}  // namespace drover::v1

namespace drover::scheduler::packing {

struct MetricPlace {
  std::string key;    // of the row
  uint32_t slot = 0;  // in it
};
MetricPlace place_of_metric(std::string_view alloc_id);

struct PlacedMetric {
  uint32_t slot;
  std::string metric;  // as serialize() makes it
};
// Adds them to the row in that format, which the entry tells that they come from: all servers, former ones too, write
// the same. They stand in place of what it had for their slots. Errors: data_loss when one is no message, or all are
// of more than their bytes can mean.
Status add_metrics(std::vector<PlacedMetric> metrics, Format format, v1::PassMetrics& row);
// The allocation in the slot is gone.
void drop_metric(uint32_t slot, v1::PassMetrics& row);
// Nothing when the row has none there.
std::optional<v1::AllocMetric> find_metric(const v1::PassMetrics& row, uint32_t slot);

}  // namespace drover::scheduler::packing
