// The handle of a task that is a process: enough to find it again after a crash of the agent, also when its
// launcher was killed. Only the driver that wrote a handle reads it.
//
//   {"version": 1, "pid": 4711, "start_time": 81523, "started_at": 1700000000000000000, "launcher": "/run/drover-x",
//    "cgroup": "drover/…"}                                   and the state of every other part of its isolation by name
//   4711:81523                                               an older form: read, not written
//
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "process_task.h"

namespace drover {

struct ProcessHandle {
  TaskProcess process;  // `started_at` is zero in the older form
  IsolationSet::States isolation;
  std::string launcher;  // its folder, for people
};

std::string write_handle(const ProcessHandle& handle);
// Empty when it cannot be read.
std::optional<ProcessHandle> read_handle(std::string_view text);

}  // namespace drover
