// Agents that find servers in Consul: a server without a leader joins those that stand there, a client tries them
// beside those that it knows. A thread of its own each. [any]
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "client/consul_client.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "drover/server_directory.h"

namespace drover::consul {

class ServerSearch {
 public:
  ~ServerSearch() { stop(); }
  // Once. Both outlive the search. `service`: under which servers stand in Consul.
  void start(Host& host, const ConsulClient& client, std::string service);
  void stop();

 private:
  void work(const std::stop_token& stop);
  bool look(const std::stop_token& stop);  // true when it has joined others

  Host* host_ = nullptr;
  const ConsulClient* client_ = nullptr;
  std::string service_;
  std::jthread thread_;
};

class ClientSearch final : public HeardServers {
 public:
  static constexpr std::chrono::seconds kEvery{60}, kEveryUntilFound{3};

  ~ClientSearch() override { stop(); }
  void start(const ConsulClient& client, std::string service);
  void stop();

  std::vector<std::string> rpc_addresses() const override;

 private:
  void work(const std::stop_token& stop);

  const ConsulClient* client_ = nullptr;
  std::string service_;
  mutable Mutex mutex_;
  std::vector<std::string> found_ DROVER_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace drover::consul
