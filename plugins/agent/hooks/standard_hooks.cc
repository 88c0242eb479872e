#include "standard_hooks.h"

namespace drover::agent {

StandardHooks::StandardHooks(const ClientSlot& client) {
  allocs_.push_back(make_room_hook(client));
  allocs_.push_back(alloc_dir_hook());
  allocs_.push_back(await_previous_hook(client));
  allocs_.push_back(migrate_disk_hook(client));
  allocs_.push_back(network_hook(client));
  tasks_.push_back(environment_hook(client));
  tasks_.push_back(task_dir_hook(client));
  tasks_.push_back(workload_users_hook(client));
  tasks_.push_back(secrets_hook());
  tasks_.push_back(logs_hook(client));
  tasks_.push_back(dispatch_payload_hook());
  tasks_.push_back(volumes_hook(client));
  tasks_.push_back(devices_hook(client));
}

Status StandardHooks::declare(Declarations& declare) {
  for (const auto& hook : allocs_) DROVER_RETURN_IF_ERROR(declare.extend<AllocHook>(hook->info().name, *hook));
  for (const auto& hook : tasks_) DROVER_RETURN_IF_ERROR(declare.extend<TaskHook>(hook->info().name, *hook));
  return ok_status();
}

}  // namespace drover::agent
