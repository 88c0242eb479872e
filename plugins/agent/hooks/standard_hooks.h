// The agent's own hooks:
//
//   allocations   make_room ──▶ alloc_dir ──▶ await_previous_allocations ──▶ migrate_disk ──▶ network
//   tasks         environment ──▶ task_dir ──▶ workload_users ──▶ secrets ──▶ logs ──▶ dispatch_payload
//                 ──▶ volumes ──▶ devices
#pragma once

#include <memory>
#include <vector>

#include "client.h"
#include "drover/alloc_hook.h"
#include "drover/plugin.h"
#include "drover/task_hook.h"

namespace drover::agent {

// The client that the hooks work with: set before the first allocation, constant from then on.
using ClientSlot = std::unique_ptr<Client>;

class StandardHooks {
 public:
  // Requires: the slot outlives it.
  explicit StandardHooks(const ClientSlot& client);
  Status declare(Declarations& declare);

 private:
  std::vector<std::unique_ptr<AllocHook>> allocs_;
  std::vector<std::unique_ptr<TaskHook>> tasks_;
};

// Room on the disk and among the node's allocations (collecting/collector.h).
std::unique_ptr<AllocHook> make_room_hook(const ClientSlot& client);
// The allocation's folders: made, and removed with it.
std::unique_ptr<AllocHook> alloc_dir_hook();
// Waits for the end of those on this node whose place the allocation takes (disk/disk_plan.h).
std::unique_ptr<AllocHook> await_previous_hook(const ClientSlot& client);
// Takes over the ephemeral disk of its predecessor, from this node or another one. A failure leaves it empty.
std::unique_ptr<AllocHook> migrate_disk_hook(const ClientSlot& client);
// The network that the tasks of a group share (group_network.h).
std::unique_ptr<AllocHook> network_hook(const ClientSlot& client);

// The variables of drover/task_environment.h.
std::unique_ptr<TaskHook> environment_hook(const ClientSlot& client);
// The task's folders, and what a task that is locked in there finds of the machine.
std::unique_ptr<TaskHook> task_dir_hook(const ClientSlot& client);
// Users for tasks that name none, where their driver can do that (users/user_pool.h); the folders of their own.
std::unique_ptr<TaskHook> workload_users_hook(const ClientSlot& client);
// The task's secrets, in memory where the agent is root (disk/secrets.h).
std::unique_ptr<TaskHook> secrets_hook();
// Collects what the task prints into files (log_collector.h).
std::unique_ptr<TaskHook> logs_hook(const ClientSlot& client);
// The payload of a dispatched job, as a file in the task's folder "local".
std::unique_ptr<TaskHook> dispatch_payload_hook();
// The machine's folders that the task mounts (disk/host_volumes.h).
std::unique_ptr<TaskHook> volumes_hook(const ClientSlot& client);
// The instances of devices that the task was given (devices.h).
std::unique_ptr<TaskHook> devices_hook(const ClientSlot& client);

}  // namespace drover::agent
