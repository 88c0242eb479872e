// Processes of this machine, named so that a number that the kernel gave to another one is never taken for the first:
// by pid and start time. Reads /proc; no state. [any]
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace drover {

struct ProcessStat {
  pid_t pid = 0, parent = 0, group = 0, session = 0;
  char state = '?';  // 'Z': ended and not yet collected
  uint64_t user_ticks = 0, system_ticks = 0;
  uint64_t start_time = 0;  // ticks since boot
  uint64_t resident_pages = 0;
};

// The content of /proc/<pid>/stat. Pure. Empty when it is not one.
std::optional<ProcessStat> parse_stat(std::string_view text);
std::optional<ProcessStat> process_stat(pid_t pid);
std::optional<uint64_t> process_start_time(pid_t pid);
// All processes, in no order.
std::vector<ProcessStat> all_processes();
// Returns, from `all`, the process, its group, its session and their descendants. Empty when its number went to another
// process, which the kernel does only when nobody is left in its group and session. Pure. A process that left the
// session and lost its parent is not found this way; control groups are there for that.
std::vector<ProcessStat> tree_of(pid_t root, uint64_t start_time, const std::vector<ProcessStat>& all);

// Mean over this machine's cores; zero where it does not tell.
double mhz_per_core();

// A descriptor of exactly this process (pidfd), or -1: it is gone, or the number belongs to another one by now.
int open_process(pid_t pid, uint64_t start_time);
// False: it was gone already.
bool signal_process(pid_t pid, uint64_t start_time, int signal);

// Stops and kills `root` and all of its tree; true when nothing of it was left within the limit.
bool kill_tree(pid_t root, uint64_t start_time, int limit_ms);

}  // namespace drover
