// The operator's options of the driver "exec", a job's wishes for a task of it, and what follows for its isolation.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "drover/isolation.h"
#include "drover/task_options.h"

namespace drover::exec {

enum class Sharing : uint8_t { apart, with_machine };  // "private", "host"

struct Options {
  bool is_pivoted = true;
  Sharing pid_mode = Sharing::apart, ipc_mode = Sharing::apart;
  uint64_t allowed_capabilities = default_capabilities(true);
  bool no_new_privileges = true;
  bool are_calls_filtered = true;
  uint64_t pids_limit = 0;  // of one task; zero: none
  std::string cgroup_parent = "drover";
  Launcher::Options launcher{};  // without a folder: as ProcessDriver has it
};
// Errors: invalid_argument naming the option.
Result<Options> read_options(TaskOptions& raw);

struct TaskWishes {
  std::string command;
  std::vector<std::string> arguments;
  std::string pid_mode, ipc_mode;  // empty: the operator's
  CapabilityWishes capabilities;
  bool has_hard_cpu_limit = false;
  uint64_t pids_limit = 0;  // zero: the operator's
};
// Errors: invalid_argument naming the option.
Result<TaskWishes> read_wishes(TaskOptions& raw);
Result<TaskWishes> wishes_of(const driver::TaskConfig& task);

// Errors: invalid_argument for what the operator does not allow. `user`: the job's, or empty.
Result<uint32_t> own_namespaces_of(const Options& options, const TaskWishes& wishes);
Result<Rights> rights_of(const Options& options, const TaskWishes& wishes, const std::string& user);
// Those of its resources, and its devices. `processors`: of this machine.
Result<CgroupLimits> task_limits(const Options& options, const TaskWishes& wishes, const driver::TaskConfig& task,
                                 uint32_t processors);

}  // namespace drover::exec
