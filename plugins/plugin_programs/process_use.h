// The resources that a process of this machine uses, read from /proc; zero where it cannot be read. No state. [any]
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace drover::plugin_programs {

struct ProcessUse {
  uint64_t memory = 0;  // bytes, resident
  int64_t cpu_ns = 0;
};
ProcessUse process_use(pid_t pid);

uint64_t open_descriptors(pid_t pid);
uint64_t descriptor_limit(pid_t pid);

}  // namespace drover::plugin_programs
