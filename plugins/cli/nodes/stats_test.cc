// node status -stats: its texts, and the command against recorded answers.
#include <gtest/gtest.h>

#include "drover/api/client.pb.h"
#include "drover/json.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/node.pb.h"
#include "nodes/stats_text.h"
#include "testing/recorded_agent.h"

namespace drover::cli {
namespace {

using testing::RecordedAgent;
using testing::run_command;
using testing::Said;

template <typename Message>
Message read(const std::string& json) {
  Message message;
  const Status status = json_to_message(json, message);
  EXPECT_TRUE(status.ok()) << status.message();
  return message;
}

constexpr const char* kHost = R"({"CPUTicksConsumed":1234.4,"Memory":{"Total":8589934592,"Available":4294967296,
  "Used":2147483648,"Free":1073741824},"CPU":[{"CPU":"cpu0","User":12.34,"System":3,"Idle":84.66}],
  "AllocDirStats":{"Device":"/dev/sda1","Size":1073741824,"Used":536870912},
  "DiskStats":[{"Device":"/dev/sda1","Mountpoint":"/","Size":1073741824,"Used":536870912,"Available":536870912,
    "UsedPercent":50,"InodesUsedPercent":7.5}],
  "DeviceStats":[{"Vendor":"acme","Type":"gpu","Name":"one","InstanceStats":{
    "a":{"Summary":{"IntNumeratorVal":3,"IntDenominatorVal":16,"Unit":"MiB"}}}}]})";
constexpr const char* kResources = R"({"Cpu":{"CpuShares":4000},"Memory":{"MemoryMB":8192}})";

TEST(TaskStats, SayWhatATaskUses) {
  const auto use = read<v1::ResourceUsage>(R"({"MemoryStats":{"RSS":2097152,"Swap":0,"Usage":3145728,"Cache":9,
    "Measured":["RSS","Swap","Usage"]},"CpuStats":{"Percent":12.345,"TotalTicks":61.6,"ThrottledTime":7,
    "Measured":["Percent","Throttled Time"]}})");
  v1::AllocatedTaskResources given;
  given.mutable_cpu()->set_cpu_shares(500);
  given.mutable_memory()->set_memory_mb(64);
  EXPECT_EQ("62/500 MHz", task_cpu_text(&use, given));
  EXPECT_EQ("3.0 MiB/64.0 MiB", task_memory_text(&use, given));
  EXPECT_EQ("500 MHz", task_cpu_text(nullptr, given)) << "it does not run";
  EXPECT_EQ("64 MiB", task_memory_text(nullptr, given));
  EXPECT_EQ(
      "Memory Stats\n"
      "RSS      Swap  Usage\n"
      "2.0 MiB  0 B   3.0 MiB\n"
      "\n"
      "CPU Stats\n"
      "Percent  Throttled Time\n"
      "12.35%   7\n",
      task_use_text(use))
      << "what was not measured is not shown";
}

TEST(NodeStats, SayWhatTheMachineUses) {
  const auto host = read<v1::HostStats>(kHost);
  v1::NodeResources resources;
  resources.mutable_cpu()->set_cpu_shares(4000);
  resources.mutable_memory()->set_memory_mb(8192);
  EXPECT_EQ(
      "CPU            Memory           Disk\n"
      "1234/4000 MHz  2.0 GiB/8.0 GiB  512.0 MiB/1.0 GiB (/dev/sda1)\n",
      host_use_text(host, resources));
  EXPECT_EQ(
      "CPU Stats\n"
      "CPU   User    System  Idle\n"
      "cpu0  12.34%  3.00%   84.66%\n"
      "\n"
      "Memory Stats\n"
      "Total     = 8.0 GiB\n"
      "Available = 4.0 GiB\n"
      "Used      = 2.0 GiB\n"
      "Free      = 1.0 GiB\n"
      "\n"
      "Disk Stats\n"
      "Device         = /dev/sda1\n"
      "MountPoint     = /\n"
      "Size           = 1.0 GiB\n"
      "Used           = 512.0 MiB\n"
      "Available      = 512.0 MiB\n"
      "Used Percent   = 50.00%\n"
      "Inodes Percent = 7.50%\n"
      "\n"
      "Device Stats\n"
      "Device        Instance  Summary\n"
      "acme/gpu/one  a         3/16 MiB\n",
      host_detail_text(host));

  AllocsUse use;
  use.add(read<v1::AllocationStatsResponse>(
      R"({"ResourceUsage":{"CpuStats":{"TotalTicks":100.5},"MemoryStats":{"RSS":1,"Usage":1048576}}})"));
  use.add(read<v1::AllocationStatsResponse>(
      R"({"ResourceUsage":{"CpuStats":{"TotalTicks":20},"MemoryStats":{"RSS":1048576}}})"));
  EXPECT_EQ(
      "CPU           Memory\n"
      "121/4000 MHz  2.0 MiB/8.0 GiB\n",
      allocs_use_text(use, resources));
}

TEST(NodeStats, AreAskedOfTheNodeItself) {
  const std::string node = "00000000-0000-4000-8000-000000000001", runs = "00000000-0000-4000-8000-000000000002",
                    ended = "00000000-0000-4000-8000-000000000003";
  RecordedAgent agent;
  agent.says("GET /v1/nodes?prefix=000000", R"([{"ID":")" + node + "\"}]");
  agent.says("GET /v1/node/" + node,
             R"({"ID":")" + node + R"(","Name":"n","Status":"ready","NodeResources":)" + kResources + "}");
  agent.says("GET /v1/node/" + node + "/allocations",
             R"([{"ID":")" + runs + R"(","ClientStatus":"running"},{"ID":")" + ended + R"(","ClientStatus":"failed"}])");
  agent.says("GET /v1/client/stats?node_id=" + node, kHost);
  agent.says("GET /v1/client/allocation/" + runs + "/stats",
             R"({"ResourceUsage":{"CpuStats":{"TotalTicks":100},"MemoryStats":{"RSS":1048576}}})");
  const auto status = [&](std::vector<std::string> words) {
    return run_command(node_commands(), "node status", std::move(words), agent);
  };
  const Said plain = status({"0000000"});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.out.find("Utilization"), std::string::npos) << "nobody asks the node";

  const Said said = status({"-stats", "0000000"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.err, "");
  for (const char* part : {"Allocation Resource Utilization\nCPU           Memory\n100/4000 MHz", "1.0 MiB/8.0 GiB",
                           "Host Resource Utilization\n", "1234/4000 MHz", "\nCPU Stats\n", "\nMemory Stats\n"}) {
    EXPECT_NE(said.out.find(part), std::string::npos) << part << " in " << said.out;
  }

  agent.says("GET /v1/client/stats?node_id=" + node, "no path to the node", 500);
  const Said away = status({"-stats", "0000000"});
  EXPECT_EQ(away.code, 1);
  EXPECT_NE(away.err.find("no path to the node"), std::string::npos) << away.err;
  EXPECT_NE(away.out.find("\nAllocations\n"), std::string::npos) << "the rest is there";
  EXPECT_EQ(status({"-stats"}).code, 1) << "of which node?";
}

}  // namespace
}  // namespace drover::cli
