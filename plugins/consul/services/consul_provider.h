// The provider "consul": makes the services of this node in Consul what the node says, whatever others did to them.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "client/consul_client.h"
#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/service_provider.h"
#include "services/plan.h"

namespace drover::consul {

class ConsulProvider final : public ServiceProvider {
 public:
  // So long after the start, own services that nobody wants are kept: their allocations may be under way.
  static constexpr std::chrono::seconds kYoung{60};

  // Once, where Consul is configured; without it nothing can be published. Both outlive the provider. `published` is
  // called after each sync; it must not wait.
  void start(const ConsulClient& client, Clock& clock, std::function<void()> published);

  Result<v1::SyncServicesResponse> sync(const v1::SyncServicesRequest& request, std::stop_token stop) override;

 private:
  Status carry_out(const Operation& operation, std::stop_token stop) const;

  const ConsulClient* client_ = nullptr;  // constant after start, as the following
  Clock* clock_ = nullptr;
  SteadyTime young_until_{};
  std::function<void()> published_;
  Mutex mutex_;
  Remembered before_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::consul
