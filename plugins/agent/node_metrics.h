// Gauges of this machine and its allocations, set anew at each interval.
//
// Owned by the plugin. Thread "node-metrics".
#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "allocations.h"
#include "client.h"
#include "drover/metrics.h"
#include "host_stats.h"

namespace drover::agent {

// Pure. `labels` are the node's. A property that changes in a node's life (status, eligibility) is no label: the gauge
// with the former value would stay.
void set_host_gauges(Metrics& metrics, const Labels& labels, const v1::HostStats& stats);
// Sets gauges by what the allocations were given and how they fare.
struct AllocUse {
  v1::ClientStatus status;
  v1::AllocatedResources given;
};
void set_allocation_gauges(Metrics& metrics, const Labels& labels, const v1::Node& node,
                           const std::vector<AllocUse>& allocations);

// The present use of one allocation's tasks, by task; `labels` are the node's.
struct TaskUse {
  Labels labels;  // those of the task: alloc_id, job, task_group, task, namespace
  v1::ResourceUsage usage;
  v1::AllocatedTaskResources given;
};
// As name, labels and value: nomad.client.allocs.cpu.* and .memory.*. Pure.
struct GaugeValue {
  std::string name;
  Labels labels;
  double value;
};
std::vector<GaugeValue> task_gauges(const TaskUse& use);

class NodeMetrics {
 public:
  NodeMetrics(const Client& client, const Allocations& allocations)
      : client_(client), allocations_(allocations), tasks_(client.host.metrics()) {}
  ~NodeMetrics() { stop(); }
  // By telemetry.collection_interval; those of the machine when telemetry.publish_node_metrics wants them, those of
  // tasks when telemetry.publish_allocation_metrics does.
  void start();
  void stop();  // idempotent

 private:
  void publish();
  void publish_tasks(const Labels& labels);

  const Client& client_;
  const Allocations& allocations_;
  bool with_host_ = false;
  bool with_tasks_ = false;
  GaugeSet tasks_;
  HostStatistics host_;
  std::jthread thread_;
};

}  // namespace drover::agent
