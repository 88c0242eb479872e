#include "task_setup.h"

#include <algorithm>

#include "drover/task_driver.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {
namespace {

void set_resources(const AllocSpec& spec, const std::string& task, int64_t total_mhz, driver::Resources& out) {
  const v1::AllocatedResources& all = spec.allocation->allocated_resources();
  if (all.tasks().contains(task)) {
    const v1::AllocatedTaskResources& given = spec.given(task);
    const int64_t mhz = given.cpu().cpu_shares();
    const int64_t memory = given.memory().memory_mb();
    const int64_t memory_max = given.memory().memory_max_mb();
    out.mutable_allocated_resources()->mutable_cpu()->set_cpu_shares(mhz);
    out.mutable_allocated_resources()->mutable_memory()->set_memory_mb(memory);
    out.mutable_allocated_resources()->mutable_memory()->set_memory_max_mb(memory_max);
    out.mutable_linux_resources()->set_cpu_shares(mhz);
    out.mutable_linux_resources()->set_memory_limit_bytes(std::max(memory, memory_max) << 20);
    std::string& cores = *out.mutable_linux_resources()->mutable_cpuset_cpus();
    for (const uint32_t core : given.cpu().reserved_cores()) cores += (cores.empty() ? "" : ",") + std::to_string(core);
    if (total_mhz > 0) {
      out.mutable_linux_resources()->set_percentticks(static_cast<double>(mhz) / static_cast<double>(total_mhz));
    }
  }
  for (const v1::PortMapping& port : all.shared().ports()) {
    driver::PortMapping& mapping = *out.add_ports();
    mapping.set_label(port.label());
    mapping.set_value(port.value());
    mapping.set_to(port.to());
    mapping.set_host_ip(port.host_ip());
  }
}

}  // namespace

Result<TaskSetup> set_up_task(const TaskSetupInput& input) {
  const v1::Allocation& allocation = *input.spec.allocation;
  const v1::Job& job = *input.spec.job;
  const v1::Task& task = input.task;
  const auto node = input.client.node();
  const Variables environment(input.hooked.env().begin(), input.hooked.env().end());
  DROVER_TRY(std::string config, driver_config(task.config(), environment, input.node));

  TaskSetup setup{std::move(config), std::make_unique<driver::TaskConfig>(input.hooked)};
  driver::TaskConfig& out = *setup.config;
  out.set_id(input.id);
  out.set_name(task.name());
  set_resources(input.spec, task.name(), node->node_resources().cpu().cpu_shares(), *out.mutable_resources());
  if (out.user().empty()) out.set_user(interpolate(task.user(), environment, input.node));
  out.set_alloc_dir(input.folders.root);
  out.set_task_group_name(allocation.task_group());
  out.set_job_name(job.name());
  out.set_alloc_id(Uuid::from_bytes(allocation.id()).to_string());
  out.set_job_id(job.id());
  out.set_namespace_(allocation.namespace_());
  out.set_node_name(node->name());
  out.set_node_id(input.client.identity.id.to_string());
  out.set_parent_job_id(job.parent_id());
  return setup;
}

void set_dns(const AllocSpec& spec, const v1::NetworkStatus& network, driver::TaskConfig& out) {
  const bool has_own = spec.group && spec.group->networks_size() > 0 && spec.group->networks(0).has_dns();
  if (!has_own && !network.has_dns()) return;
  const v1::DnsConfig& dns = has_own ? spec.group->networks(0).dns() : network.dns();
  *out.mutable_dns()->mutable_servers() = dns.servers();
  *out.mutable_dns()->mutable_searches() = dns.searches();
  *out.mutable_dns()->mutable_options() = dns.options();
}

}  // namespace drover::agent
