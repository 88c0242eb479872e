#include "kinds/service_program.h"

#include <algorithm>

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;

constexpr auto kSyncTime = 35s;  // a provider has thirty, and then some to say so
constexpr std::chrono::seconds kShortest = 1s, kLongest = 1h, kDefault = 30s;

}  // namespace

std::chrono::nanoseconds ServiceProgram::sync_every() const {
  const v1::DescribeServicesResponse facts = this->facts();
  if (!facts.has_sync_every()) return kDefault;
  const std::chrono::seconds every(
      std::clamp<int64_t>(facts.sync_every().seconds(), kShortest.count(), kLongest.count()));
  return every == kLongest ? every
                           : every + std::chrono::nanoseconds(std::clamp(facts.sync_every().nanos(), 0, 999'999'999));
}

Result<v1::SyncServicesResponse> ServiceProgram::sync(const v1::SyncServicesRequest& request, std::stop_token stop) {
  return program().ask<v1::SyncServicesResponse>("/drover.v1.ServicePlugin/Sync", request, ProgramHost::Again::once,
                                                 kSyncTime, stop, kRestartTime);
}

}  // namespace drover::plugin_programs
