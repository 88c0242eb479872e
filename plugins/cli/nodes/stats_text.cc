#include "nodes/stats_text.h"

#include <algorithm>
#include <cmath>

#include "drover/api/client.pb.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/node.pb.h"
#include "output.h"
#include "volumes/volume_text.h"

namespace drover::cli {
namespace {

std::string bytes_of(uint64_t bytes) { return bytes == 0 ? "0 B" : bytes_text(static_cast<int64_t>(bytes)); }

std::string mhz(double used, int64_t total) {
  return std::to_string(std::llround(used)) + "/" + std::to_string(total) + " MHz";
}

// 12.34567 as "12.35%".
std::string percent(double value) {
  const long long hundredths = std::llround(value * 100);
  const std::string cents = std::to_string(100 + hundredths % 100).substr(1);
  return std::to_string(hundredths / 100) + "." + cents + "%";
}

std::string number(double value) {
  std::string text = percent(value);
  text.pop_back();
  return text;
}

std::string value_text(const v1::StatValue& value) {
  std::string text;
  if (value.has_string_val()) text = value.string_val();
  if (value.has_bool_val()) text = yes_no(value.bool_val());
  if (value.has_int_numerator_val()) text = std::to_string(value.int_numerator_val());
  if (value.has_int_denominator_val()) text += "/" + std::to_string(value.int_denominator_val());
  if (value.has_float_numerator_val()) text = number(value.float_numerator_val());
  if (value.has_float_denominator_val()) text += "/" + number(value.float_denominator_val());
  return value.unit().empty() ? text : text + " " + value.unit();
}

uint64_t memory_of(const v1::ResourceUsage& use) {
  const v1::MemoryStats& memory = use.memory_stats();
  return memory.usage() > 0 ? memory.usage() : memory.rss();
}

// A table of one row, of what was measured of it.
using Figures = std::vector<std::pair<std::string, std::string>>;
template <typename Names>
std::string measured_text(const std::string& title, const Figures& figures, const Names& measured) {
  std::vector<std::vector<std::string>> rows(2);
  for (const auto& [name, text] : figures) {
    if (std::ranges::find(measured, name) == measured.end()) continue;
    rows[0].push_back(name);
    rows[1].push_back(text);
  }
  return rows[0].empty() ? "" : title + "\n" + format_list(rows);
}

std::string devices_text(const google::protobuf::RepeatedPtrField<v1::DeviceGroupStats>& groups) {
  std::vector<std::vector<std::string>> devices = {{"Device", "Instance", "Summary"}};
  for (const v1::DeviceGroupStats& group : groups) {
    for (const auto& [instance, each] : sorted(group.instance_stats())) {
      devices.push_back({group.vendor() + "/" + group.type() + "/" + group.name(), instance,
                         value_text(each.summary())});
    }
  }
  return devices.size() > 1 ? "\nDevice Stats\n" + format_list(devices) : "";
}

}  // namespace

void AllocsUse::add(const v1::AllocationStatsResponse& stats) {
  cpu_mhz += stats.resource_usage().cpu_stats().total_ticks();
  memory_bytes += memory_of(stats.resource_usage());
}

std::string task_cpu_text(const v1::ResourceUsage* use, const v1::AllocatedTaskResources& given) {
  const int64_t total = given.cpu().cpu_shares();
  return use ? mhz(use->cpu_stats().total_ticks(), total) : std::to_string(total) + " MHz";
}

std::string task_memory_text(const v1::ResourceUsage* use, const v1::AllocatedTaskResources& given) {
  const int64_t total = given.memory().memory_mb();
  return use ? bytes_of(memory_of(*use)) + "/" + bytes_text(total << 20) : std::to_string(total) + " MiB";
}

std::string task_use_text(const v1::ResourceUsage& use) {
  const v1::MemoryStats& memory = use.memory_stats();
  const v1::CpuStats& cpu = use.cpu_stats();
  return measured_text("Memory Stats",
                       {{"RSS", bytes_of(memory.rss())},
                        {"Cache", bytes_of(memory.cache())},
                        {"Swap", bytes_of(memory.swap())},
                        {"Mapped File", bytes_of(memory.mapped_file())},
                        {"Usage", bytes_of(memory.usage())},
                        {"Max Usage", bytes_of(memory.max_usage())},
                        {"Kernel Usage", bytes_of(memory.kernel_usage())},
                        {"Kernel Max Usage", bytes_of(memory.kernel_max_usage())}},
                       memory.measured()) +
         measured_text("\nCPU Stats",
                       {{"Percent", percent(cpu.percent())},
                        {"User Mode", percent(cpu.user_mode())},
                        {"System Mode", percent(cpu.system_mode())},
                        {"Throttled Periods", std::to_string(cpu.throttled_periods())},
                        {"Throttled Time", std::to_string(cpu.throttled_time())}},
                       cpu.measured()) +
         devices_text(use.device_stats());
}

std::string allocs_use_text(const AllocsUse& use, const v1::NodeResources& resources) {
  return format_list({{"CPU", "Memory"},
                      {mhz(use.cpu_mhz, resources.cpu().cpu_shares()),
                       bytes_of(use.memory_bytes) + "/" + bytes_text(resources.memory().memory_mb() << 20)}});
}

std::string host_use_text(const v1::HostStats& stats, const v1::NodeResources& resources) {
  const v1::HostDiskStats& disk = stats.alloc_dir_stats();
  return format_list(
      {{"CPU", "Memory", "Disk"},
       {mhz(stats.cpu_ticks_consumed(), resources.cpu().cpu_shares()),
        bytes_of(stats.memory().used()) + "/" + bytes_of(stats.memory().total()),
        bytes_of(disk.used()) + "/" + bytes_of(disk.size()) + " (" + disk.device() + ")"}});
}

std::string host_detail_text(const v1::HostStats& stats) {
  std::string text = "CPU Stats\n";
  std::vector<std::vector<std::string>> cpus = {{"CPU", "User", "System", "Idle"}};
  for (const v1::HostCpuStats& each : stats.cpu())
    cpus.push_back({each.cpu(), percent(each.user()), percent(each.system()), percent(each.idle())});
  text += format_list(cpus);

  text += "\nMemory Stats\n" + format_pairs({{"Total", bytes_of(stats.memory().total())},
                                             {"Available", bytes_of(stats.memory().available())},
                                             {"Used", bytes_of(stats.memory().used())},
                                             {"Free", bytes_of(stats.memory().free())}});
  for (const v1::HostDiskStats& disk : stats.disk_stats()) {
    text += (&disk == &stats.disk_stats(0) ? "\nDisk Stats\n" : "\n") +
            format_pairs({{"Device", disk.device()},
                          {"MountPoint", disk.mountpoint()},
                          {"Size", bytes_of(disk.size())},
                          {"Used", bytes_of(disk.used())},
                          {"Available", bytes_of(disk.available())},
                          {"Used Percent", percent(disk.used_percent())},
                          {"Inodes Percent", percent(disk.inodes_used_percent())}});
  }
  return text + devices_text(stats.device_stats());
}

}  // namespace drover::cli
