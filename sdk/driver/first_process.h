// Signals to the first process of a pid namespace: the kernel drops those that it does not handle, so that a plain
// program in there ends by nothing but SIGKILL. A signal that would end it elsewhere shall end it there, too.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace drover {

// True when a process with this /proc/<pid>/status would never see the signal, which ends every other process that does
// not handle it. Pure.
bool is_lost_signal(std::string_view status, int signal);

// Sends it, or SIGKILL in place of one that would be lost. False: the process was gone already.
bool signal_first_process(pid_t pid, uint64_t start_time, int signal);

}  // namespace drover
