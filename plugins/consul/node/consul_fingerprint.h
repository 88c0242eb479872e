// The Consul agent of this machine as attributes of the node: "consul.version" and its like.
#pragma once

#include <chrono>
#include <optional>
#include <thread>

#include "client/consul_client.h"
#include "drover/mutex.h"
#include "drover/node_fingerprint.h"

namespace drover::consul {

// Writes them, or takes them out where there is nothing; true when something has changed. Pure.
bool describe_consul(const std::optional<AgentSelf>& self, v1::Node& node);

// Asks Consul every kEvery, on a thread of its own. [any]
class ConsulFingerprint final : public NodeFingerprint {
 public:
  static constexpr std::chrono::seconds kEvery{15}, kEveryUntilFound{3};

  ~ConsulFingerprint() override { stop(); }
  // Once, where Consul is configured. The client outlives it.
  void start(const ConsulClient& client);
  void stop();

  Status describe(v1::Node& node) override;
  bool refresh(v1::Node& node) override;
  void watch(std::function<void()> changed) override;

 private:
  void work(const std::stop_token& stop);
  bool look(const std::stop_token& stop);  // true when it is there

  const ConsulClient* client_ = nullptr;  // constant after start
  Mutex telling_;                         // held over a word to who watches
  std::function<void()> changed_ DROVER_GUARDED_BY(telling_);
  Mutex mutex_;
  std::optional<AgentSelf> self_ DROVER_GUARDED_BY(mutex_);  // as Consul last said
  bool is_away_ = true;  // of the thread; before that of start()
  std::jthread thread_;
};

}  // namespace drover::consul
