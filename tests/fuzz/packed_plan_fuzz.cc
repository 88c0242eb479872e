// One input as the packed placements of a plan in the log: what can be unpacked can be packed and unpacked again, and is
// the same.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/messages.h"
#include "drover/result.h"
#include "drover/v1/allocation.pb.h"
#include "plugins/scheduler/packing/format.h"
#include "plugins/scheduler/packing/metrics.h"
#include "plugins/scheduler/packing/pack.h"
#include "scheduler.pb.h"

void fuzz_packed_plan(std::string_view text);

void fuzz_packed_plan(std::string_view text) {
  using namespace drover;
  using namespace drover::scheduler::packing;
  const FindNode nodes = [](std::string_view prefix) -> std::optional<KnownNode> {
    if (prefix.empty() || prefix[0] == 'x') return std::nullopt;
    return KnownNode{.id = std::string(prefix) + std::string(kIdentifier - prefix.size(), '-'), .name = "client-1"};
  };
  v1::PlansApplied packed;
  packed.set_format(kFormat);
  packed.set_packed(std::string(text));
  std::vector<std::string> metrics;
  if (unpack_apart(packed, nodes, metrics)) {
    for (std::string& metric : metrics) {
      v1::PassMetrics row;
      if (add_metrics({{0, std::move(metric)}}, row).ok()) (void)find_metric(row, 0);
    }
  }
  auto plan = unpack(std::move(packed), nodes);
  if (!plan) return;
  const std::string bytes = serialize(*plan);
  v1::PlanApplied again = *plan;
  auto small = pack(again, nodes);
  if (!small) return;
  const auto same = unpack(*std::move(small), nodes);
  DROVER_CHECK(same.ok() && serialize(*same) == bytes);
}
