// The files that a job names for a task: those of its allocation, or all of this machine where the operator allows it.
// No link leads out of the allocation's folder. [any]
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "drover/fd.h"
#include "drover/hook.h"
#include "drover/result.h"
#include "drover/task_environment.h"

namespace drover {

struct TaskFileFolders {
  AllocFolders alloc;
  TaskFolders task;
  TaskPaths seen;  // as the task sees alloc, local and secrets
};

// By the task's own variables, where they say it: NOMAD_ALLOC_DIR, NOMAD_TASK_DIR, NOMAD_SECRETS_DIR. Pure.
TaskFileFolders task_file_folders(const AllocFolders& alloc, const TaskFolders& task, const Variables& environment);

// The path on this machine for one that a job says: as its task sees it, or relative to the task's folder. Pure.
std::string host_path(std::string_view path, const TaskFileFolders& folders);

class TaskFiles {
 public:
  TaskFiles(TaskFileFolders folders, bool is_closed) : folders_(std::move(folders)), is_closed_(is_closed) {}

  // Errors: not_found; invalid_argument when it is outside; resource_exhausted for more than 16 MiB.
  Result<std::string> read(std::string_view path) const;

  struct Ownership {
    mode_t mode = 0644;
    std::optional<uid_t> user;  // none: the agent's
    std::optional<gid_t> group;
  };
  // Replaces the file as a whole, with the folders above it. False when it was that already. Errors: invalid_argument
  // when it is outside.
  Result<bool> write(std::string_view path, std::string_view content, const Ownership& owner) const;
  // The same for a secret: only whom the folder of the task's secrets belongs to, the task's user, can read it. Where
  // that folder is open, because nobody here knows an image's users, whoever reaches it can.
  Status write_secret(std::string_view path, std::string_view content) const;

  // The folder, made where it is missing. Errors: invalid_argument when it is outside, or is none.
  Result<Fd> open_folder(std::string_view path) const;

  // Something that is another one whenever the file has changed; nothing when there is none that can be read.
  struct Mark {
    uint64_t inode = 0;
    int64_t size = 0, modified = 0;
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  std::optional<Mark> mark(std::string_view path) const;

 private:
  struct Place;
  Result<Place> place_of(std::string_view path) const;

  TaskFileFolders folders_;
  bool is_closed_;
};

}  // namespace drover
