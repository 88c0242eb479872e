// Memory that ran out in a container, counted by the kernel. The engine's own word may come late or not at all: it
// hears of the end and of the memory on two ways.
//
// With control groups of version 1 the kernel counts on a descriptor: once each time that memory runs out, and once
// more when the group is gone. With version 2 no count outlives the group, and this knows nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "drover/fd.h"
#include "engine/unix_stream.h"

namespace drover::docker {

// The path of the memory group in a text as /proc/PID/cgroup has it, below where that hierarchy is mounted. Nothing:
// there is no such hierarchy. Pure.
std::optional<std::string> memory_group(std::string_view cgroup);
// Where the memory hierarchy of version 1 is mounted, from a text as /proc/self/mountinfo has it. Pure.
std::optional<std::string> memory_hierarchy(std::string_view mountinfo);

// One thread at a time.
class MemoryWatch {
 public:
  // Watches the group that this process is in. Knows nothing where that cannot be done.
  explicit MemoryWatch(int pid);

  // True when memory ran out. Nothing: it does not know, or the group was not gone in time.
  // Requires: the container has ended.
  std::optional<bool> ran_out(const Patience& patience);

 private:
  std::string group_;  // its folder
  Fd counter_;         // invalid: it knows nothing
  uint64_t count_ = 0;
};

}  // namespace drover::docker
