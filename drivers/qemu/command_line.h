// The command line of a task's virtual machine, and what it says of its version. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/task_driver.h"
#include "qemu_options.h"

namespace drover::qemu {

inline constexpr std::string_view kMonitorSocket = "qm.sock";  // both in the task's folder
inline constexpr std::string_view kAgentSocket = "qa.sock";

// The arguments of qemu. `image`: its resolved path. Errors: invalid_argument for memory that it does not take, a path
// that is too long for a socket, ports that the task does not have, and what is no list of cores.
Result<std::vector<std::string>> arguments_of(const QemuTask& task, const driver::TaskConfig& config,
                                              const std::string& image);

// "7.2.22" of what `qemu-system-x86_64 --version` says; nothing when it names none.
std::optional<std::string> parse_version(std::string_view text);

}  // namespace drover::qemu
