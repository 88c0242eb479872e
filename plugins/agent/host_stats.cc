#include "host_stats.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "disk/mounts.h"

namespace drover::agent {
namespace {

Result<std::string> read_text(const char* path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (text.empty()) return unavailable(std::string("cannot read ") + path);
  return text;
}

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

bool measure_file_system(const std::string& path, v1::HostDiskStats& disk) {
  struct statvfs found {};
  if (::statvfs(path.c_str(), &found) != 0 || found.f_blocks == 0) return false;
  const uint64_t size = found.f_frsize;
  disk.set_size(found.f_blocks * size);
  disk.set_used((found.f_blocks - found.f_bfree) * size);
  disk.set_available(found.f_bavail * size);
  disk.set_used_percent(percent(disk.used(), disk.used() + disk.available()));
  disk.set_inodes_used_percent(percent(found.f_files - found.f_ffree, found.f_files));
  return true;
}

std::vector<CpuTicks> parse_cpu_ticks(std::string_view text) {
  std::vector<CpuTicks> all;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, irq = 0, soft_irq = 0;
    if (!(words >> name) || !name.starts_with("cpu") || name == "cpu") continue;
    if (!(words >> user >> nice >> system >> idle >> io_wait >> irq >> soft_irq)) continue;
    all.push_back({name, user + nice, system + irq + soft_irq, idle + io_wait});
  }
  return all;
}

v1::HostMemoryStats parse_memory_stats(std::string_view text) {
  std::map<std::string, uint64_t> kib;
  std::istringstream lines{std::string(text)};
  std::string name, rest;
  for (uint64_t value = 0; lines >> name >> value && std::getline(lines, rest);) kib[name] = value;
  v1::HostMemoryStats memory;
  memory.set_total(kib["MemTotal:"] << 10);
  memory.set_available(kib["MemAvailable:"] << 10);
  memory.set_free(kib["MemFree:"] << 10);
  const uint64_t unused = (kib["MemFree:"] + kib["Buffers:"] + kib["Cached:"]) << 10;
  memory.set_used(memory.total() > unused ? memory.total() - unused : 0);
  return memory;
}

std::vector<v1::HostDiskStats> parse_mounts(std::string_view text) {
  std::vector<v1::HostDiskStats> all;
  std::set<std::string> seen;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string device, mountpoint;
    if (!(words >> device >> mountpoint) || !device.starts_with("/dev/") || !seen.insert(device).second) continue;
    v1::HostDiskStats& disk = all.emplace_back();
    disk.set_device(unescape_mount(device));
    disk.set_mountpoint(unescape_mount(mountpoint));
  }
  return all;
}

std::vector<v1::HostCpuStats> usage_between(const std::vector<CpuTicks>& before, const std::vector<CpuTicks>& after) {
  std::vector<v1::HostCpuStats> all;
  for (const CpuTicks& now : after) {
    const auto at = std::ranges::find(before, now.name, &CpuTicks::name);
    const CpuTicks then = at == before.end() ? CpuTicks{} : *at;
    const auto since = [](uint64_t later, uint64_t earlier) { return later > earlier ? later - earlier : 0; };
    const uint64_t user = since(now.user, then.user), system = since(now.system, then.system),
                   idle = since(now.idle, then.idle), whole = user + system + idle;
    v1::HostCpuStats& out = all.emplace_back();
    out.set_cpu(now.name);
    out.set_user(percent(user, whole));
    out.set_system(percent(system, whole));
    out.set_idle(percent(idle, whole));
    out.set_total(percent(user + system, whole));
  }
  return all;
}

Result<v1::HostStats> HostStatistics::take(const std::string& alloc_dir, int64_t total_mhz) {
  DROVER_TRY(const std::string stat, read_text("/proc/stat"));
  DROVER_TRY(const std::string memory, read_text("/proc/meminfo"));
  DROVER_TRY(const std::string uptime, read_text("/proc/uptime"));
  DROVER_TRY(const std::string mounts, read_text("/proc/mounts"));
  v1::HostStats out;
  *out.mutable_memory() = parse_memory_stats(memory);
  out.set_uptime(std::strtoull(uptime.c_str(), nullptr, 10));
  {
    const MutexLock lock(mutex_);
    std::vector<CpuTicks> now = parse_cpu_ticks(stat);
    for (v1::HostCpuStats& cpu : usage_between(before_, now)) *out.add_cpu() = std::move(cpu);
    before_ = std::move(now);
  }
  double total = 0;
  for (const v1::HostCpuStats& cpu : out.cpu()) total += cpu.total();
  if (out.cpu_size() > 0) out.set_cpu_ticks_consumed(total / 100 / out.cpu_size() * static_cast<double>(total_mhz));
  for (v1::HostDiskStats& disk : parse_mounts(mounts)) {
    if (measure_file_system(disk.mountpoint(), disk)) *out.add_disk_stats() = std::move(disk);
  }
  out.mutable_alloc_dir_stats()->set_mountpoint(alloc_dir);
  (void)measure_file_system(alloc_dir, *out.mutable_alloc_dir_stats());
  return out;
}

}  // namespace drover::agent
