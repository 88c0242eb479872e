#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

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

// Drivers join the group of processors that the client has made for the task, instead of making one of their own.
TEST(ControlGroups, FollowTheClientsWordAboutCores) {
  std::string tree = "/tmp/drover-test-XXXXXX";
  ASSERT_TRUE(::mkdtemp(tree.data()));
  driver::TaskConfig task;
  task.set_id("a");
  driver::LinuxResources& given = *task.mutable_resources()->mutable_linux_resources();
  const IsolationNeeds needs{.limits = {.cpus = "0"}};
  const auto files_of = [](const TaskIsolation& isolation) {
    Launcher::Start start;
    isolation.apply(start);
    return start.cgroup_files;
  };
  using Files = std::vector<std::string>;

  std::filesystem::create_directories(tree + "/freezer");
  const auto v1 = control_groups({.mode = CgroupLayout::Mode::v1, .v1 = {{"freezer", tree + "/freezer"}}}, "drover");
  EXPECT_EQ(Code::failed_precondition, v1->set_up(task, needs).status().code()) << "nobody else sees to the cores";
  given.set_cpuset_cgroup("/cpuset/reserve/a");
  const auto made = v1->set_up(task, needs);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ((Files{tree + "/freezer/drover/a/cgroup.procs", "/cpuset/reserve/a/cgroup.procs"}), files_of(**made));
  EXPECT_EQ(files_of(**made), files_of(**v1->recover(task, (*made)->state()))) << "for commands after a restart, too";
  EXPECT_TRUE((*made)->tear_down().ok());

  // With version 2 the whole task is in there, and the part above stays when it goes.
  const std::string part = tree + "/unified/nomad.slice/share.slice";
  std::filesystem::create_directories(part);
  const auto v2 = control_groups({.mode = CgroupLayout::Mode::v2, .v2 = tree + "/unified"}, "drover");
  given.set_cpuset_cgroup(part + "/a.scope");
  const auto inside = v2->set_up(task, {});
  ASSERT_TRUE(inside.ok()) << inside.status().message();
  EXPECT_EQ("nomad.slice/share.slice/a.scope", (*inside)->state());
  EXPECT_EQ(Files{part + "/a.scope/cgroup.procs"}, files_of(**inside));
  EXPECT_TRUE((*inside)->tear_down().ok());
  EXPECT_FALSE(std::filesystem::exists(part + "/a.scope"));
  EXPECT_TRUE(std::filesystem::exists(part));
  std::filesystem::remove_all(tree);
}

}  // namespace
}  // namespace drover
