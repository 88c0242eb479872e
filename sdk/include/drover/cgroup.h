// Control groups of tasks, on machines with version 2, with version 1 controllers, or with both (hybrid: controllers of
// version 1, and a version 2 tree without any). A task gets one folder in every tree that is of use for it; being in
// them is what makes a task's processes findable, countable and killable whatever they do to their parents, groups and
// sessions.
//
// Detection is pure; the rest is thin file access without state. [any]
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/clock.h"
#include "drover/result.h"

namespace drover {

struct CgroupLayout {
  enum class Mode : uint8_t { none, v1, v2, hybrid };
  Mode mode = Mode::none;
  std::map<std::string, std::string> v1;  // controller → where it is mounted
  std::string v2;                         // where the unified tree is mounted, or empty
  std::string cpuset;  // where version 1 has it mounted; no part of `v1`, for a new group there can hold no process

  friend bool operator==(const CgroupLayout&, const CgroupLayout&) = default;
};
std::string_view to_string(CgroupLayout::Mode mode);

// Reads the content of /proc/self/mountinfo. Pure.
CgroupLayout parse_cgroup_mounts(std::string_view mountinfo);
// Finds those of this machine; none when the trees cannot be written to.
CgroupLayout detect_cgroups();

// A task's identifier as the name of one folder: all but letters, digits, '-', '_' and '.' becomes '_'. Pure.
std::string cgroup_name(std::string_view task_id);

struct CgroupUsage {
  std::optional<uint64_t> cpu_ns, cpu_user_ns, cpu_system_ns;
  std::optional<uint64_t> throttled_periods, throttled_ns;
  std::optional<uint64_t> memory_rss, memory_cache, memory_swap, memory_usage, memory_max_usage;
};

// One task's folders. A value: it may be made again from the same layout and path at any time.
class Cgroup {
 public:
  // `path` is relative to each tree's root: "drover/<name>".
  Cgroup(const CgroupLayout& layout, std::string path);

  const std::string& path() const { return path_; }
  bool is_empty() const { return folders_.empty(); }  // no tree is of use: every call does nothing
  bool exists() const;

  // Makes the folders; all of them or none.
  Status create() const;
  // The files that a process writes itself into, to join.
  std::vector<std::string> join_files() const;
  // All processes in it and in groups that they made below it. Sorted.
  std::vector<int> pids() const;
  // Kills every process. Errors: deadline_exceeded when some were left.
  Status kill(SteadyTime deadline) const;
  // Removes the folders and those below. Idempotent. Errors: failed_precondition while processes are inside.
  Status remove() const;

  // Processes that the kernel killed for memory; absent when no controller counts them.
  std::optional<uint64_t> oom_kills() const;
  CgroupUsage usage() const;
  // The folder of the controller ("memory", "pids", …), or empty.
  std::string folder(std::string_view controller) const;

 private:
  const std::string path_;
  std::map<std::string, std::string> controllers_;  // of version 1 → folder
  std::string unified_;
  std::vector<std::string> folders_;  // each once
  std::vector<std::string> parents_;
};

}  // namespace drover
