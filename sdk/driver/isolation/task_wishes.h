// A task's isolation as its operator and its job say it, and what follows. Pure.
#pragma once

#include <string>

#include "drover/isolated_driver.h"

namespace drover {

// All of the operator's but no_pivot_root. Errors: invalid_argument naming the option.
Result<IsolationOptions> read_isolation_options(TaskOptions& raw);

// A job's.
struct TaskWishes {
  std::string pid_mode, ipc_mode;  // empty: the operator's
  CapabilityWishes capabilities;
  bool has_hard_cpu_limit = false;
  uint64_t pids_limit = 0;  // zero: the operator's
};
// Errors: invalid_argument naming the option.
Result<TaskWishes> read_wishes(TaskOptions& raw);

// Errors: invalid_argument for what the operator does not allow. `user`: the job's, or empty.
Result<uint32_t> own_namespaces_of(const IsolationOptions& options, const TaskWishes& wishes);
Result<Rights> rights_of(const IsolationOptions& options, const TaskWishes& wishes, const std::string& user);
// Those of its resources, and its devices. `processors`: of this machine.
Result<CgroupLimits> task_limits(const IsolationOptions& options, const TaskWishes& wishes,
                                 const driver::TaskConfig& task, uint32_t processors);

}  // namespace drover
