// An allocation's folders: <root>/<allocation>/alloc/{data,logs,tmp} and
// <root>/<allocation>/<task>/{local,secrets,tmp}.
//
// A name from a job becomes part of a path only when it is one plain component. [any]
#pragma once

#include <string>

#include "drover/result.h"
#include "drover/uuid.h"
#include "environment.h"

namespace drover::agent {

class AllocDir {
 public:
  AllocDir(const std::string& root, Uuid allocation) : path_(root + "/" + allocation.to_string()) {}

  const std::string& path() const { return path_; }
  std::string shared() const { return path_ + "/alloc"; }
  std::string logs() const { return path_ + "/alloc/logs"; }
  // Requires: is_plain_name(task).
  std::string task(const std::string& task) const { return path_ + "/" + task; }

  Status create() const;
  // Errors: invalid_argument for a name that is not one plain component.
  Status create_task(const std::string& task) const;
  // Shows the shared folder as "alloc" in the task's own, for one that is locked in there. Root only. Idempotent.
  Status show_shared(const std::string& task) const;
  Status remove() const;

  // What the task sees: the machine's paths, or those inside its own file system.
  TaskPaths paths_for(const std::string& task, bool isolated) const;

 private:
  std::string path_;
};

// One path component that is not "." or "..", without slash, backslash or NUL, and not the shared folder's name.
bool is_plain_name(std::string_view name);

}  // namespace drover::agent
