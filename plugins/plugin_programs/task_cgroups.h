// The control groups that drivers built with Nomad's own libraries expect the client to have made: one a task, below a
// parent. Other drivers do not look at them. Who may use which cores is for a hook to say (linux_resources.cpuset_cgroup).
//
//   version 2:  <parent>/share.slice/<alloc>.<task>.scope
//   version 1:  {freezer,memory,cpu}/<parent>/<alloc>.<task>
//
// Where a group cannot be made (no rights, no controllers) the task goes without; that is logged once. Thin file
// access; one owner, any thread after prepare().
#pragma once

#include <string>
#include <vector>

#include "drover/cgroup.h"
#include "drover/result.h"

namespace drover::plugin_programs {

class TaskCgroups {
 public:
  // `parent`: "nomad.slice" or "nomad" when it is empty.
  TaskCgroups(CgroupLayout layout, std::string parent);

  // Makes the parents. Errors: failed_precondition with the folder.
  Status prepare() const;
  // The path that tasks are told as NOMAD_PARENT_CGROUP; empty without control groups.
  std::string told_parent() const;
  // Version 2: the group of a task that reserves no cores, which the driver is told. Else empty.
  std::string told_path(std::string_view alloc_id, std::string_view task) const;
  Status create(std::string_view alloc_id, std::string_view task) const;
  // Those that are empty of processes; idempotent.
  void remove(std::string_view alloc_id, std::string_view task) const;

 private:
  std::vector<std::string> folders(std::string_view alloc_id, std::string_view task) const;
  std::string of(std::string_view controller) const;  // the parent in that controller's tree, version 1

  const CgroupLayout layout_;
  const bool is_v2_;
  const std::string parent_;
};

}  // namespace drover::plugin_programs
