// The provider "nomad": tells the servers, which keep the registrations in their state. [any]
#pragma once

#include <atomic>
#include <chrono>

#include "drover/node_calls.h"
#include "drover/plugin.h"
#include "drover/service_provider.h"
#include "tables.h"

namespace drover::services {

class NativeProvider final : public ServiceProvider {
 public:
  void start(Host& host) { host_ = &host; }
  std::chrono::nanoseconds sync_every() const override { return std::chrono::nanoseconds(sync_every_.load()); }
  Result<v1::SyncServicesResponse> sync(const v1::SyncServicesRequest& request, std::stop_token stop) override;

 private:
  Host* host_ = nullptr;
  std::atomic<int64_t> sync_every_{std::chrono::nanoseconds(kLeastSyncTime).count()};  // as the servers last said
};

// The agent's way to its servers; null where no node runs.
const NodeCalls* node_calls(const Host& host);

}  // namespace drover::services
