// The methods that this node answers itself (agent.proto). Handlers run on the pool. Owned by the plugin.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "allocations.h"
#include "drover/api/client.pb.h"
#include "drover/methods.h"
#include "host_stats.h"

namespace drover::agent {

class Rpc {
 public:
  // Before this the handlers answer unavailable. Requires: both outlive every call.
  void attach(const Client& client, Allocations& allocations);

  Result<v1::ClientResponse> restart(const v1::RestartAllocationRequest& request, Call& call);
  Result<v1::ClientResponse> signal(const v1::SignalAllocationRequest& request, Call& call);
  Status exec(const v1::ExecRequest& request, Call& call, Replies<v1::ExecResponse>& replies);
  Result<v1::AllocationStatsResponse> stats(const v1::AllocationStatsRequest& request, Call& call);
  Result<v1::HostStats> host_stats(const v1::HostStatsRequest& request, Call& call);
  Result<v1::ClientResponse> collect_garbage(const v1::GarbageCollectRequest& request, Call& call);
  Result<v1::ClientResponse> collect_all_garbage(const v1::GarbageCollectAllRequest& request, Call& call);

 private:
  Result<std::shared_ptr<AllocRunner>> find(const std::string& id, const Call& call) const;

  const Client* client_ = nullptr;  // constant once attached_
  Allocations* allocations_ = nullptr;
  HostStatistics host_statistics_;
  std::atomic<bool> attached_{false};
};

}  // namespace drover::agent
