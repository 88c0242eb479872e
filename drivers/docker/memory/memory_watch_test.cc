#include "memory/memory_watch.h"

#include <gtest/gtest.h>

namespace drover::docker {
namespace {

TEST(MemoryWatch, FindsTheGroupOfAProcess) {
  struct Case {
    const char* name;
    const char* text;
    std::optional<std::string> group;
  };
  const Case cases[] = {
      {"alone", "3:memory:/docker/abc\n", "/docker/abc"},
      {"among others", "5:cpu:/x\n4:hugetlb,memory:/libpod_parent/libpod-1\n1:name=systemd:/y\n",
       "/libpod_parent/libpod-1"},
      {"a colon in its path", "3:memory:/a:b\n", "/a:b"},
      {"without an end of line", "3:memory:/docker/abc", "/docker/abc"},
      {"version 2", "0::/system.slice/docker-abc.scope\n", std::nullopt},
      {"another of a like name", "3:memoryless:/docker/abc\n", std::nullopt},
      {"no groups", "", std::nullopt},
      {"nonsense", "memory\n:\n3:memory\n", std::nullopt},
  };
  for (const Case& c : cases) EXPECT_EQ(c.group, memory_group(c.text)) << c.name;
}

TEST(MemoryWatch, FindsTheHierarchy) {
  const std::string cpu = "33 32 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n";
  const std::string memory = "36 32 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";
  const std::string unified = "41 32 0:36 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
  EXPECT_EQ("/sys/fs/cgroup/memory", memory_hierarchy(cpu + memory + unified));
  EXPECT_EQ(std::nullopt, memory_hierarchy(cpu + unified));
  EXPECT_EQ(std::nullopt, memory_hierarchy(""));
}

TEST(MemoryWatch, KnowsNothingOfAProcessThatIsNotThere) {
  EXPECT_EQ(std::nullopt, MemoryWatch(0).ran_out({}));
  EXPECT_EQ(std::nullopt, MemoryWatch(-1).ran_out({}));
}

}  // namespace
}  // namespace drover::docker
