#include "drover/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace drover {
namespace {

using Mode = CgroupLayout::Mode;

TEST(Cgroup, ReadsTheLayoutFromTheMounts) {
  const struct {
    const char* name;
    const char* mounts;
    CgroupLayout expected;
  } cases[] = {
      {"nothing", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", {}},
      {"version 2",
       "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
       {.mode = Mode::v2, .v1 = {}, .v2 = "/sys/fs/cgroup"}},
      {"version 1, two controllers in one tree",
       "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
       "33 31 0:30 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n",
       {.mode = Mode::v1,
        .v1 = {{"cpu", "/sys/fs/cgroup/cpu,cpuacct"}, {"cpuacct", "/sys/fs/cgroup/cpu,cpuacct"}},
        .v2 = "",
        .cpuset = "",
        .devices = "/sys/fs/cgroup/devices"}},
      {"both",
       "36 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
       "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
       "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
       {.mode = Mode::hybrid, .v1 = {{"memory", "/sys/fs/cgroup/memory"}}, .v2 = "/sys/fs/cgroup/unified"}},
      {"a path with a space",
       "30 25 0:26 / /mnt/c\\040g rw - cgroup2 none rw\n",
       {.mode = Mode::v2, .v1 = {}, .v2 = "/mnt/c g"}},
      {"lines that are cut", "30 25\n30 25 0:26 / - cgroup2\n - \n", {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(c.expected, parse_cgroup_mounts(c.mounts));
  }
}

TEST(Cgroup, NamesOneFolderForATask) {
  EXPECT_EQ("5f1c-01_web_0a1b2c3d", cgroup_name("5f1c-01/web/0a1b2c3d"));
  EXPECT_EQ("_.._.._etc", cgroup_name("../../etc"));
  EXPECT_EQ("_", cgroup_name(""));
  EXPECT_EQ(200u, cgroup_name(std::string(500, 'x')).size());
}

TEST(Cgroup, IsMadeAndRemovedWhole) {
  const CgroupLayout layout = detect_cgroups();
  if (layout.mode == Mode::none) GTEST_SKIP() << "missing: writable control groups";
  const Cgroup group(layout, "drover-test-cgroup-" + std::to_string(getpid()) + "/task");
  const Cgroup parent(layout, "drover-test-cgroup-" + std::to_string(getpid()));
  EXPECT_FALSE(group.exists());

  ASSERT_TRUE(group.create().ok());

  EXPECT_TRUE(group.exists());
  EXPECT_TRUE(group.pids().empty());
  EXPECT_TRUE(group.kill(SystemClock().steady()).ok());
  EXPECT_EQ(group.folder("memory").empty() ? std::nullopt : std::optional<uint64_t>(0), group.oom_kills());
  EXPECT_TRUE(group.remove().ok());
  EXPECT_FALSE(group.exists());
  EXPECT_TRUE(group.remove().ok());
  EXPECT_TRUE(parent.remove().ok());
  EXPECT_FALSE(parent.exists());
}

TEST(Cgroup, ManyComeAndGoBelowOneParent) {
  const CgroupLayout layout = detect_cgroups();
  if (layout.mode == Mode::none) GTEST_SKIP() << "missing: writable control groups";
  const std::string parent = "drover-test-" + std::to_string(getpid()) + "-many";
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 150; ++i) {
        const Cgroup group(layout, parent + "/task-" + std::to_string(thread));
        EXPECT_EQ(group.create(), ok_status());
        EXPECT_EQ(group.remove(), ok_status());
      }
    });
  }
}

TEST(Cgroup, LimitsByTheControllersThatThereAre) {
  const CgroupLayout layout = detect_cgroups();
  const std::string parent = "drover-test-limits-" + std::to_string(getpid());
  const Cgroup group(layout, parent + "/task");
  if (group.folder("memory").empty() || group.folder("pids").empty() || group.folder("cpuset").empty())
    GTEST_SKIP() << "missing: writable controllers memory, pids and cpuset";

  const Status made = group.create({.memory_bytes = 64 << 20, .cpus = "0", .pids = 40});

  ASSERT_TRUE(made.ok()) << made.to_string();
  const auto read = [&](const char* controller, const std::string& file) {
    std::ifstream in(group.folder(controller) + "/" + file);
    std::string text;
    in >> text;
    return text;
  };
  const bool is_v2 = layout.mode == Mode::v2;
  EXPECT_EQ("67108864", read("memory", is_v2 ? "memory.max" : "memory.limit_in_bytes"));
  EXPECT_EQ("40", read("pids", "pids.max"));
  EXPECT_EQ("0", read("cpuset", "cpuset.cpus"));
  EXPECT_EQ(Code::invalid_argument, Cgroup(layout, parent + "/other").create({.cpus = "100000"}).code());
  EXPECT_TRUE(group.remove().ok());
  EXPECT_FALSE(Cgroup(layout, parent).exists());
  EXPECT_FALSE(std::filesystem::exists(layout.cpuset + "/" + parent)) << layout.cpuset;
}

TEST(Cgroup, RefusesALimitWithoutItsController) {
  const CgroupLayout layout = detect_cgroups();
  if (layout.v2.empty() || layout.mode != Mode::hybrid)
    GTEST_SKIP() << "missing: a tree of version 2 without controllers";
  const Cgroup group({.mode = Mode::v2, .v1 = {}, .v2 = layout.v2}, "drover-test-none-" + std::to_string(getpid()));

  EXPECT_EQ(
      failed_precondition("this machine has no controller \"memory\" of control groups, by which the task is to be "
                          "limited"),
      group.create({.memory_bytes = 1 << 20}));

  EXPECT_FALSE(group.exists());
  EXPECT_TRUE(group.create({.devices = std::vector<CgroupLimits::Device>{}}).ok());
  EXPECT_TRUE(group.remove().ok());
}

}  // namespace
}  // namespace drover
