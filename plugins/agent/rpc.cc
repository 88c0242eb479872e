#include "rpc.h"

#include "drover/held_right.h"
#include "drover/json.h"
#include "drover/uuid.h"
#include "exec_call.h"
#include "nomad/plugins/driver.pb.h"
#include "usage.h"

namespace drover::agent {
namespace {

constexpr auto kCollectTime = std::chrono::seconds(30);

v1::TaskResourceUsage to_task_usage(const driver::TaskStats& stats) {
  v1::TaskResourceUsage out;
  *out.mutable_resource_usage() = to_usage(stats.agg_resource_usage());
  out.set_timestamp(stats.timestamp().seconds() * 1'000'000'000 + stats.timestamp().nanos());
  std::string pids;
  for (const auto& [pid, usage] : stats.resource_usage_by_pid()) {
    pids += (pids.empty() ? "\"" : ",\"") + pid + "\":" + message_to_json(to_usage(usage));
  }
  out.set_pids("{" + pids + "}");
  return out;
}

// Adds those of the instances that the task was given.
void add_device_stats(const v1::AllocatedTaskResources& given, const std::vector<v1::DeviceGroupStats>& all,
                      v1::ResourceUsage& usage) {
  for (const v1::AllocatedDevice& device : given.devices()) {
    for (const v1::DeviceGroupStats& group : all) {
      if (group.vendor() != device.vendor() || group.type() != device.type() || group.name() != device.name()) continue;
      v1::DeviceGroupStats own;
      own.set_vendor(group.vendor());
      own.set_type(group.type());
      own.set_name(group.name());
      for (const std::string& id : device.device_ids()) {
        if (const auto at = group.instance_stats().find(id); at != group.instance_stats().end())
          (*own.mutable_instance_stats())[id] = at->second;
      }
      if (!own.instance_stats().empty()) *usage.add_device_stats() = std::move(own);
    }
  }
}

}  // namespace

void Rpc::attach(const Client& client, Allocations& allocations) {
  client_ = &client;
  allocations_ = &allocations;
  attached_.store(true, std::memory_order_release);
}

Result<std::shared_ptr<AllocRunner>> Rpc::find(const std::string& id, const Call& call) const {
  if (!attached_.load(std::memory_order_acquire)) return unavailable("the agent is starting");
  if (auto runner = allocations_->find(id)) {
    DROVER_RETURN_IF_ERROR(call.require(runner->spec()->allocation->namespace_()));
    return runner;
  }
  return not_found("Unknown allocation \"" + Uuid::from_bytes(id).to_string() + "\"");
}

Result<v1::ClientResponse> Rpc::restart(const v1::RestartAllocationRequest& request, Call& call) {
  if (request.all_tasks() && !request.task_name().empty()) {
    return invalid_argument("TaskName and AllTasks exclude each other: name a task, or restart all of them");
  }
  DROVER_TRY(auto runner, find(request.alloc_id(), call));
  DROVER_RETURN_IF_ERROR(request.all_tasks() ? runner->restart_all() : runner->restart(request.task_name()));
  return v1::ClientResponse();
}

Result<v1::ClientResponse> Rpc::signal(const v1::SignalAllocationRequest& request, Call& call) {
  DROVER_TRY(auto runner, find(request.alloc_id(), call));
  if (request.signal().empty()) return invalid_argument("no signal is named");
  DROVER_RETURN_IF_ERROR(runner->signal(request.task(), request.signal()));
  return v1::ClientResponse();
}

Status Rpc::exec(const v1::ExecRequest& request, Call& call, Replies<v1::ExecResponse>& replies) {
  DROVER_TRY(auto runner, find(request.alloc_id(), call));
  if (client_->config.disable_remote_exec)
    return permission_denied("this node runs no commands inside of tasks: client.disable_remote_exec is set");
  if (request.task().empty()) return invalid_argument("must provide task name");
  const TaskRunner* task = runner->task(request.task());
  if (!task) return not_found("unknown task name \"" + request.task() + "\"");
  DROVER_TRY(std::vector<std::string> command, parse_command(request.command()));
  const HeldRight right(client_->host, call, runner->spec()->allocation->namespace_());
  ExecCall caller(replies.raw(), client_->host.clock(), right.stop());
  return right.end(task->exec(std::move(command), request.tty(), caller));
}

Result<v1::AllocationStatsResponse> Rpc::stats(const v1::AllocationStatsRequest& request, Call& call) {
  DROVER_TRY(auto runner, find(request.alloc_id(), call));
  if (!request.task().empty() && !runner->task(request.task())) {
    return not_found("unknown task name \"" + request.task() + "\"");
  }
  v1::AllocationStatsResponse response;
  response.mutable_resource_usage()->mutable_cpu_stats();
  response.mutable_resource_usage()->mutable_memory_stats();
  response.set_timestamp(client_->wall_ns());
  std::optional<std::vector<v1::DeviceGroupStats>> devices;  // asked once, for the first task that has some
  for (const TaskRunner* task : runner->tasks()) {
    if (!request.task().empty() && task->name() != request.task()) continue;
    auto sample = task->stats();
    if (!sample) continue;  // it does not run at the moment
    v1::TaskResourceUsage usage = to_task_usage(*sample);
    const v1::AllocatedTaskResources given = task->spec()->given(task->name());
    if (!given.devices().empty() && !devices) devices = client_->devices.stats();
    if (devices) add_device_stats(given, *devices, *usage.mutable_resource_usage());
    add_usage(usage.resource_usage(), *response.mutable_resource_usage());
    (*response.mutable_tasks())[task->name()] = std::move(usage);
  }
  return response;
}

Result<v1::HostStats> Rpc::host_stats(const v1::HostStatsRequest&, Call&) {
  if (!attached_.load(std::memory_order_acquire)) return unavailable("the agent is starting");
  const int64_t total_mhz = client_->node()->node_resources().cpu().cpu_shares();
  DROVER_TRY(v1::HostStats stats, host_statistics_.take(client_->config.alloc_dir, total_mhz));
  stats.set_timestamp(client_->wall_ns());
  for (v1::DeviceGroupStats& group : client_->devices.stats()) *stats.add_device_stats() = std::move(group);
  return stats;
}

Result<v1::ClientResponse> Rpc::collect_garbage(const v1::GarbageCollectRequest& request, Call& call) {
  if (!attached_.load(std::memory_order_acquire)) return unavailable("the agent is starting");
  DROVER_RETURN_IF_ERROR(find(request.alloc_id(), call).status());
  DROVER_RETURN_IF_ERROR(allocations_->collect(request.alloc_id(), client_->now() + kCollectTime));
  return v1::ClientResponse();
}

Result<v1::ClientResponse> Rpc::collect_all_garbage(const v1::GarbageCollectAllRequest&, Call&) {
  if (!attached_.load(std::memory_order_acquire)) return unavailable("the agent is starting");
  allocations_->collect_all(client_->now() + kCollectTime);
  return v1::ClientResponse();
}

}  // namespace drover::agent
