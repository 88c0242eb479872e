#include "packing/metrics.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "drover/v1/allocation.pb.h"
#include "packing/format.h"
#include "packing/ids.h"
#include "packing/packer.h"
#include "packing/unpacker.h"
#include "scheduler.pb.h"

namespace drover::scheduler::packing {
namespace {

constexpr unsigned kSlotBits = 6;  // of 64 slots

uint64_t bit(uint32_t slot) { return uint64_t{1} << slot; }

// Rows outlive nodes.
const Lookup& nothing() {
  static const Lookup none{.node = [](std::string_view) { return std::nullopt; },
                           .eval = [](std::string_view) { return std::nullopt; }};
  return none;
}

std::optional<Format> format_of(const v1::PassMetrics::Part& part) {
  const auto format = static_cast<Format>(part.format());
  return format == Format::first || format == Format::second ? std::optional(format) : std::nullopt;
}

}  // namespace

MetricPlace place_of_metric(std::string_view alloc_id) {
  if (alloc_id.size() != kIdentifier) return {.key = std::string(alloc_id), .slot = 0};
  const uint32_t ordinal = ordinal_of(alloc_id);
  MetricPlace place{.key = std::string(tail_of(alloc_id)), .slot = ordinal & ((1U << kSlotBits) - 1U)};
  for (unsigned shift = 32; shift > 0; shift -= 8) place.key += static_cast<char>(ordinal >> kSlotBits >> (shift - 8));
  return place;
}

Status add_metrics(std::vector<PlacedMetric> metrics, Format format, v1::PassMetrics& row) {
  std::ranges::stable_sort(metrics, {}, &PlacedMetric::slot);
  Packer packer(nothing(), format);
  uint64_t slots = 0;
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (i + 1 < metrics.size() && metrics[i + 1].slot == metrics[i].slot) continue;
    slots |= bit(metrics[i].slot);
    packer.add(std::move(metrics[i].metric), *v1::AllocMetric::descriptor());
  }
  if (!packer.can_be_unpacked()) return data_loss("the metric of a packed plan's placement is damaged");
  v1::PassMetrics::Part& part = *row.add_parts();
  part.set_format(static_cast<uint32_t>(format));
  part.set_slots(slots);
  part.set_packed(packer.take());
  row.set_live(row.live() | slots);
  return ok_status();
}

void drop_metric(uint32_t slot, v1::PassMetrics& row) {
  row.set_live(row.live() & ~bit(slot));
}

std::optional<v1::AllocMetric> find_metric(const v1::PassMetrics& row, uint32_t slot) {
  for (int i = row.parts_size(); i-- > 0;) {
    const v1::PassMetrics::Part& part = row.parts(i);
    const auto format = format_of(part);
    if ((part.slots() & bit(slot)) == 0 || !format) continue;
    Unpacker unpacker(part.packed(), nothing(), *format);
    v1::AllocMetric metric;
    for (int before = std::popcount(part.slots() & (bit(slot) - 1)); before >= 0; --before) {
      const auto bytes = unpacker.next();
      if (!bytes) return std::nullopt;
      if (before > 0) continue;
      if (!metric.ParseFromArray(bytes->data(), static_cast<int>(bytes->size()))) return std::nullopt;
    }
    return metric;
  }
  return std::nullopt;
}

}  // namespace drover::scheduler::packing
