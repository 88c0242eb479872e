// This agent in Consul: the services by which servers and clients find each other, and people find them.
//
//   (made) ──start──▶ registered, put back every kEvery ──stop──▶ taken out
//
// A thread of its own. [any]
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "client/consul_client.h"
#include "config.h"
#include "services/plan.h"

namespace drover {
struct AgentInfo;
}

namespace drover::consul {

// How the agent's API is reached.
struct ApiAccess {
  bool has_tls = false;
  bool wants_certificates = false;  // of those who ask: Consul has none, so nobody checks the API
};

// The services of this agent: of a server one each for HTTP, RPC and gossip, of a client one. Pure.
std::vector<WantedService> own_services(const AgentInfo& agent, const ApiAccess& api, const Config& config);

class OwnServices {
 public:
  static constexpr std::chrono::seconds kEvery{30}, kRetry{1};

  ~OwnServices() { stop(); }
  // Once. The client outlives it.
  void start(const ConsulClient& client, std::vector<WantedService> services);
  // Takes them out; what Consul does not hear within kGoodbye stays.
  static constexpr std::chrono::seconds kGoodbye{5};
  void stop();

 private:
  void work(const std::stop_token& stop);
  Status register_all(const std::stop_token& stop) const;

  const ConsulClient* client_ = nullptr;
  Wanted wanted_;
  std::jthread thread_;
};

}  // namespace drover::consul
