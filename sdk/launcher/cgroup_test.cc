#include "drover/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

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

}  // namespace
}  // namespace drover
