#include "task/usage.h"

#include "nomad/plugins/driver.pb.h"

namespace drover::docker {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

void set_memory(driver::MemoryUsage& memory, std::optional<uint64_t> value, driver::MemoryUsage::Fields field,
                void (driver::MemoryUsage::*set)(uint64_t)) {
  if (!value) return;
  (memory.*set)(*value);
  memory.add_measured_fields(field);
}

double share(uint64_t before, uint64_t now, double all) {
  return now > before && all > 0 ? static_cast<double>(now - before) / all : 0;
}

}  // namespace

double cpu_percent(const std::optional<Sample>& before, const Sample& now, std::chrono::nanoseconds passed) {
  if (!before) return 0;
  if (now.machine_ns > before->machine_ns && now.cores > 0) {
    const auto machine = static_cast<double>(now.machine_ns - before->machine_ns);
    return share(before->cpu_ns, now.cpu_ns, machine) * now.cores * 100;
  }
  return share(before->cpu_ns, now.cpu_ns, static_cast<double>(passed.count())) * 100;
}

driver::TaskStats stats_of(const std::string& task, const Sample& sample, double percent, double mhz, int64_t now_ns) {
  driver::TaskStats stats;
  stats.set_id(task);
  stats.mutable_timestamp()->set_seconds(now_ns / kSecond);
  stats.mutable_timestamp()->set_nanos(static_cast<int32_t>(now_ns % kSecond));
  driver::CPUUsage& cpu = *stats.mutable_agg_resource_usage()->mutable_cpu();
  cpu.set_percent(percent);
  cpu.add_measured_fields(driver::CPUUsage::PERCENT);
  // How the percentage divides between the two modes, over the container's life.
  const double both = static_cast<double>(sample.user_ns) + static_cast<double>(sample.system_ns);
  cpu.set_user_mode(both > 0 ? percent * static_cast<double>(sample.user_ns) / both : 0);
  cpu.set_system_mode(both > 0 ? percent * static_cast<double>(sample.system_ns) / both : 0);
  cpu.add_measured_fields(driver::CPUUsage::USER_MODE);
  cpu.add_measured_fields(driver::CPUUsage::SYSTEM_MODE);
  cpu.set_throttled_periods(sample.throttled_periods);
  cpu.set_throttled_time(sample.throttled_ns);
  cpu.add_measured_fields(driver::CPUUsage::THROTTLED_PERIODS);
  cpu.add_measured_fields(driver::CPUUsage::THROTTLED_TIME);
  if (mhz > 0) {
    cpu.set_total_ticks(percent / 100 * mhz);
    cpu.add_measured_fields(driver::CPUUsage::TOTAL_TICKS);
  }
  driver::MemoryUsage& memory = *stats.mutable_agg_resource_usage()->mutable_memory();
  set_memory(memory, sample.rss, driver::MemoryUsage::RSS, &driver::MemoryUsage::set_rss);
  set_memory(memory, sample.cache, driver::MemoryUsage::CACHE, &driver::MemoryUsage::set_cache);
  set_memory(memory, sample.swap, driver::MemoryUsage::SWAP, &driver::MemoryUsage::set_swap);
  set_memory(memory, sample.usage, driver::MemoryUsage::USAGE, &driver::MemoryUsage::set_usage);
  set_memory(memory, sample.max_usage, driver::MemoryUsage::MAX_USAGE, &driver::MemoryUsage::set_max_usage);
  return stats;
}

}  // namespace drover::docker
