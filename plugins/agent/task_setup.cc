#include "task_setup.h"

#include <algorithm>

#include "drover/task_driver.h"
#include "nomad/plugins/device.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {
namespace {

void set_resources(const AllocSpec& spec, const std::string& task, int64_t total_mhz, driver::Resources& out) {
  const v1::AllocatedResources& all = spec.allocation.allocated_resources();
  if (auto at = all.tasks().find(task); at != all.tasks().end()) {
    const int64_t mhz = at->second.cpu().cpu_shares();
    const int64_t memory = at->second.memory().memory_mb();
    const int64_t memory_max = at->second.memory().memory_max_mb();
    out.mutable_allocated_resources()->mutable_cpu()->set_cpu_shares(mhz);
    out.mutable_allocated_resources()->mutable_memory()->set_memory_mb(memory);
    out.mutable_allocated_resources()->mutable_memory()->set_memory_max_mb(memory_max);
    out.mutable_linux_resources()->set_cpu_shares(mhz);
    out.mutable_linux_resources()->set_memory_limit_bytes(std::max(memory, memory_max) << 20);
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

void set_devices(const device::ContainerReservation& reserved, driver::TaskConfig& out) {
  for (const auto& [name, value] : reserved.envs()) (*out.mutable_device_env())[name] = value;
  for (const device::Mount& from : reserved.mounts()) {
    driver::Mount& mount = *out.add_mounts();
    mount.set_host_path(from.host_path());
    mount.set_task_path(from.task_path());
    mount.set_readonly(from.read_only());
  }
  for (const device::DeviceSpec& from : reserved.devices()) {
    driver::Device& device = *out.add_devices();
    device.set_host_path(from.host_path());
    device.set_task_path(from.task_path());
    device.set_cgroup_permissions(from.permissions());
  }
}

}  // namespace

Status check_supported(const v1::Task& task, const v1::TaskGroup& group) {
  const std::pair<const char*, bool> blocks[] = {
      {"vault", task.has_vault()},
      {"template", task.templates_size() > 0},
      {"artifact", task.artifacts_size() > 0},
      {"dispatch_payload", task.has_dispatch_payload()},
      {"volume_mount", task.volume_mounts_size() > 0},
      {"csi_plugin", task.has_csi_plugin_config()},
      {"identity", task.identity().env() || task.identity().file() || task.identities_size() > 0}};
  for (const auto& [name, is_used] : blocks) {
    if (is_used) return invalid_argument(std::string("this client does not support the block ") + name);
  }
  if (group.volumes_size() > 0) return invalid_argument("this client does not support the block volume");
  for (const v1::NetworkResource& network : group.networks()) {
    if (!network.mode().empty() && network.mode() != "host" && network.mode() != "none") {
      return invalid_argument("this client does not support the network mode \"" + network.mode() + "\"");
    }
  }
  return ok_status();
}

LogStream log_stream(const AllocDir& dir, const v1::Task& task, std::string_view type) {
  LogStream stream{.folder = dir.logs(), .task = task.name(), .type = std::string(type)};
  const v1::LogConfig& config = task.log_config();
  if (config.max_files() > 0) stream.limits.files = static_cast<uint64_t>(config.max_files());
  if (config.max_file_size_mb() > 0) stream.limits.bytes = static_cast<uint64_t>(config.max_file_size_mb()) << 20;
  return stream;
}

Result<TaskSetup> set_up_task(const TaskSetupInput& input) {
  const AllocSpec& spec = input.spec;
  const v1::Task& task = input.task;
  auto node = input.client.node();
  const std::string region = input.client.host.agent().region;
  const Variables node_values = node_variables(*node, region);
  const auto isolation = input.capabilities.fs_isolation();
  const bool has_image = isolation == driver::DriverCapabilities::IMAGE;
  const bool has_own_files = has_image || isolation == driver::DriverCapabilities::CHROOT;
  const EnvironmentInput wanted{.job = spec.job,
                                .allocation = spec.allocation,
                                .task = task,
                                .node = node_values,
                                .region = region,
                                .datacenter = node->datacenter(),
                                .paths = input.dir.paths_for(task.name(), has_own_files),
                                .host = has_image ? nullptr : &input.client.host_environment};
  Variables environment = task_environment(wanted);
  for (const auto& [name, value] : input.devices.envs()) environment[name] = value;
  DROVER_TRY(std::string config, driver_config(task.config(), environment, node_values));

  TaskSetup setup{std::move(config), std::make_unique<driver::TaskConfig>()};
  driver::TaskConfig& out = *setup.config;
  out.set_id(input.id);
  out.set_name(task.name());
  out.mutable_env()->insert(environment.begin(), environment.end());
  set_devices(input.devices, out);
  set_resources(spec, task.name(), node->node_resources().cpu().cpu_shares(), *out.mutable_resources());
  out.set_user(interpolate(task.user(), environment, node_values));
  out.set_alloc_dir(input.dir.path());
  const bool logged = !task.log_config().disabled();
  out.set_stdout_path(logged ? log_stream(input.dir, task, "stdout").fifo() : "/dev/null");
  out.set_stderr_path(logged ? log_stream(input.dir, task, "stderr").fifo() : "/dev/null");
  out.set_task_group_name(spec.allocation.task_group());
  out.set_job_name(spec.job.name());
  out.set_alloc_id(Uuid::from_bytes(spec.allocation.id()).to_string());
  out.set_job_id(spec.job.id());
  out.set_namespace_(spec.allocation.namespace_());
  out.set_node_name(node->name());
  out.set_node_id(input.client.identity.id.to_string());
  out.set_parent_job_id(spec.job.parent_id());
  return setup;
}

}  // namespace drover::agent
