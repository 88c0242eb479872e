// The node agent: this machine as a node of the cluster. Put together here; the parts know only what they are given.
//
// Threads: "node" (registration, heartbeats), "devices" (asks device plugins), "allocs" (follows the servers), "status"
// (tells them), "contact" (stops what may not run without them), "collector" (forgets what is over), "logs" (collects
// task output), "files" (hears of changes of files that somebody follows), "driver-events" (follows one driver each),
// "node-metrics" (sets gauges), and those of the pool on which allocations and tasks have their strands, with what they
// borrow for calls that may wait.
#pragma once

#include <atomic>
#include <memory>

#include "allocations.h"
#include "collecting/collector.h"
#include "contact/contact_watch.h"
#include "disk/snapshot_rpc.h"
#include "driver_events.h"
#include "drover/agent_stats.h"
#include "drover/node_calls.h"
#include "drover/node_locator.h"
#include "drover/plugin.h"
#include "drover/thread_pool.h"
#include "files/file_rpc.h"
#include "hooks/standard_hooks.h"
#include "node_metrics.h"
#include "offline/client_state_command.h"
#include "registration.h"
#include "rpc.h"
#include "servers/known_servers.h"
#include "status_reporter.h"

namespace drover::agent {

class AgentPlugin final : public Plugin, private NodeLocator, private NodeCalls, private AgentStats {
 public:
  AgentPlugin() = default;
  ~AgentPlugin() override;
  Status declare(Declarations& declare) override;
  Status start(Host& host) override;
  void leave(SteadyTime deadline) override;
  std::chrono::nanoseconds leave_time() const override;
  void stop(SteadyTime deadline) override;

 private:
  Result<Uuid> locate(std::string_view id) const override;
  std::map<std::string, std::string> stats() const override;
  std::optional<NodeProofOf> proof() const override;
  CallContext context(std::string method, std::chrono::nanoseconds timeout, std::stop_token stop) const override;
  Variables variables() const override;
  void known(bool anew);

  Host* host_ = nullptr;
  ClientStateCommand client_state_;
  Rpc rpc_;
  FileRpc files_;
  SnapshotRpc snapshots_;
  std::atomic<const Allocations*> located_{nullptr};  // set once start has come that far
  std::atomic<bool> is_known_{false};                 // by the servers, in this life
  std::unique_ptr<AgentStore> store_;
  LogCollector logs_;
  std::unique_ptr<Devices> devices_;
  NodeMeta meta_;
  NodeProof proof_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Client> client_;
  StandardHooks hooks_{client_};
  KnownServers known_servers_;
  std::unique_ptr<Registration> registration_;
  std::unique_ptr<StatusReporter> status_;
  std::unique_ptr<Allocations> allocations_;
  std::unique_ptr<Collector> collector_;
  std::unique_ptr<ContactWatch> contact_;
  std::unique_ptr<DriverEvents> events_;
  std::unique_ptr<NodeMetrics> metrics_;
};

}  // namespace drover::agent
