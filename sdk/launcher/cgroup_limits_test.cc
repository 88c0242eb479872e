#include "cgroup_limits.h"

#include <gtest/gtest.h>

namespace drover {

static void PrintTo(const CgroupWrite& write, std::ostream* out) { *out << write.file << " = " << write.text; }

namespace {

TEST(CgroupLimits, AreWrittenByVersion) {
  using Writes = std::vector<CgroupWrite>;
  const struct {
    const char* name;
    CgroupLimits limits;
    Writes v1, v2;
  } cases[] = {
      {"none", {}, {}, {}},
      {"memory",
       {.memory_bytes = 4096},
       {{"memory", "memory.limit_in_bytes", "4096"},
        {"memory", "memory.memsw.limit_in_bytes", "4096", true},
        {"memory", "memory.swappiness", "0", true}},
       {{"memory", "memory.max", "4096"},
        {"memory", "memory.swap.max", "0", true},
        {"memory", "memory.oom.group", "1", true}}},
      {"a reserve",
       {.memory_reserved_bytes = 1024},
       {{"memory", "memory.soft_limit_in_bytes", "1024"}},
       {{"memory", "memory.low", "1024"}}},
      {"the fewest shares", {.cpu_shares = 2}, {{"cpu", "cpu.shares", "2"}}, {{"cpu", "cpu.weight", "1"}}},
      {"shares", {.cpu_shares = 1024}, {{"cpu", "cpu.shares", "1024"}}, {{"cpu", "cpu.weight", "39"}}},
      {"the most shares", {.cpu_shares = 262144}, {{"cpu", "cpu.shares", "262144"}}, {{"cpu", "cpu.weight", "10000"}}},
      {"a quota",
       {.cpu_quota = CgroupLimits::Quota{.time_us = 50'000, .period_us = 20'000}},
       {{"cpu", "cpu.cfs_period_us", "20000"}, {"cpu", "cpu.cfs_quota_us", "50000"}},
       {{"cpu", "cpu.max", "50000 20000"}}},
      {"processors", {.cpus = "0,2"}, {{"cpuset", "cpuset.cpus", "0,2"}}, {{"cpuset", "cpuset.cpus", "0,2"}}},
      {"processes", {.pids = 9}, {{"pids", "pids.max", "9"}}, {{"pids", "pids.max", "9"}}},
      {"devices",
       {.devices = std::vector<CgroupLimits::Device>{{.type = 'c', .major = 1, .minor = 3, .access = "rw"},
                                                     {.type = 'b', .major = {}, .minor = {}, .access = "m"}}},
       {{"devices", "devices.deny", "a"},
        {"devices", "devices.allow", "c 1:3 rw"},
        {"devices", "devices.allow", "b *:* m"}},
       {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(c.v1, cgroup_writes(c.limits, CgroupVersion::v1));
    EXPECT_EQ(c.v2, cgroup_writes(c.limits, CgroupVersion::v2));
  }
}

TEST(CgroupLimits, RefusesNumbersThatNoKernelTakes) {
  EXPECT_EQ("resources.Cpu.CpuShares must be equal to or greater than 2: 1", check_limits({.cpu_shares = 1}).message());
  EXPECT_FALSE(check_limits({.cpu_shares = 262'145}).ok());
  EXPECT_FALSE(check_limits({.cpu_quota = CgroupLimits::Quota{.time_us = 1, .period_us = 100'000}}).ok());
  EXPECT_FALSE(check_limits({.cpu_quota = CgroupLimits::Quota{.time_us = 5'000, .period_us = 1}}).ok());
  EXPECT_TRUE(check_limits({.cpu_shares = 2}).ok());
}

}  // namespace
}  // namespace drover
