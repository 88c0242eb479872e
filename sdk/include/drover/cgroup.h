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
  // The places where version 1 has these mounted. No parts of `v1`: a task is in them only when it is limited by them.
  std::string cpuset;
  std::string devices;

  friend bool operator==(const CgroupLayout&, const CgroupLayout&) = default;
};
std::string_view to_string(CgroupLayout::Mode mode);

// Reads the content of /proc/self/mountinfo. Pure.
CgroupLayout parse_cgroup_mounts(std::string_view mountinfo);
// Finds those of this machine; none when the trees cannot be written to.
CgroupLayout detect_cgroups();

// A task's identifier as the name of one folder: all but letters, digits, '-', '_' and '.' becomes '_'. Pure.
std::string cgroup_name(std::string_view task_id);

// One step at a group that is no task's: makes its folder, unless it is there; writes one of its files, of which the
// kernel may refuse the text. Errors: failed_precondition with the path and the reason.
Status make_cgroup(const std::string& folder);
Status write_cgroup(const std::string& file, std::string_view text);

// The limits of what the processes of one group use together.
struct CgroupLimits {
  struct Quota {
    uint64_t time_us = 0, period_us = 100'000;  // of all processors together
    friend bool operator==(const Quota&, const Quota&) = default;
  };
  // One kind of device that may be used; all others may not. Absent numbers: any.
  struct Device {
    char type = 'c';  // or 'b'
    std::optional<uint32_t> major, minor;
    std::string access = "rwm";  // read, write, make
    friend bool operator==(const Device&, const Device&) = default;
  };
  std::optional<uint64_t> memory_bytes{};           // what exceeds it is killed
  std::optional<uint64_t> memory_reserved_bytes{};  // below it others are asked first
  std::optional<uint64_t> cpu_shares{};             // from 2 to 262144, against those of others
  std::optional<Quota> cpu_quota{};
  std::string cpus{};  // "0,2-3"; empty: all
  std::optional<uint64_t> pids{};
  std::optional<std::vector<Device>> devices{};

  friend bool operator==(const CgroupLimits&, const CgroupLimits&) = default;
};

struct CgroupUsage {
  std::optional<uint64_t> cpu_ns, cpu_user_ns, cpu_system_ns;
  std::optional<uint64_t> throttled_periods, throttled_ns;
  std::optional<uint64_t> memory_rss, memory_cache, memory_swap, memory_usage, memory_max_usage;
};

// One task's folders. A value: it may be made again from the same layout and path at any time.
class Cgroup {
 public:
  // `path` is relative to each tree's root: "drover/<name>". The group above comes and goes with its tasks; one that is
  // deeper, "a/b/<name>", is somebody else's and stays.
  Cgroup(const CgroupLayout& layout, std::string path);

  const std::string& path() const { return path_; }
  bool is_empty() const { return folders_.empty(); }  // no tree is of use: every call does nothing
  bool exists() const;

  // Makes the folders, with these limits; all of them or none. Errors: failed_precondition for a limit whose controller
  // this machine lacks; invalid_argument for one that it refuses.
  Status create(const CgroupLimits& limits = {}) const;
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
  Status make_folders(bool has_cpus, bool has_devices) const;
  Status make_cpuset() const;
  Status limit(const CgroupLimits& limits) const;

  const std::string path_;
  std::map<std::string, std::string> controllers_;  // of version 1 → folder
  std::string unified_;
  std::string cpuset_, devices_;      // of version 1, or empty; there only with such limits
  std::vector<std::string> folders_;  // of the others; each once
  std::vector<std::string> parents_;
};

}  // namespace drover
