// The provider "consul": makes the services of this node in Consul what the node says, whatever others did to them, in
// each of its namespaces.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "client/consul_client.h"
#include "drover/clock.h"
#include "drover/metrics.h"
#include "drover/mutex.h"
#include "drover/service_provider.h"
#include "services/plan.h"

namespace drover::consul {

class ConsulProvider final : public ServiceProvider {
 public:
  // So long after the start, own services that nobody wants are kept: their allocations may be under way.
  static constexpr std::chrono::seconds kYoung{60};

  // Called after each sync, with the namespaces that have services of this node. It must not wait.
  using Published = std::function<void(const std::set<std::string>& namespaces)>;

  // Once, where Consul is configured; without it nothing can be published. They outlive the provider.
  void start(const ConsulClient& client, Clock& clock, Metrics& metrics, Published published);

  Result<v1::SyncServicesResponse> sync(const v1::SyncServicesRequest& request, std::stop_token stop) override;

 private:
  // The namespaces to look at, those of `wanted` left out.
  std::set<std::string> further_namespaces(std::stop_token stop);
  Status sync_in(const std::string& name_space, const Wanted& wanted, v1::SyncServicesResponse& response,
                 std::stop_token stop);

  const ConsulClient* client_ = nullptr;  // constant after start, as the following
  Clock* clock_ = nullptr;
  Metrics* metrics_ = nullptr;
  SteadyTime young_until_{};
  Published published_;
  Mutex mutex_;
  std::map<std::string, Remembered> before_ DROVER_GUARDED_BY(mutex_);  // by namespace
};

}  // namespace drover::consul
