// The processors of this machine, parted between tasks that reserve cores and all others, by control groups:
//
//   version 2:  <parent>/share.slice/<task>.scope   <parent>/reserve.slice/<task>.scope
//   version 1:  cpuset/<parent>/share               cpuset/<parent>/reserve/<task>
//
// A task that reserves has a group with its cores; the shared part has what nobody reserves. The groups are all that is
// remembered: whoever looks finds who holds which core, also after a crash. The parts stay when the agent ends: its tasks
// go on in there. Thin file access. [any]
#pragma once

#include <string>
#include <string_view>

#include "drover/cgroup.h"
#include "drover/core_list.h"
#include "drover/mutex.h"
#include "drover/result.h"

namespace drover::cores {

class Partition {
 public:
  // `parent`: "nomad.slice" or "nomad" when it is empty.
  Partition(CgroupLayout layout, std::string parent);

  // Makes the parts and drops what ended tasks have left. Errors: failed_precondition, with the reason, where this
  // machine's groups cannot part its processors.
  Status open();
  // Those that the parent may use. Requires: open.
  Result<CoreList> machine() const;
  // Only these are parted from now on. Errors: failed_precondition.
  Status limit_to(CoreList reservable);

  // The group of a task that reserves nothing. With version 1 it is the whole part; with version 2 it is one of its own
  // that somebody else makes. Errors: failed_precondition.
  Result<std::string> share(std::string_view task);
  // Takes these cores from the shared part, for the task's group. Idempotent. Errors: failed_precondition.
  Result<std::string> reserve(std::string_view task, const CoreList& cores);
  // Gives back what the task has reserved, which has no process any more. Idempotent.
  void release(std::string_view task);

 private:
  std::string part(const char* name) const;
  std::string reserved_group(std::string_view task) const;
  Status make_parts() const DROVER_REQUIRES(mutex_);
  Status balance() DROVER_REQUIRES(mutex_);

  const bool is_v2_;
  const std::string tree_;    // where the groups of this controller are mounted, or empty
  const std::string parent_;  // a folder of it
  Mutex mutex_;
  CoreList reservable_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::cores
