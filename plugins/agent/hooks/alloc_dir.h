// An allocation's folders: <root>/<allocation>/alloc/{data,logs,tmp} and
// <root>/<allocation>/<task>/{local,secrets,tmp}.
//
// A name from a job becomes part of a path only when it is one plain component. [any]
#pragma once

#include <string>
#include <string_view>

#include "drover/hook.h"
#include "drover/task_environment.h"
#include "drover/uuid.h"

namespace drover::agent {

AllocFolders alloc_folders(const std::string& alloc_dir, Uuid allocation);
TaskFolders task_folders(const AllocFolders& alloc, const std::string& task);

// The modes are those that docs/operator/disk.md shows.
Status create_folders(const AllocFolders& alloc);
// The task's folder alone. Errors: as the following.
Status create_task_root(const std::string& task, const TaskFolders& folders);
// Errors: invalid_argument for a task whose name is not one plain component.
Status create_task_folders(const std::string& task, const TaskFolders& folders);
// Shows the shared folder as "alloc" in the task's own, for one that is locked in there. Root only. Idempotent.
Status show_shared(const AllocFolders& alloc, const std::string& task_root);
// Takes away the agent's mounts, too. Errors: those of unmount_all (disk/secrets.h); then nothing is removed.
Status remove_folders(const AllocFolders& alloc);

// The paths that the task sees: the machine's, or those inside its own file system.
TaskPaths paths_seen(const AllocFolders& alloc, const TaskFolders& task, bool is_isolated);

// One path component that is not "." or "..", without slash, backslash or NUL, and not the shared folder's name.
bool is_plain_name(std::string_view name);

}  // namespace drover::agent
