// Shared by the benchmarks of the scheduler: time of this thread, medians, a node and a job as they all have them.
#pragma once

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "drover/uuid.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::bench {

inline double processor_us() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Ready, in dc1, with 32 GHz, 64 GiB, and the driver exec.
inline v1::Node make_node(int number) {
  v1::Node node;
  node.set_id(Uuid::random().bytes());
  node.set_name("node-" + std::to_string(number));
  node.set_datacenter("dc1");
  node.set_node_pool("default");
  node.set_computed_class("v1:1");
  node.set_status(v1::NODE_STATUS_READY);
  node.set_scheduling_eligibility("eligible");
  v1::NodeResources& resources = *node.mutable_node_resources();
  resources.mutable_cpu()->set_cpu_shares(32000);
  resources.mutable_memory()->set_memory_mb(65536);
  resources.mutable_disk()->set_disk_mb(500000);
  (*node.mutable_drivers())["exec"].set_detected(true);
  (*node.mutable_drivers())["exec"].set_healthy(true);
  return node;
}

// A service job of one group "app" with a task for exec, for every datacenter.
inline v1::Job make_service_job(const std::string& id, int count, int cpu_mhz, int memory_mb) {
  v1::Job job;
  job.set_id(id);
  job.set_namespace_("default");
  job.set_type("service");
  job.set_priority(50);
  job.set_node_pool("default");
  job.add_datacenters("*");
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("app");
  group.set_count(count);
  v1::Task& task = *group.add_tasks();
  task.set_name("main");
  task.set_driver("exec");
  task.mutable_resources()->set_cpu(cpu_mhz);
  task.mutable_resources()->set_memory_mb(memory_mb);
  return job;
}

}  // namespace drover::bench
