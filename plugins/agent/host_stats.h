// How busy this machine is, from what the operating system counts. The readers of its texts are pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drover/api/client.pb.h"
#include "drover/mutex.h"
#include "drover/result.h"

namespace drover::agent {

// Ticks since the machine started.
struct CpuTicks {
  std::string name;  // "cpu0"
  uint64_t user = 0, system = 0, idle = 0;
};
std::vector<CpuTicks> parse_cpu_ticks(std::string_view text);        // /proc/stat, each processor
v1::HostMemoryStats parse_memory_stats(std::string_view text);       // /proc/meminfo
std::vector<v1::HostDiskStats> parse_mounts(std::string_view text);  // /proc/mounts; of devices, each once

// The file system that holds the path. False when nobody can look at it.
bool measure_file_system(const std::string& path, v1::HostDiskStats& disk);

// The use of the processors between the two, by the name.
std::vector<v1::HostCpuStats> usage_between(const std::vector<CpuTicks>& before, const std::vector<CpuTicks>& after);

class HostStatistics {
 public:
  // `total_mhz`: of all processors. Errors: unavailable when the system's counters cannot be read. [any]
  Result<v1::HostStats> take(const std::string& alloc_dir, int64_t total_mhz);

 private:
  Mutex mutex_;
  std::vector<CpuTicks> before_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::agent
