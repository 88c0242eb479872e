#include "drover/model/periodic.h"

#include <algorithm>
#include <string>
#include <vector>

#include "drover/model/cron.h"
#include "drover/model/time_zone.h"
#include "drover/v1/job.pb.h"

namespace drover {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

}  // namespace

Result<std::optional<int64_t>> next_launch(const v1::PeriodicConfig& periodic, int64_t now) {
  std::optional<int64_t> first;
  if (!periodic.enabled()) return first;
  DROVER_TRY(TimeZone zone, TimeZone::load(periodic.time_zone()));
  std::vector<std::string> specs(periodic.specs().begin(), periodic.specs().end());
  if (!periodic.spec().empty()) specs.push_back(periodic.spec());
  for (const std::string& spec : specs) {
    DROVER_TRY(Cron cron, Cron::parse(spec));
    const auto due = cron.next(now / kSecond, zone);
    if (due) first = std::min(first.value_or(*due), *due);
  }
  if (first) first = *first * kSecond;
  return first;
}

}  // namespace drover
