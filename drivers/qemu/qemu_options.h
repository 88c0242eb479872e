// The operator's options of the driver "qemu", a job's for a task of it, and which the one allows the other. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "drover/launcher.h"
#include "drover/task_options.h"

namespace drover::qemu {

struct Options {
  std::vector<std::string> image_paths;     // absolute; images that lie outside of the allocation must lie below one
  std::vector<std::string> args_allowlist;  // empty: tasks may give every argument
  std::string cgroup_parent = "drover";
  Launcher::Options launcher{};  // without a folder: as ProcessDriver has it
};
// Errors: invalid_argument naming the option.
Result<Options> read_options(TaskOptions& raw);

struct QemuTask {
  std::string image_path;
  std::string drive_interface = "ide";
  std::string accelerator = "tcg";
  bool has_graceful_shutdown = false;
  bool has_guest_agent = false;
  std::vector<std::string> arguments;
  std::map<std::string, int64_t> port_map;  // port of the guest by label
};
// Errors: invalid_argument for what cannot be read, is missing or is no kind of drive.
Result<QemuTask> read_task(TaskOptions& raw);

// Errors: invalid_argument for what the list lacks. Only words that begin with "-" are compared, whole. With a list
// each other word must be the value of one of them, for qemu takes it for a drive otherwise.
Status check_arguments(const std::vector<std::string>& arguments, const std::vector<std::string>& allowlist);

}  // namespace drover::qemu
