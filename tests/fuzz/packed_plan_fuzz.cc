// One input as the packed placements of a plan in the log, in both formats: what can be unpacked can be packed and
// unpacked again, and is the same.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/messages.h"
#include "drover/result.h"
#include "drover/v1/evaluation.pb.h"
#include "plugins/scheduler/packing/format.h"
#include "plugins/scheduler/packing/metrics.h"
#include "plugins/scheduler/packing/pack.h"
#include "scheduler.pb.h"

void fuzz_packed_plan(std::string_view text);

namespace {

using namespace drover;
using namespace drover::scheduler::packing;

std::string filled(std::string_view prefix) {
  return std::string(prefix) + std::string(kIdentifier - prefix.size(), '-');
}

// Of nodes and evaluations all but those that begin with x.
Lookup lookup() {
  return {.node = [](std::string_view prefix) -> std::optional<KnownNode> {
            if (prefix.empty() || prefix[0] == 'x') return std::nullopt;
            return KnownNode{.id = filled(prefix), .name = "client-1"};
          },
          .eval = [](std::string_view prefix) -> std::optional<std::string> {
            if (prefix.empty() || prefix[0] == 'x') return std::nullopt;
            v1::Evaluation eval;
            eval.set_id(filled(prefix));
            eval.set_namespace_("default");
            eval.set_job_id("job");
            eval.set_job_modify_index(1000);
            eval.set_create_index(1001);
            eval.set_modify_index(1003);
            eval.set_modify_time(1'700'000'000'000'000'000);
            return serialize(eval);
          }};
}

void keep_apart(std::vector<std::string> metrics, Format format) {
  for (std::string& metric : metrics) {
    v1::PassMetrics row;
    if (add_metrics({{0, std::move(metric)}}, format, row).ok()) (void)find_metric(row, 0);
  }
}

}  // namespace

void fuzz_packed_plan(std::string_view text) {
  const google::protobuf::LogSilencer silent;  // about texts that are none
  const Lookup known = lookup();
  std::vector<std::string> metrics;
  v1::PlansApplied old;
  old.set_format(static_cast<uint32_t>(Format::first));
  old.set_packed(std::string(text));
  auto plan = unpack_apart(std::move(old), known, metrics);
  if (plan) keep_apart(std::move(metrics), Format::first);
  if (!plan) {
    v1::PlansPacked packed;
    packed.set_packed(std::string(text));
    metrics.clear();
    if (unpack_apart(packed, known, metrics)) keep_apart(std::move(metrics), Format::second);
    plan = unpack(std::move(packed), known);
  }
  if (!plan) return;
  const std::string bytes = serialize(*plan);
  auto small = pack(*plan, known);
  if (!small) return;
  const auto same = unpack(*std::move(small), known);
  DROVER_CHECK(same.ok() && serialize(*same) == bytes);
}
