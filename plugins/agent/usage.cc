#include "usage.h"

#include "drover/api/client.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {

v1::ResourceUsage to_usage(const driver::TaskResourceUsage& from) {
  v1::ResourceUsage out;
  v1::MemoryStats& memory = *out.mutable_memory_stats();
  memory.set_rss(from.memory().rss());
  memory.set_cache(from.memory().cache());
  memory.set_swap(from.memory().swap());
  memory.set_usage(from.memory().usage());
  memory.set_max_usage(from.memory().max_usage());
  memory.set_kernel_usage(from.memory().kernel_usage());
  memory.set_kernel_max_usage(from.memory().kernel_max_usage());
  static constexpr const char* kMemory[] = {"RSS",   "Cache", "Max Usage", "Kernel Usage", "Kernel Max Usage",
                                            "Usage", "Swap"};
  for (int field : from.memory().measured_fields()) {
    if (field >= 0 && field < static_cast<int>(std::size(kMemory))) memory.add_measured(kMemory[field]);
  }
  v1::CpuStats& cpu = *out.mutable_cpu_stats();
  cpu.set_system_mode(from.cpu().system_mode());
  cpu.set_user_mode(from.cpu().user_mode());
  cpu.set_total_ticks(from.cpu().total_ticks());
  cpu.set_throttled_periods(from.cpu().throttled_periods());
  cpu.set_throttled_time(from.cpu().throttled_time());
  cpu.set_percent(from.cpu().percent());
  static constexpr const char* kCpu[] = {"System Mode",       "User Mode",      "Total Ticks",
                                         "Throttled Periods", "Throttled Time", "Percent"};
  for (int field : from.cpu().measured_fields()) {
    if (field >= 0 && field < static_cast<int>(std::size(kCpu))) cpu.add_measured(kCpu[field]);
  }
  return out;
}

void add_usage(const v1::ResourceUsage& from, v1::ResourceUsage& to) {
  v1::MemoryStats& memory = *to.mutable_memory_stats();
  const v1::MemoryStats& more = from.memory_stats();
  memory.set_rss(memory.rss() + more.rss());
  memory.set_cache(memory.cache() + more.cache());
  memory.set_swap(memory.swap() + more.swap());
  memory.set_usage(memory.usage() + more.usage());
  memory.set_max_usage(memory.max_usage() + more.max_usage());
  memory.set_kernel_usage(memory.kernel_usage() + more.kernel_usage());
  memory.set_kernel_max_usage(memory.kernel_max_usage() + more.kernel_max_usage());
  if (memory.measured_size() == 0) *memory.mutable_measured() = more.measured();
  v1::CpuStats& cpu = *to.mutable_cpu_stats();
  const v1::CpuStats& other = from.cpu_stats();
  cpu.set_system_mode(cpu.system_mode() + other.system_mode());
  cpu.set_user_mode(cpu.user_mode() + other.user_mode());
  cpu.set_total_ticks(cpu.total_ticks() + other.total_ticks());
  cpu.set_throttled_periods(cpu.throttled_periods() + other.throttled_periods());
  cpu.set_throttled_time(cpu.throttled_time() + other.throttled_time());
  cpu.set_percent(cpu.percent() + other.percent());
  if (cpu.measured_size() == 0) *cpu.mutable_measured() = other.measured();
  to.mutable_device_stats()->MergeFrom(from.device_stats());
}

}  // namespace drover::agent
