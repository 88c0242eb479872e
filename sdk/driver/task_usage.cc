#include "task_usage.h"

#include <unistd.h>

#include "drover/process.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

uint64_t nanoseconds(uint64_t ticks) { return ticks * (1'000'000'000U / static_cast<uint64_t>(sysconf(_SC_CLK_TCK))); }

void set_memory(driver::MemoryUsage& memory, std::optional<uint64_t> value, driver::MemoryUsage::Fields field,
                void (driver::MemoryUsage::*set)(uint64_t)) {
  if (!value) return;
  (memory.*set)(*value);
  memory.add_measured_fields(field);
}

}  // namespace

driver::TaskStats sample_usage(ProcessTask& task) {
  const TaskProcess root = task.process();
  std::vector<ProcessStat> processes;
  CgroupUsage group;
  if (const Cgroup* its_own = task.isolation().cgroup()) {
    group = its_own->usage();
    for (int pid : its_own->pids()) {
      if (std::optional<ProcessStat> stat = process_stat(pid)) processes.push_back(*stat);
    }
  } else {
    processes = tree_of(root.pid, root.start_time, all_processes());
  }

  driver::TaskStats stats;
  stats.set_id(task.id());
  const int64_t now = SystemClock().wall_ns();
  stats.mutable_timestamp()->set_seconds(now / 1'000'000'000);
  stats.mutable_timestamp()->set_nanos(static_cast<int32_t>(now % 1'000'000'000));
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t cpu_ns = 0, resident = 0;
  for (const ProcessStat& process : processes) {
    const uint64_t user = nanoseconds(process.user_ticks), system = nanoseconds(process.system_ticks);
    cpu_ns += user + system;
    resident += process.resident_pages * page;
    driver::TaskResourceUsage& one = (*stats.mutable_resource_usage_by_pid())[std::to_string(process.pid)];
    one.mutable_memory()->set_rss(process.resident_pages * page);
    one.mutable_memory()->add_measured_fields(driver::MemoryUsage::RSS);
  }

  driver::TaskResourceUsage& sum = *stats.mutable_agg_resource_usage();
  driver::CPUUsage& cpu = *sum.mutable_cpu();
  const double percent = task.cpu_percent(group.cpu_ns.value_or(cpu_ns), SystemClock().steady());
  cpu.set_percent(percent);
  cpu.add_measured_fields(driver::CPUUsage::PERCENT);
  if (const double mhz = mhz_per_core(); mhz > 0) {
    cpu.set_total_ticks(percent / 100 * mhz);
    cpu.add_measured_fields(driver::CPUUsage::TOTAL_TICKS);
  }
  if (group.throttled_periods) {
    cpu.set_throttled_periods(*group.throttled_periods);
    cpu.add_measured_fields(driver::CPUUsage::THROTTLED_PERIODS);
  }
  if (group.throttled_ns) {
    cpu.set_throttled_time(*group.throttled_ns);
    cpu.add_measured_fields(driver::CPUUsage::THROTTLED_TIME);
  }
  driver::MemoryUsage& memory = *sum.mutable_memory();
  using Memory = driver::MemoryUsage;
  // The kernel counts groups in batches for each processor: a small task may show nothing yet.
  const uint64_t rss = group.memory_rss.value_or(0);
  set_memory(memory, rss > 0 ? rss : resident, Memory::RSS, &Memory::set_rss);
  set_memory(memory, group.memory_cache, Memory::CACHE, &Memory::set_cache);
  set_memory(memory, group.memory_swap, Memory::SWAP, &Memory::set_swap);
  set_memory(memory, group.memory_usage, Memory::USAGE, &Memory::set_usage);
  set_memory(memory, group.memory_max_usage, Memory::MAX_USAGE, &Memory::set_max_usage);
  return stats;
}

}  // namespace drover
