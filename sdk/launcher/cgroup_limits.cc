#include "cgroup_limits.h"

#include <algorithm>

namespace drover {
namespace {

constexpr uint64_t kFewestShares = 2, kMostShares = 262'144;
constexpr uint64_t kShortestPeriod = 1'000, kLongestPeriod = 1'000'000, kShortestQuota = 1'000;  // microseconds

std::string text_of(const std::optional<uint32_t>& number) { return number ? std::to_string(*number) : "*"; }

std::string line_of(const CgroupLimits::Device& device) {
  return std::string(1, device.type) + " " + text_of(device.major) + ":" + text_of(device.minor) + " " + device.access;
}

// The same share of what there is, on the scale of version 2.
uint64_t weight_of(uint64_t shares) { return 1 + (shares - kFewestShares) * 9999 / (kMostShares - kFewestShares); }

std::vector<CgroupWrite> writes_v1(const CgroupLimits& limits) {
  std::vector<CgroupWrite> writes;
  if (limits.memory_bytes) {
    const std::string bytes = std::to_string(*limits.memory_bytes);
    writes.push_back({"memory", "memory.limit_in_bytes", bytes});
    writes.push_back({"memory", "memory.memsw.limit_in_bytes", bytes, true});  // memory and swap together
    writes.push_back({"memory", "memory.swappiness", "0", true});
  }
  if (limits.memory_reserved_bytes)
    writes.push_back({"memory", "memory.soft_limit_in_bytes", std::to_string(*limits.memory_reserved_bytes)});
  if (limits.cpu_shares) writes.push_back({"cpu", "cpu.shares", std::to_string(*limits.cpu_shares)});
  if (limits.cpu_quota) {
    writes.push_back({"cpu", "cpu.cfs_period_us", std::to_string(limits.cpu_quota->period_us)});
    writes.push_back({"cpu", "cpu.cfs_quota_us", std::to_string(limits.cpu_quota->time_us)});
  }
  if (!limits.cpus.empty()) writes.push_back({"cpuset", "cpuset.cpus", limits.cpus});
  if (limits.pids) writes.push_back({"pids", "pids.max", std::to_string(*limits.pids)});
  if (limits.devices) {
    writes.push_back({"devices", "devices.deny", "a"});
    for (const CgroupLimits::Device& device : *limits.devices)
      writes.push_back({"devices", "devices.allow", line_of(device)});
  }
  return writes;
}

std::vector<CgroupWrite> writes_v2(const CgroupLimits& limits) {
  std::vector<CgroupWrite> writes;
  if (limits.memory_bytes) {
    writes.push_back({"memory", "memory.max", std::to_string(*limits.memory_bytes)});
    writes.push_back({"memory", "memory.swap.max", "0", true});
    // A task that has lost one of its processes is of no use: all of it ends.
    writes.push_back({"memory", "memory.oom.group", "1", true});
  }
  if (limits.memory_reserved_bytes)
    writes.push_back({"memory", "memory.low", std::to_string(*limits.memory_reserved_bytes)});
  if (limits.cpu_shares) writes.push_back({"cpu", "cpu.weight", std::to_string(weight_of(*limits.cpu_shares))});
  if (limits.cpu_quota)
    writes.push_back({"cpu", "cpu.max",
                      std::to_string(limits.cpu_quota->time_us) + " " + std::to_string(limits.cpu_quota->period_us)});
  if (!limits.cpus.empty()) writes.push_back({"cpuset", "cpuset.cpus", limits.cpus});
  if (limits.pids) writes.push_back({"pids", "pids.max", std::to_string(*limits.pids)});
  return writes;
}

}  // namespace

std::vector<CgroupWrite> cgroup_writes(const CgroupLimits& limits, CgroupVersion version) {
  return version == CgroupVersion::v1 ? writes_v1(limits) : writes_v2(limits);
}

Status check_limits(const CgroupLimits& limits) {
  if (limits.cpu_shares && *limits.cpu_shares < kFewestShares)
    return invalid_argument("resources.Cpu.CpuShares must be equal to or greater than 2: " +
                            std::to_string(*limits.cpu_shares));
  if (limits.cpu_shares && *limits.cpu_shares > kMostShares)
    return invalid_argument("resources.Cpu.CpuShares must be at most 262144: " + std::to_string(*limits.cpu_shares));
  if (limits.cpu_quota &&
      (limits.cpu_quota->period_us < kShortestPeriod || limits.cpu_quota->period_us > kLongestPeriod))
    return invalid_argument(
        "the period of a processor quota must be 1ms to 1s: " + std::to_string(limits.cpu_quota->period_us) + "us");
  if (limits.cpu_quota && limits.cpu_quota->time_us < kShortestQuota)
    return invalid_argument("a processor quota must be at least 1ms: " + std::to_string(limits.cpu_quota->time_us) +
                            "us");
  return ok_status();
}

}  // namespace drover
