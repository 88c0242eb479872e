// The monitor of a running qemu, by the socket in its task's folder.
#pragma once

#include <string>

#include "drover/result.h"

namespace drover::qemu {

// Presses the power button of the virtual machine. Does not wait for what comes of it. Errors: unavailable when nobody
// listens; what else lies in the socket's place is not touched, for the task could have laid it there.
Status press_power_button(const std::string& task_folder);

}  // namespace drover::qemu
