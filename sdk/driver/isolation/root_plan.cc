#include "root_plan.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "../task_start.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

using Confined = Confinement;

constexpr uint32_t kKernelFlags = Confined::no_setuid | Confined::no_devices | Confined::no_programs;

struct StandardDevice {
  const char* path;
  uint32_t major, minor;
};
constexpr StandardDevice kDevices[] = {{"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
                                       {"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0}};
constexpr uint32_t kTerminals = 136, kTunnelMajor = 10, kTunnelMinor = 200;

// These tell of the whole machine, or steer it.
constexpr const char* kHidden[] = {"/proc/acpi",          "/proc/asound",
                                   "/proc/kcore",         "/proc/keys",
                                   "/proc/latency_stats", "/proc/sched_debug",
                                   "/proc/scsi",          "/proc/timer_list",
                                   "/proc/timer_stats",   "/proc/kpagecount",
                                   "/proc/kpageflags",    "/proc/kpagecgroup",
                                   "/sys/firmware",       "/sys/devices/virtual/powercap"};
constexpr const char* kNotWritable[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"};

std::vector<Confined::Mount> kernel_file_systems() {
  return {
      {.type = "proc", .source = {}, .target = "/proc", .options = {}, .flags = kKernelFlags},
      {.type = "tmpfs",
       .source = {},
       .target = "/dev",
       .options = "mode=755,size=65536k",
       .flags = Confined::no_setuid | Confined::no_programs},
      {.type = "devpts",
       .source = {},
       .target = "/dev/pts",
       .options = "newinstance,ptmxmode=0666,mode=0620,gid=5",
       .flags = Confined::no_setuid | Confined::no_programs},
      {.type = "tmpfs", .source = {}, .target = "/dev/shm", .options = "mode=1777,size=65536k", .flags = kKernelFlags},
      {.type = "mqueue", .source = {}, .target = "/dev/mqueue", .options = {}, .flags = kKernelFlags},
      {.type = "sysfs", .source = {}, .target = "/sys", .options = {}, .flags = kKernelFlags | Confined::read_only}};
}

std::vector<Confined::Link> standard_links() {
  return {{"/dev/fd", "/proc/self/fd"},       {"/dev/stdin", "/proc/self/fd/0"}, {"/dev/stdout", "/proc/self/fd/1"},
          {"/dev/stderr", "/proc/self/fd/2"}, {"/dev/core", "/proc/kcore"},      {"/dev/ptmx", "pts/ptmx"}};
}

// An absolute path without "..", from whoever writes jobs and plugins.
Status check_path(const std::string& path, const char* what) {
  const bool climbs = ("/" + path + "/").find("/../") != std::string::npos;
  if (path.starts_with('/') && !climbs && path.find('\0') == std::string::npos) return ok_status();
  return invalid_argument(std::string(what) + " \"" + path + "\" must be an absolute path without \"..\"");
}

// Those of jobs are paths in the task's root, with or without the slash.
std::string in_root(const std::string& path) { return path.starts_with('/') ? path : "/" + path; }

Result<Confined::Propagation> propagation_of(const std::string& mode) {
  if (mode.empty() || mode == "private") return Confined::Propagation::apart;
  if (mode == "host-to-task") return Confined::Propagation::from_machine;
  if (mode == "bidirectional") return Confined::Propagation::both;
  return invalid_argument("mount propagation must be private, host-to-task or bidirectional, got \"" + mode + "\"");
}

// The agent laid it there and wants it left alone.
bool is_in_place(const driver::Mount& mount, const std::string& folder) {
  return mount.readonly() && mount.host_path() == folder + in_root(mount.task_path());
}

Status add_mounts(const driver::TaskConfig& task, const std::string& folder, Confined::Root& root) {
  for (const driver::Mount& mount : task.mounts()) {
    const std::string target = in_root(mount.task_path());
    DROVER_RETURN_IF_ERROR(check_path(target, "the place of a mount"));
    DROVER_RETURN_IF_ERROR(check_path(mount.host_path(), "the source of a mount"));
    if (is_in_place(mount, folder)) {
      root.not_writable.push_back(target);
      continue;
    }
    DROVER_TRY(const auto propagation, propagation_of(mount.propagation_mode()));
    root.mounts.push_back({.type = {},
                           .source = mount.host_path(),
                           .target = target,
                           .options = {},
                           .flags = mount.readonly() ? uint32_t{Confined::read_only} : 0,
                           .propagation = propagation});
  }
  return ok_status();
}

Result<std::vector<CgroupLimits::Device>> rules_of(const driver::TaskConfig& task, const FindDevice& find_device) {
  std::vector<CgroupLimits::Device> rules;
  for (const driver::Device& device : task.devices()) {
    DROVER_TRY(const DeviceNode node, find_device(device.host_path()));
    const std::string& access = device.cgroup_permissions();
    if (access.find_first_not_of("rwm") != std::string::npos)
      return invalid_argument("invalid cgroup permission string: \"" + access + "\"");
    rules.push_back({.type = node.is_block ? 'b' : 'c',
                     .major = node.major,
                     .minor = node.minor,
                     .access = access.empty() ? "rwm" : access});
  }
  return rules;
}

Status add_devices(const driver::TaskConfig& task, const FindDevice& find_device, Confined::Root& root) {
  for (const auto& [path, major, minor] : kDevices)
    root.devices.push_back({.target = path, .is_block = false, .major = major, .minor = minor});
  for (const driver::Device& device : task.devices()) {
    const std::string target = in_root(device.task_path().empty() ? device.host_path() : device.task_path());
    DROVER_RETURN_IF_ERROR(check_path(target, "the place of a device"));
    DROVER_TRY(const DeviceNode node, find_device(device.host_path()));
    root.devices.push_back({.target = target,
                            .is_block = node.is_block,
                            .major = node.major,
                            .minor = node.minor,
                            .mode = node.mode,
                            .user = node.user,
                            .group = node.group});
  }
  return ok_status();
}

std::string read_text(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The lines of resolv.conf that begin with this word.
std::string lines_with(std::string_view word, std::string_view text) {
  std::string found;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(word) && line.size() > word.size() && (line[word.size()] == ' ' || line[word.size()] == '\t'))
      found += std::string(line) + "\n";
  }
  return found;
}

template <typename List>
std::string joined(std::string_view word, const List& values) {
  std::string line(word);
  for (const std::string& value : values) line += " " + value;
  return line + "\n";
}

void add_files(const driver::TaskConfig& task, Confined::Root& root) {
  if (task.has_dns())
    root.files.push_back({"/etc/resolv.conf", resolv_conf(task.dns(), read_text("/etc/resolv.conf"))});
  const driver::HostsConfig& hosts = task.network_isolation_spec().hostsconfig();
  if (!hosts.address().empty() && !hosts.hostname().empty())
    root.files.push_back({"/etc/hosts", hosts_file(hosts.hostname(), hosts.address())});
}

}  // namespace

Result<DeviceNode> device_at(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return invalid_argument("device " + path + " is not on this machine");
  if (!S_ISBLK(found.st_mode) && !S_ISCHR(found.st_mode)) return invalid_argument(path + " is no device");
  return DeviceNode{.is_block = S_ISBLK(found.st_mode),
                    .major = major(found.st_rdev),
                    .minor = minor(found.st_rdev),
                    .mode = found.st_mode & 07777U,
                    .user = found.st_uid,
                    .group = found.st_gid};
}

std::string resolv_conf(const driver::DNSConfig& wanted, std::string_view machine) {
  std::string text;
  text += wanted.searches().empty() ? lines_with("search", machine) : joined("search", wanted.searches());
  if (wanted.servers().empty()) text += lines_with("nameserver", machine);
  for (const std::string& server : wanted.servers()) text += "nameserver " + server + "\n";
  text += wanted.options().empty() ? lines_with("options", machine) : joined("options", wanted.options());
  return text;
}

std::string hosts_file(std::string_view hostname, std::string_view address) {
  std::string text =
      "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\nfe00::0 ip6-localnet\nff00::0 ip6-mcastprefix\n"
      "ff02::1 ip6-allnodes\nff02::2 ip6-allrouters\n";
  return text.append(address).append(" ").append(hostname).append("\n");
}

std::vector<RootFolder::Shown> shown_in(const driver::TaskConfig& task) {
  std::vector<RootFolder::Shown> shown;
  for (const driver::Mount& mount : task.mounts()) {
    if (!is_in_place(mount, task_folder(task))) shown.push_back({in_root(mount.task_path()), mount.host_path()});
  }
  return shown;
}

Result<Confinement::Root> plan_root(const driver::TaskConfig& task, const std::string& folder,
                                    const RootOptions& options, const FindDevice& find_device) {
  Confined::Root root{.folder = folder, .is_pivoted = options.is_pivoted};
  root.mounts = kernel_file_systems();
  root.links = standard_links();
  root.hidden.assign(std::begin(kHidden), std::end(kHidden));
  root.not_writable.assign(std::begin(kNotWritable), std::end(kNotWritable));
  DROVER_RETURN_IF_ERROR(add_mounts(task, folder, root));
  DROVER_RETURN_IF_ERROR(add_devices(task, find_device, root));
  add_files(task, root);
  return root;
}

Result<std::vector<CgroupLimits::Device>> device_rules(const driver::TaskConfig& task, const FindDevice& find_device) {
  // A node may be made for whatever there is: to use it is another matter.
  std::vector<CgroupLimits::Device> rules = {{.type = 'c', .major = {}, .minor = {}, .access = "m"},
                                             {.type = 'b', .major = {}, .minor = {}, .access = "m"}};
  for (const auto& [path, major, minor] : kDevices) rules.push_back({.type = 'c', .major = major, .minor = minor});
  rules.push_back({.type = 'c', .major = kTerminals, .minor = {}});
  rules.push_back({.type = 'c', .major = 5, .minor = 2});  // makes a terminal
  rules.push_back({.type = 'c', .major = kTunnelMajor, .minor = kTunnelMinor});
  DROVER_TRY(const auto given, rules_of(task, find_device));
  rules.insert(rules.end(), given.begin(), given.end());
  return rules;
}

Result<std::vector<CgroupLimits::Device>> devices_of(const driver::TaskConfig& task) {
  return device_rules(task, device_at);
}

}  // namespace drover
