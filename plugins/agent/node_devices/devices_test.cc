// The decisions about devices and about the machine's counters, by tables.
#include "node_devices/device_groups.h"

#include <gtest/gtest.h>

#include <functional>

#include "host_stats.h"
#include "node_metrics.h"

namespace drover::agent {
namespace {

namespace device = hashicorp::nomad::plugins::device;

device::DeviceGroup group(const std::string& vendor, const std::string& name, const std::vector<std::string>& ids) {
  device::DeviceGroup out;
  out.set_vendor(vendor);
  out.set_device_type("gpu");
  out.set_device_name(name);
  for (const std::string& id : ids) {
    device::DetectedDevice& instance = *out.add_devices();
    instance.set_id(id);
    instance.set_healthy(true);
  }
  return out;
}

DevicesOf plugin(const std::string& name, const std::vector<device::DeviceGroup>& groups) {
  DevicesOf out{.plugin = name, .said = {}};
  for (const device::DeviceGroup& one : groups) *out.said.add_device_group() = one;
  return out;
}

TEST(DeviceInventory, HoldsWhatAllPluginsSaySorted) {
  device::DeviceGroup t4 = group("nvidia", "T4", {"b", "a"});
  t4.mutable_devices(0)->mutable_hw_locality()->set_pci_bus_id("0000:01:00.0");
  t4.mutable_devices(1)->set_healthy(false);
  t4.mutable_devices(1)->set_health_description("too hot");
  (*t4.mutable_attributes())["memory"].set_int_val(16);
  (*t4.mutable_attributes())["memory"].set_unit("GiB");
  (*t4.mutable_attributes())["share"].set_float_val(0.5);
  (*t4.mutable_attributes())["display"].set_bool_val(false);

  const DeviceInventory inventory = take_inventory({plugin("one", {t4}), plugin("two", {group("amd", "MI50", {"x"})})});

  EXPECT_TRUE(inventory.problems.empty());
  ASSERT_EQ(2, inventory.resources.devices_size());
  EXPECT_EQ("amd", inventory.resources.devices(0).vendor());
  EXPECT_EQ((std::map<std::string, size_t>{{"amd/gpu/MI50", 1}, {"nvidia/gpu/T4", 0}}), inventory.owner);
  const v1::NodeDeviceResource& nvidia = inventory.resources.devices(1);
  EXPECT_EQ("a", nvidia.instances(0).id());
  EXPECT_EQ("too hot", nvidia.instances(0).health_description());
  EXPECT_FALSE(nvidia.instances(0).has_locality());
  EXPECT_EQ("0000:01:00.0", nvidia.instances(1).locality().pci_bus_id());
  EXPECT_EQ("GiB", nvidia.attributes().at("memory").unit());
  EXPECT_DOUBLE_EQ(0.5, nvidia.attributes().at("share").float_value());
  EXPECT_TRUE(nvidia.attributes().at("display").has_bool_value());
}

TEST(DeviceInventory, LeavesOutWhatIsWrongAndTakesTheRest) {
  const struct {
    const char* name;
    std::function<void(device::DeviceGroup&)> spoil;
    const char* problem;
  } cases[] = {
      {"no vendor", [](auto& one) { one.clear_vendor(); }, "plugin p: device /gpu/T4 has no vendor, type or name"},
      {"no name", [](auto& one) { one.clear_device_name(); },
       "plugin p: device nvidia/gpu/ has no vendor, type or name"},
      {"a slash", [](auto& one) { one.set_device_type("g/u"); },
       "plugin p: device nvidia/g/u/T4 has a slash in its vendor or type"},
      {"no instances", [](auto& one) { one.clear_devices(); }, "plugin p: device nvidia/gpu/T4 has no instances"},
      {"no ID", [](auto& one) { one.add_devices(); }, "plugin p: device nvidia/gpu/T4 has an instance without an ID"},
      {"one ID twice", [](auto& one) { one.add_devices()->set_id("a"); },
       "plugin p: device nvidia/gpu/T4 has the instance a twice"},
      {"an empty attribute", [](auto& one) { (*one.mutable_attributes())["x"]; },
       "plugin p: device nvidia/gpu/T4 has the attribute x, which has no value"},
      {"an unknown unit",
       [](auto& one) {
         (*one.mutable_attributes())["x"].set_int_val(1);
         (*one.mutable_attributes())["x"].set_unit("furlong");
       },
       "plugin p: device nvidia/gpu/T4 has the attribute x, which has the unknown unit \"furlong\""},
      {"a unit on a text",
       [](auto& one) {
         (*one.mutable_attributes())["x"].set_string_val("1");
         (*one.mutable_attributes())["x"].set_unit("GiB");
       },
       "plugin p: device nvidia/gpu/T4 has the attribute x, which has a unit and is no number"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    device::DeviceGroup wrong = group("nvidia", "T4", {"a"});
    c.spoil(wrong);
    const DeviceInventory inventory = take_inventory({plugin("p", {wrong, group("nvidia", "P100", {"b"})})});
    EXPECT_EQ((std::vector<std::string>{c.problem}), inventory.problems);
    EXPECT_EQ((std::map<std::string, size_t>{{"nvidia/gpu/P100", 0}}), inventory.owner);
  }
}

TEST(DeviceInventory, AGroupOfTwoPluginsBelongsToTheFirst) {
  const DeviceInventory inventory =
      take_inventory({plugin("one", {group("nvidia", "T4", {"a"})}), plugin("two", {group("nvidia", "T4", {"b"})})});

  EXPECT_EQ((std::vector<std::string>{"plugin two: device nvidia/gpu/T4 is there already, from plugin one"}),
            inventory.problems);
  ASSERT_EQ(1, inventory.resources.devices_size());
  EXPECT_EQ("a", inventory.resources.devices(0).instances(0).id());
}

TEST(DeviceReservation, MustBeOneThatATaskCanBeGiven) {
  const struct {
    const char* name;
    std::function<void(device::ContainerReservation&)> make;
    const char* problem;
  } cases[] = {
      {"empty", [](auto&) {}, ""},
      {"good",
       [](auto& all) {
         all.add_devices()->set_host_path("/dev/x");
         all.mutable_devices(0)->set_task_path("/dev/y");
         all.mutable_devices(0)->set_permissions("rwm");
       },
       ""},
      {"a relative mount",
       [](auto& all) {
         all.add_mounts()->set_host_path("/a");
         all.mutable_mounts(0)->set_task_path("b");
       },
       "the mount of \"/a\" at \"b\" is not by absolute paths"},
      {"a relative device file",
       [](auto& all) {
         all.add_devices()->set_host_path("a");
         all.mutable_devices(0)->set_task_path("/b");
       },
       "the device file \"a\" at \"/b\" is not by absolute paths"},
      {"permissions",
       [](auto& all) {
         all.add_devices()->set_host_path("/a");
         all.mutable_devices(0)->set_task_path("/b");
         all.mutable_devices(0)->set_permissions("rx");
       },
       "the device file /a has the permissions \"rx\", which are not made of r, w and m"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    device::ContainerReservation reservation;
    c.make(reservation);
    EXPECT_EQ(c.problem, problem_of(reservation));
  }
}

TEST(DeviceStatistics, KeepWhatIsAbsentAbsent) {
  device::DeviceGroupStats stats;
  stats.set_vendor("nvidia");
  auto& instance = (*stats.mutable_instance_stats())["a"];
  instance.mutable_summary()->mutable_int_numerator_val()->set_value(0);
  instance.mutable_timestamp()->set_seconds(2);
  (*(*instance.mutable_stats()->mutable_nested())["ecc"].mutable_attributes())["L1"].mutable_string_val()->set_value(
      "N/A");

  const v1::DeviceGroupStats shown = to_api(stats);

  const v1::DeviceStats& one = shown.instance_stats().at("a");
  EXPECT_TRUE(one.summary().has_int_numerator_val());
  EXPECT_FALSE(one.summary().has_int_denominator_val());
  EXPECT_EQ(2'000'000'000, one.timestamp());
  EXPECT_EQ("N/A", one.stats().nested().at("ecc").attributes().at("L1").string_val());
}

TEST(HostStatistics, ReadTheProcessorsCounters) {
  const std::vector<CpuTicks> before =
      parse_cpu_ticks("cpu  1 2 3 4 5 6 7 8\ncpu0 10 0 20 70 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\nintr 5\n");
  ASSERT_EQ(2u, before.size());
  EXPECT_EQ("cpu0", before[0].name);
  EXPECT_EQ(10u, before[0].user);
  EXPECT_EQ(20u, before[0].system);
  EXPECT_EQ(70u, before[0].idle);

  const std::vector<CpuTicks> after = parse_cpu_ticks("cpu0 20 10 25 105 10 3 2 0\n");
  const auto usage = usage_between(before, after);
  ASSERT_EQ(1u, usage.size());
  EXPECT_DOUBLE_EQ(100.0 * 20 / 75, usage[0].user());
  EXPECT_DOUBLE_EQ(100.0 * 10 / 75, usage[0].system());
  EXPECT_DOUBLE_EQ(60, usage[0].idle());
  EXPECT_DOUBLE_EQ(40, usage[0].total());
}

TEST(HostStatistics, ReadMemoryAndMounts) {
  const v1::HostMemoryStats memory = parse_memory_stats(
      "MemTotal:  1000 kB\nMemFree:   200 kB\nMemAvailable: 700 kB\nBuffers: 50 kB\nCached: 150 kB\n");
  EXPECT_EQ(1000u << 10, memory.total());
  EXPECT_EQ(700u << 10, memory.available());
  EXPECT_EQ(600u << 10, memory.used());
  EXPECT_EQ(200u << 10, memory.free());

  const auto mounts = parse_mounts(
      "proc /proc proc rw 0 0\n/dev/sda1 / ext4 rw 0 0\n/dev/sda1 /again ext4 rw 0 0\n/dev/sdb /a\\040b xfs rw 0 0\n");
  ASSERT_EQ(2u, mounts.size());
  EXPECT_EQ("/dev/sda1", mounts[0].device());
  EXPECT_EQ("/", mounts[0].mountpoint());
  EXPECT_EQ("/a b", mounts[1].mountpoint());
}

// --- gauges ----------------------------------------------------------------------------------------------------------

std::map<std::string, double> gauges(const Metrics& metrics) {
  std::map<std::string, double> out;
  for (const Metrics::Value& value : metrics.values()) {
    std::string name = value.name;
    for (const auto& [label, text] : value.labels) {
      if (label != "node_id") name += " " + text;
    }
    out[name] = value.value;
  }
  return out;
}

TEST(NodeMetrics, SumWhatAllocationsThatLiveAreGiven) {
  v1::Node node;
  node.mutable_node_resources()->mutable_cpu()->set_cpu_shares(4000);
  node.mutable_node_resources()->mutable_memory()->set_memory_mb(2000);
  node.mutable_node_resources()->mutable_disk()->set_disk_mb(900);
  node.mutable_reserved_resources()->mutable_memory()->set_memory_mb(100);
  v1::AllocatedResources given;
  given.mutable_shared()->set_disk_mb(300);
  for (const char* task : {"a", "b"}) {
    (*given.mutable_tasks())[task].mutable_cpu()->set_cpu_shares(500);
    (*given.mutable_tasks())[task].mutable_memory()->set_memory_mb(256);
  }
  Metrics metrics;

  set_allocation_gauges(metrics, {{"node_id", "n"}}, node,
                        {{v1::CLIENT_STATUS_RUNNING, given},
                         {v1::CLIENT_STATUS_PENDING, {}},
                         {v1::CLIENT_STATUS_FAILED, given},
                         {v1::CLIENT_STATUS_COMPLETE, given}});

  const std::map<std::string, double> expected = {
      {"nomad.client.allocations.pending", 1},  {"nomad.client.allocations.running", 1},
      {"nomad.client.allocations.terminal", 2}, {"nomad.client.allocated.cpu", 1000},
      {"nomad.client.allocated.memory", 512},   {"nomad.client.allocated.disk", 300},
      {"nomad.client.unallocated.cpu", 3000},   {"nomad.client.unallocated.memory", 1388},
      {"nomad.client.unallocated.disk", 600}};
  EXPECT_EQ(expected, gauges(metrics));
}

TEST(NodeMetrics, TellWhatATaskUses) {
  TaskUse use{.labels = {{"task", "web"}}};
  use.given.mutable_cpu()->set_cpu_shares(500);
  use.given.mutable_memory()->set_memory_mb(2);
  use.usage.mutable_cpu_stats()->set_percent(12.5);
  use.usage.mutable_memory_stats()->set_rss(4096);

  std::map<std::string, double> found;
  for (const GaugeValue& gauge : task_gauges(use)) {
    EXPECT_EQ(use.labels, gauge.labels);
    found[gauge.name] = gauge.value;
  }

  EXPECT_EQ(15u, found.size());
  EXPECT_EQ(500, found.at("nomad.client.allocs.cpu.allocated"));
  EXPECT_EQ(12.5, found.at("nomad.client.allocs.cpu.total_percent"));
  EXPECT_EQ(2 << 20, found.at("nomad.client.allocs.memory.allocated"));
  EXPECT_EQ(4096, found.at("nomad.client.allocs.memory.rss"));
}

TEST(NodeMetrics, NameTheMachinesParts) {
  v1::HostStats stats;
  stats.set_uptime(7);
  stats.mutable_memory()->set_used(5);
  v1::HostCpuStats& cpu = *stats.add_cpu();
  cpu.set_cpu("cpu0");
  cpu.set_idle(60);
  v1::HostDiskStats& disk = *stats.add_disk_stats();
  disk.set_device("/dev/sda1");
  disk.set_inodes_used_percent(12);
  Metrics metrics;

  set_host_gauges(metrics, {{"node_id", "n"}, {"datacenter", "dc1"}}, stats);

  auto found = gauges(metrics);
  EXPECT_EQ(7, found["nomad.client.uptime dc1"]);
  EXPECT_EQ(5, found["nomad.client.host.memory.used dc1"]);
  EXPECT_EQ(60, found["nomad.client.host.cpu.idle dc1 cpu0"]);
  EXPECT_EQ(12, found["nomad.client.host.disk.inodes_percent dc1 /dev/sda1"]);
  EXPECT_EQ(14u, found.size());
}

}  // namespace
}  // namespace drover::agent
