// Gauges of this machine and its allocations, set anew at each interval.
//
// Owned by the plugin. Thread "node-metrics".
#pragma once

#include <mutex>
#include <thread>

#include "allocations.h"
#include "client.h"
#include "drover/metrics.h"
#include "host_stats.h"

namespace drover::agent {

// Pure. `labels` are the node's. What changes in a node's life (status, eligibility) is no label: the gauge with the
// former value would stay.
void set_host_gauges(Metrics& metrics, const Labels& labels, const v1::HostStats& stats);
// By what the allocations were given and how they fare.
struct AllocUse {
  v1::ClientStatus status;
  v1::AllocatedResources given;
};
void set_allocation_gauges(Metrics& metrics, const Labels& labels, const v1::Node& node,
                           const std::vector<AllocUse>& allocations);

class NodeMetrics {
 public:
  NodeMetrics(const Client& client, const Allocations& allocations) : client_(client), allocations_(allocations) {}
  ~NodeMetrics() { stop(); }
  // By telemetry.collection_interval; those of the machine when telemetry.publish_node_metrics wants them.
  void start();
  void stop();  // idempotent

 private:
  void publish();

  const Client& client_;
  const Allocations& allocations_;
  bool with_host_ = false;
  HostStatistics host_;
  std::jthread thread_;
};

}  // namespace drover::agent
