// A task's secrets in memory: a file system of its own at the task's folder "secrets", which no disk ever sees.
//
//   folder ──mount_secrets──▶ in memory ──the agent ends, or is killed──▶ in memory, found again
//                                │ unmount_all, when its allocation is over       │ the machine starts anew
//                                ▼                                                ▼
//                              gone                                        gone, made anew with the next start
//
// unmount_strays finds what a killed agent left of an allocation that is not known any more.
//
// Needs the rights of root. [any]
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drover/fd.h"
#include "drover/hook.h"
#include "drover/mounts.h"
#include "drover/uuid.h"
#include "users/task_user.h"

namespace drover::agent {

constexpr const char* kSecretsMarker = ".nomad-mount";  // a file that says to people that they look at memory

// The folder itself, by a way that takes no link: the task's folder is anybody's. Invalid: errno says why.
Fd open_secrets(const AllocFolders& alloc, const TaskFolders& task);

struct SecretsMount {
  int64_t size_mb = 1;
  std::optional<TaskUser> owner;  // absent: the agent's, until a driver gives them to its task's user
  bool is_open = false;        // as after open_to_all
};

// Mounts it where it is not yet. Nobody but its owner may look into it, unless it is open; neither programs nor devices
// work from there.
// Requires: the folder is there. Errors: permission_denied when this process may not mount; else what went wrong.
Status mount_secrets(const AllocFolders& alloc, const TaskFolders& task, const SecretsMount& wanted);

// Opens the folder of the secrets to all who reach it. On this machine only the agent does, since the task's folder is
// its own from now on; a container is shown what is inside, and not the way there.
Status open_to_all(const TaskFolders& task);

// True while the task's secrets are in memory.
bool are_in_memory(const AllocFolders& alloc, const TaskFolders& task);

// The mounts of this agent below its folder of allocations that belong to none of `known`. Pure. `mounts`: those below
// `alloc_dir`.
std::vector<std::string> stray_mounts(const std::vector<MountPoint>& mounts, const std::string& alloc_dir,
                                      const std::set<Uuid>& known);
// Takes them away. What fails is logged.
void unmount_strays(const std::string& alloc_dir, const std::set<Uuid>& known);

// Takes away the mounts of the agent in an allocation's folder: secrets, and the shared folder where it is shown.
// Errors: failed_precondition when something else is mounted there, naming it; else what kept one from being unmounted.
Status unmount_all(const AllocFolders& alloc);

}  // namespace drover::agent
