#include "fingerprint/machine.h"

#include <linux/landlock.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "drover/trim.h"
#include "drover/v1/node.pb.h"
#include "fingerprint/host_ranges.h"

namespace drover::agent {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr int32_t kUsualSpeed = 1000;  // Mbit/s, of an interface that does not tell

// The content of os.signals: the names that kill_signal and change_signal may use.
constexpr std::string_view kSignals =
    "SIGABRT,SIGALRM,SIGBUS,SIGCHLD,SIGCONT,SIGFPE,SIGHUP,SIGILL,SIGINT,SIGIO,SIGIOT,SIGKILL,SIGNULL,SIGPIPE,SIGPROF,"
    "SIGQUIT,SIGSEGV,SIGSTOP,SIGSYS,SIGTERM,SIGTRAP,SIGTSTP,SIGTTIN,SIGTTOU,SIGURG,SIGUSR1,SIGUSR2,SIGWINCH,SIGXCPU,"
    "SIGXFSZ";

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

double max_frequency_mhz() {
  const std::string text = read_text("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  return std::strtod(text.c_str(), nullptr) / 1000;
}

std::string architecture(std::string_view machine) {
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  return std::string(machine);
}

// The deepest folder of a path that exists: the allocations' folder may not be there yet.
std::string existing_parent(std::string path) {
  while (path.size() > 1 && ::access(path.c_str(), F_OK) != 0)
    path = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  return path;
}

void describe_cpu(const ClientConfig& config, v1::Node& node) {
  CpuInfo cpu = parse_cpuinfo(read_text("/proc/cpuinfo"));
  if (cpu.cores == 0) cpu.cores = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  if (const double most = max_frequency_mhz(); most > 0) cpu.mhz = most;
  if (cpu.mhz <= 0) cpu.mhz = 1000;
  const auto mhz = static_cast<int64_t>(cpu.mhz);
  const int64_t total = config.cpu_total_compute > 0 ? config.cpu_total_compute : mhz * cpu.cores;
  auto& attributes = *node.mutable_attributes();
  attributes["cpu.numcores"] = std::to_string(cpu.cores);
  attributes["cpu.frequency"] = std::to_string(mhz);
  attributes["cpu.totalcompute"] = std::to_string(total);
  if (!cpu.model.empty()) attributes["cpu.modelname"] = cpu.model;
  v1::NodeCpu& resources = *node.mutable_node_resources()->mutable_cpu();
  resources.set_cpu_shares(total);
  resources.set_total_cpu_cores(cpu.cores);
}

void describe_disk(const ClientConfig& config, v1::Node& node) {
  struct statvfs disk {};
  const std::string path = existing_parent(config.alloc_dir);
  uint64_t total = 0, free = 0;
  if (::statvfs(path.c_str(), &disk) == 0) {
    total = disk.f_blocks * disk.f_frsize;
    free = disk.f_bavail * disk.f_frsize;
  }
  if (config.disk_total_mb > 0) total = static_cast<uint64_t>(config.disk_total_mb) << 20;
  if (config.disk_free_mb > 0) free = static_cast<uint64_t>(config.disk_free_mb) << 20;
  auto& attributes = *node.mutable_attributes();
  attributes["unique.storage.volume"] = path;
  attributes["unique.storage.bytestotal"] = std::to_string(total);
  attributes["unique.storage.bytesfree"] = std::to_string(free);
  // Space that others have filled is not there for allocations.
  node.mutable_node_resources()->mutable_disk()->set_disk_mb(static_cast<int64_t>(free >> 20));
}

void describe_system(v1::Node& node) {
  auto& attributes = *node.mutable_attributes();
  utsname system{};
  if (::uname(&system) == 0) {
    attributes["kernel.name"] = "linux";
    attributes["kernel.version"] = system.release;
    attributes["kernel.arch"] = system.machine;
    attributes["cpu.arch"] = architecture(system.machine);
    attributes["arch"] = architecture(system.machine);
  }
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) attributes["unique.hostname"] = host.data();
  const OsRelease os = parse_os_release(read_text("/etc/os-release"));
  attributes["os.name"] = os.name.empty() ? "linux" : os.name;
  if (!os.version.empty()) attributes["os.version"] = os.version;
  attributes["os.signals"] = std::string(kSignals);
  const std::string root = "/sys/fs/cgroup";
  const auto exists = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  switch (cgroup_mode(exists(root + "/cgroup.controllers"), exists(root + "/unified"), exists(root + "/memory"))) {
    case CgroupMode::none:
      break;
    case CgroupMode::v1:
      attributes["unique.cgroup.version"] = "v1";
      break;
    case CgroupMode::v2:
      attributes["unique.cgroup.version"] = "v2";
      break;
    case CgroupMode::hybrid:
      // Its controllers are those of version 1, and constraints of jobs know no third word.
      attributes["unique.cgroup.version"] = "v1";
      attributes["drover.cgroup.mode"] = "hybrid";
      break;
  }
  if (attributes.contains("unique.cgroup.version")) attributes["unique.cgroup.mountpoint"] = root;
  // Asked without rules, the call tells its version.
  const long landlock = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (landlock > 0) attributes["kernel.landlock"] = "v" + std::to_string(landlock);
}

bool is_v6(const InterfaceAddress& one) { return one.address.find(':') != std::string::npos; }

// Mbit/s of an interface: the operator's word, else the driver's, where it knows.
int32_t speed_of(const ClientConfig& config, const std::string& device) {
  if (config.network_speed > 0) return config.network_speed;
  const int speed = std::atoi(read_text("/sys/class/net/" + device + "/speed").c_str());
  return speed > 0 ? speed : kUsualSpeed;
}

void describe_network(const ClientConfig& config, const InterfaceAddress& found, v1::Node& node) {
  (*node.mutable_attributes())["unique.network.ip-address"] = found.address;
  v1::NodeResources& resources = *node.mutable_node_resources();
  v1::NetworkResource& network = *resources.add_networks();
  network.set_mode("host");
  network.set_device(found.interface);
  network.set_ip(found.address);
  network.set_cidr(found.address + (is_v6(found) ? "/128" : "/32"));
  network.set_mbits(speed_of(config, found.interface));
}

// IPv4 comes first; link-local addresses of IPv6 are left out.
Result<std::vector<InterfaceAddress>> usable_addresses() {
  std::vector<InterfaceAddress> all = machine_addresses();
  if (all.empty()) return unavailable("this machine's network interfaces cannot be listed");
  std::erase_if(all, [](const InterfaceAddress& one) { return is_v6(one) && is_in_cidr(one.address, "fe80::/10"); });
  std::ranges::stable_partition(all, [](const InterfaceAddress& one) { return !is_v6(one); });
  return all;
}

Status describe_host_networks(const ClientConfig& config, const InterfaceAddress& chosen, v1::Node& node) {
  DROVER_TRY(const auto found, usable_addresses());
  DROVER_TRY(const auto networks, host_networks(config.host_networks, found, chosen));
  for (const v1::NodeNetwork& network : networks) {
    v1::NodeNetwork& shown = *node.mutable_node_resources()->add_node_networks();
    shown = network;
    shown.set_speed(speed_of(config, network.device()));
  }
  for (const HostNetwork& configured : config.host_networks) {
    v1::HostNetwork& shown = (*node.mutable_host_networks())[configured.name];
    shown.set_name(configured.name);
    shown.set_cidr(configured.cidr);
    shown.set_interface(configured.interface);
    shown.set_reserved_ports(configured.reserved_ports);
  }
  return ok_status();
}

}  // namespace

CpuInfo parse_cpuinfo(std::string_view text) {
  CpuInfo info;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trim(line.substr(0, colon), kBlanks);
    const std::string value(trim(line.substr(colon + 1), kBlanks));
    if (key == "processor") ++info.cores;
    if (key == "model name" && info.model.empty()) info.model = value;
    if (key == "cpu MHz") info.mhz = std::max(info.mhz, std::strtod(value.c_str(), nullptr));
  }
  return info;
}

uint64_t parse_memory_total(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = next_line(text);
    if (!line.starts_with("MemTotal:")) continue;
    line = trim(line.substr(9), kBlanks);
    uint64_t kilobytes = 0;
    std::from_chars(line.data(), line.data() + line.size(), kilobytes);
    return kilobytes * 1024;
  }
  return 0;
}

OsRelease parse_os_release(std::string_view text) {
  OsRelease release;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const auto value = [&](std::string_view key) -> std::optional<std::string> {
      if (!line.starts_with(key)) return std::nullopt;
      std::string_view rest = line.substr(key.size());
      if (rest.size() >= 2 && rest.front() == '"' && rest.back() == '"') rest = rest.substr(1, rest.size() - 2);
      return std::string(rest);
    };
    if (auto id = value("ID=")) release.name = *id;
    if (auto version = value("VERSION_ID=")) release.version = *version;
  }
  return release;
}

CgroupMode cgroup_mode(bool root_is_v2, bool has_unified_folder, bool has_v1) {
  if (root_is_v2) return CgroupMode::v2;
  if (has_v1) return has_unified_folder ? CgroupMode::hybrid : CgroupMode::v1;
  return CgroupMode::none;
}

Result<InterfaceAddress> find_address(const std::string& wanted, bool loopback) {
  DROVER_TRY(const auto found, usable_addresses());
  const auto at = std::ranges::find_if(found, [&](const InterfaceAddress& one) {
    if (wanted.empty() && !loopback) return one.is_default;
    return one.interface == (wanted.empty() ? "lo" : wanted);
  });
  if (at != found.end()) return *at;
  if (wanted.empty()) return InterfaceAddress{"lo", "127.0.0.1"};
  return not_found("client.network_interface: interface \"" + wanted + "\" has no address");
}

Status describe_machine(const ClientConfig& config, bool dev_mode, v1::Node& node) {
  DROVER_TRY(InterfaceAddress address, find_address(config.network_interface, dev_mode));
  describe_system(node);
  describe_cpu(config, node);
  describe_disk(config, node);
  describe_network(config, address, node);
  DROVER_RETURN_IF_ERROR(describe_host_networks(config, address, node));
  uint64_t memory = parse_memory_total(read_text("/proc/meminfo"));
  if (config.memory_total_mb > 0) memory = static_cast<uint64_t>(config.memory_total_mb) << 20;
  (*node.mutable_attributes())["memory.totalbytes"] = std::to_string(memory);
  node.mutable_node_resources()->mutable_memory()->set_memory_mb(static_cast<int64_t>(memory >> 20));
  node.mutable_node_resources()->set_min_dynamic_port(config.min_dynamic_port);
  node.mutable_node_resources()->set_max_dynamic_port(config.max_dynamic_port);
  v1::NodeReservedResources& reserved = *node.mutable_reserved_resources();
  reserved.mutable_cpu()->set_cpu_shares(config.reserved_cpu);
  reserved.mutable_memory()->set_memory_mb(config.reserved_memory_mb);
  reserved.mutable_disk()->set_disk_mb(config.reserved_disk_mb);
  reserved.mutable_networks()->set_reserved_host_ports(config.reserved_ports);
  return ok_status();
}

}  // namespace drover::agent
