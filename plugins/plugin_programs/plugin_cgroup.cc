#include "plugin_cgroup.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <vector>

namespace drover::plugin_programs {
namespace {

constexpr int64_t kCpuPeriod = 100'000;  // microseconds

bool write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text << std::flush;  // the kernel says no when the stream is flushed
  return static_cast<bool>(out);
}

uint64_t read_number(const std::string& file) {
  uint64_t number = 0;
  std::ifstream(file) >> number;
  return number;
}

}  // namespace

PluginCgroup::PluginCgroup(const CgroupLayout& layout, const std::string& name, const PluginLimits& limits)
    : layout_(layout), limits_(limits), group_(layout, "drover-plugins/" + cgroup_name(name)) {}

Status PluginCgroup::prepare() const {
  if (group_.is_empty())
    return failed_precondition("limits cannot be set: this agent has no control groups that it may write");
  DROVER_RETURN_IF_ERROR(group_.create());
  const auto set = [&](const char* controller, const std::string& value, const char* v1, const char* v2) -> Status {
    const std::string folder = group_.folder(controller);
    const bool is_v2 = !layout_.v1.contains(controller);
    const std::string file = folder + "/" + (is_v2 ? v2 : v1);
    if (!folder.empty() && write(file, value)) return ok_status();
    return failed_precondition("limits cannot be set: " +
                               (folder.empty() ? std::string("there is no control group for ") + controller
                                               : "writing " + value + " to " + file + " fails"));
  };
  if (limits_.memory != 0)
    DROVER_RETURN_IF_ERROR(set("memory", std::to_string(limits_.memory), "memory.limit_in_bytes", "memory.max"));
  if (limits_.processes != 0)
    DROVER_RETURN_IF_ERROR(set("pids", std::to_string(limits_.processes), "pids.max", "pids.max"));
  if (limits_.cpu == 0) return ok_status();
  const std::string quota = std::to_string(std::llround(limits_.cpu * kCpuPeriod));
  if (!layout_.v1.contains("cpu")) return set("cpu", quota + " " + std::to_string(kCpuPeriod), "", "cpu.max");
  DROVER_RETURN_IF_ERROR(set("cpu", std::to_string(kCpuPeriod), "cpu.cfs_period_us", ""));
  return set("cpu", quota, "cpu.cfs_quota_us", "");
}

PluginCgroup::Use PluginCgroup::use() const {
  const CgroupUsage usage = group_.usage();
  Use out{.folder = group_.folder("memory"),
          .memory = usage.memory_usage.value_or(0),
          .cpu_ns = usage.cpu_ns,
          .oom_kills = group_.oom_kills().value_or(0)};
  if (out.folder.empty()) out.folder = group_.path();
  out.processes = group_.pids().size();
  if (const std::string pids = group_.folder("pids"); !pids.empty())
    out.processes = std::max<uint64_t>(out.processes, read_number(pids + "/pids.current"));
  return out;
}

}  // namespace drover::plugin_programs
