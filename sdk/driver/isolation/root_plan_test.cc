#include "root_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

Result<DeviceNode> only_zero(const std::string& path) {
  if (path != "/dev/zero") return invalid_argument(path + " is no device");
  return DeviceNode{.is_block = false, .major = 1, .minor = 5, .mode = 0600, .user = 1, .group = 2};
}

driver::TaskConfig task_with(const char* task_path, const char* host_path, bool is_readonly, const char* mode = "") {
  driver::TaskConfig task;
  task.set_name("web");
  task.set_alloc_dir("/allocs/a");
  driver::Mount& mount = *task.add_mounts();
  mount.set_task_path(task_path);
  mount.set_host_path(host_path);
  mount.set_readonly(is_readonly);
  mount.set_propagation_mode(mode);
  return task;
}

Result<Confinement::Root> plan(const driver::TaskConfig& task) {
  return plan_root(task, "/allocs/a/web", {}, only_zero);
}

TEST(RootPlan, ShowsTheKernelMasked) {
  const Confinement::Root root = *plan({});
  EXPECT_EQ("/allocs/a/web", root.folder);
  EXPECT_TRUE(root.is_pivoted);
  std::vector<std::string> targets;
  for (const auto& mount : root.mounts) targets.push_back(mount.target);
  EXPECT_EQ(std::vector<std::string>({"/proc", "/dev", "/dev/pts", "/dev/shm", "/dev/mqueue", "/sys"}), targets);
  for (const char* path : {"/proc/kcore", "/sys/firmware"}) EXPECT_EQ(1, std::ranges::count(root.hidden, path)) << path;
  for (const char* path : {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"})
    EXPECT_EQ(1, std::ranges::count(root.not_writable, path)) << path;
  EXPECT_EQ(6U, root.devices.size());
  EXPECT_TRUE(root.files.empty());
}

TEST(RootPlan, TakesTheTasksMounts) {
  using Propagation = Confinement::Propagation;
  const struct {
    const char* name;
    driver::TaskConfig task;
    const char* target;
    uint32_t flags;
    Propagation propagation;
  } cases[] = {
      {"read only", task_with("/data", "/srv", true), "/data", Confinement::read_only, Propagation::apart},
      {"relative", task_with("data", "/srv", false), "/data", 0, Propagation::apart},
      {"from the machine", task_with("/d", "/srv", false, "host-to-task"), "/d", 0, Propagation::from_machine},
      {"both", task_with("/d", "/srv", false, "bidirectional"), "/d", 0, Propagation::both},
      {"private", task_with("/d", "/srv", false, "private"), "/d", 0, Propagation::apart},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto root = plan(c.task);
    ASSERT_TRUE(root.ok()) << root.status().to_string();
    const Confinement::Mount& mount = root->mounts.back();
    EXPECT_EQ("", mount.type);
    EXPECT_EQ("/srv", mount.source);
    EXPECT_EQ(c.target, mount.target);
    EXPECT_EQ(c.flags, mount.flags);
    EXPECT_EQ(c.propagation, mount.propagation);
  }
}

TEST(RootPlan, RefusesMountsThatCannotBe) {
  for (const auto& task : {task_with("/a/../../b", "/srv", false), task_with("/a", "srv", false),
                           task_with("/a", "/srv/../x", false), task_with("/a", "/srv", false, "sideways")})
    EXPECT_EQ(Code::invalid_argument, plan(task).status().code()) << task.mounts(0).ShortDebugString();
}

TEST(RootPlan, LeavesWhatTheAgentLaidInPlaceAndUnwritten) {
  const auto root = plan(task_with("/usr", "/allocs/a/web/usr", true));
  ASSERT_TRUE(root.ok());
  EXPECT_EQ("/usr", root->not_writable.back());
  EXPECT_EQ("/sys", root->mounts.back().target);
}

TEST(RootPlan, GivesDevices) {
  driver::TaskConfig task;
  driver::Device& device = *task.add_devices();
  device.set_host_path("/dev/zero");
  device.set_cgroup_permissions("r");
  const auto root = plan(task);
  ASSERT_TRUE(root.ok());
  EXPECT_EQ("/dev/zero", root->devices.back().target);
  EXPECT_EQ(0600U, root->devices.back().mode);
  EXPECT_EQ(CgroupLimits::Device({.type = 'c', .major = 1, .minor = 5, .access = "r"}),
            device_rules(task, only_zero)->back());
  device.set_cgroup_permissions("x");
  EXPECT_EQ("invalid cgroup permission string: \"x\"", device_rules(task, only_zero).status().message());
  device.set_host_path("/etc/passwd");
  EXPECT_EQ("/etc/passwd is no device", plan(task).status().message());
}

TEST(RootPlan, WritesResolvConfByTheNetworkOrTheMachine) {
  constexpr std::string_view kMachine =
      "# of the machine\nsearch here\nnameserver 1.1.1.1\nnameserver 2.2.2.2\noptions rotate\n";
  driver::DNSConfig dns;
  EXPECT_EQ("search here\nnameserver 1.1.1.1\nnameserver 2.2.2.2\noptions rotate\n", resolv_conf(dns, kMachine));
  dns.add_servers("10.0.0.1");
  dns.add_searches("a");
  dns.add_searches("b");
  EXPECT_EQ("search a b\nnameserver 10.0.0.1\noptions rotate\n", resolv_conf(dns, kMachine));
  dns.add_options("ndots:2");
  EXPECT_EQ("search a b\nnameserver 10.0.0.1\noptions ndots:2\n", resolv_conf(dns, ""));
}

}  // namespace
}  // namespace drover
