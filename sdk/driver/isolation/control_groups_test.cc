#include <gtest/gtest.h>

#include "drover/isolation.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

TEST(LimitsOf, FollowsTheTasksResources) {
  driver::TaskConfig task;
  EXPECT_EQ(CgroupLimits(), *limits_of(task));

  driver::LinuxResources& given = *task.mutable_resources()->mutable_linux_resources();
  given.set_memory_limit_bytes(256 << 20);
  given.set_cpu_shares(700);
  given.set_cpu_quota(50'000);
  given.set_cpuset_cpus("1,3-4");
  auto& memory = *task.mutable_resources()->mutable_allocated_resources()->mutable_memory();
  memory.set_memory_mb(128);
  memory.set_memory_max_mb(256);

  EXPECT_EQ(CgroupLimits({.memory_bytes = 256 << 20,
                          .memory_reserved_bytes = 128 << 20,
                          .cpu_shares = 700,
                          .cpu_quota = CgroupLimits::Quota{.time_us = 50'000, .period_us = 100'000},
                          .cpus = "1,3-4"}),
            *limits_of(task));
  memory.set_memory_max_mb(0);
  EXPECT_FALSE(limits_of(task)->memory_reserved_bytes);
}

TEST(LimitsOf, RefusesWhatIsNoListOfProcessors) {
  driver::TaskConfig task;
  task.mutable_resources()->mutable_linux_resources()->set_cpuset_cpus("0\n1");
  EXPECT_EQ(Code::invalid_argument, limits_of(task).status().code());
}

TEST(ControlGroups, RefuseToLimitWithoutAny) {
  driver::TaskConfig task;
  task.set_id("a");
  EXPECT_EQ(failed_precondition("this machine has no control groups by which the task could be limited"),
            control_groups({}, "drover")->set_up(task, {.limits = {.pids = 1}}).status());
  EXPECT_TRUE(control_groups({}, "drover")->set_up(task, {}).ok());
}

}  // namespace
}  // namespace drover
