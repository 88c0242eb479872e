// A lane's look at the agent's doings: the files of its tasks, and everything else that is there of it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/crash_steps/story.h"

namespace drover::crash {

struct TaskRecord {
  int starts = 0;
  std::string problem;  // empty: all is well
  std::string tail;     // of its log
};
// By the files of the allocation's folder. A task has each file at each start, runs once at a time, and no line that it
// counted is missing in its log.
std::vector<TaskRecord> records(const Lane& lane, const std::string& allocation, const Story& story);

// Processes, mounts, network, control groups and files of the lane, in a form to compare. `own`: not told.
std::string world(const Lane& lane, const std::vector<pid_t>& own);
std::string difference(const std::string& before, const std::string& after);
void remove_groups(const Lane& lane);
std::string describe(const Story& story);
void write_text(const std::string& path, const std::string& text);

}  // namespace drover::crash
