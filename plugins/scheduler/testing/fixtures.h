// Jobs, nodes and allocations for tests.
#pragma once

#include <string>
#include <string_view>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler::testing {

// Sixteen bytes that are different for each text.
inline std::string id_of(std::string text) {
  text.resize(16, '.');
  return text;
}

inline std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[static_cast<uint8_t>(byte) >> 4U];
    hex += kDigits[static_cast<uint8_t>(byte) & 15U];
  }
  return hex;
}

inline v1::Node make_node(const std::string& name, int64_t cpu = 4000, int64_t memory_mb = 8192) {
  v1::Node node;
  node.set_id(id_of(name));
  node.set_name(name);
  node.set_datacenter("dc1");
  node.set_node_pool("default");
  node.set_computed_class("v1:" + name);
  node.set_status(v1::NODE_STATUS_READY);
  node.set_scheduling_eligibility("eligible");
  node.mutable_node_resources()->mutable_cpu()->set_cpu_shares(cpu);
  node.mutable_node_resources()->mutable_memory()->set_memory_mb(memory_mb);
  node.mutable_node_resources()->mutable_disk()->set_disk_mb(100000);
  v1::NetworkResource& network = *node.mutable_node_resources()->add_networks();
  network.set_mode("host");
  network.set_device("eth0");
  network.set_ip("10.0.0.1");
  v1::DriverInfo& driver = (*node.mutable_drivers())["mock"];
  driver.set_detected(true);
  driver.set_healthy(true);
  (*node.mutable_attributes())["kernel.name"] = "linux";
  return node;
}

inline v1::Job make_job(const std::string& type = "service", int32_t count = 1) {
  v1::Job job;
  job.set_id("web");
  job.set_name("web");
  job.set_namespace_("default");
  job.set_type(type);
  job.set_priority(50);
  job.set_node_pool("default");
  job.add_datacenters("*");
  job.set_create_index(10);
  job.set_modify_index(10);
  job.set_job_modify_index(10);
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("app");
  group.set_count(count);
  group.mutable_ephemeral_disk()->set_size_mb(300);
  group.mutable_reschedule_policy()->set_unlimited(true);
  group.mutable_reschedule_policy()->set_delay(30'000'000'000);
  group.mutable_reschedule_policy()->set_delay_function("exponential");
  group.mutable_reschedule_policy()->set_max_delay(3600'000'000'000);
  v1::Task& task = *group.add_tasks();
  task.set_name("main");
  task.set_driver("mock");
  task.mutable_resources()->set_cpu(500);
  task.mutable_resources()->set_memory_mb(256);
  return job;
}

inline v1::Allocation make_alloc(const v1::Job& job, int index, const std::string& node,
                                 v1::ClientStatus status = v1::CLIENT_STATUS_RUNNING) {
  v1::Allocation alloc;
  alloc.set_id(id_of("alloc" + std::to_string(index) + node));
  alloc.set_namespace_(job.namespace_());
  alloc.set_job_id(job.id());
  alloc.set_job_version(job.version());
  alloc.set_job_create_index(job.create_index());
  alloc.set_task_group(job.task_groups(0).name());
  alloc.set_name(job.id() + "." + alloc.task_group() + "[" + std::to_string(index) + "]");
  alloc.set_node_id(id_of(node));
  alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
  alloc.set_client_status(status);
  alloc.set_create_index(20);
  auto& task = (*alloc.mutable_allocated_resources()->mutable_tasks())["main"];
  task.mutable_cpu()->set_cpu_shares(500);
  task.mutable_memory()->set_memory_mb(256);
  alloc.mutable_allocated_resources()->mutable_shared()->set_disk_mb(300);
  return alloc;
}

}  // namespace drover::scheduler::testing
