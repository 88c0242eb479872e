#include "alloc_details.h"

#include "drover/model/job.h"

namespace drover::scheduler {
namespace {

v1::Resources empty_resources() {
  v1::Resources resources;
  resources.set_cpu(0);
  resources.set_cores(0);
  resources.set_memory_mb(0);
  resources.set_memory_max_mb(0);
  resources.set_disk_mb(0);
  resources.set_iops(0);
  return resources;
}

void add(const v1::AllocatedTaskResources& from, v1::Resources& to) {
  to.set_cpu(to.cpu() + static_cast<int32_t>(from.cpu().cpu_shares()));
  to.set_cores(to.cores() + from.cpu().reserved_cores_size());
  to.set_memory_mb(to.memory_mb() + static_cast<int32_t>(from.memory().memory_mb()));
  to.set_memory_max_mb(to.memory_max_mb() + static_cast<int32_t>(from.memory().memory_max_mb()));
  to.mutable_networks()->MergeFrom(from.networks());
}

void add(const v1::AllocatedSharedResources& from, v1::Resources& to) {
  to.set_disk_mb(to.disk_mb() + static_cast<int32_t>(from.disk_mb()));
  to.mutable_networks()->MergeFrom(from.networks());
}

}  // namespace

v1::AllocationWithJob details_of(v1::Allocation alloc, std::optional<v1::Job> job) {
  v1::AllocationWithJob details;
  if (alloc.has_allocated_resources()) {
    v1::AllocatedResources& resources = *alloc.mutable_allocated_resources();
    v1::Resources all = empty_resources();
    for (const auto& [name, task] : resources.tasks()) {
      v1::Resources& own = (*details.mutable_task_resources())[name];
      own = empty_resources();
      add(task, own);
      add(task, all);
      (*resources.mutable_task_lifecycles())[name];  // null: a main task
    }
    *details.mutable_shared_resources() = empty_resources();
    add(resources.shared(), *details.mutable_shared_resources());
    add(resources.shared(), all);
    *details.mutable_resources() = std::move(all);
    const v1::TaskGroup* group = job ? find_group(*job, alloc.task_group()) : nullptr;
    for (int i = 0; group && i < group->tasks_size(); ++i) {
      const v1::Task& task = group->tasks(i);
      if (task.has_lifecycle()) (*resources.mutable_task_lifecycles())[task.name()] = task.lifecycle();
    }
  }
  if (job) *details.mutable_job() = *std::move(job);
  *details.mutable_allocation() = std::move(alloc);
  return details;
}

}  // namespace drover::scheduler
