#include "drover/cgroup.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>

#include "cgroup_limits.h"
#include "device_program.h"
#include "drover/mounts.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

// The controllers that a task needs: to find and kill its processes, and to count what it uses.
constexpr std::array<std::string_view, 5> kControllers = {"freezer", "memory", "pids", "cpu", "cpuacct"};
constexpr int kRetryMs = 2;
constexpr size_t kLongestName = 200;
constexpr uint64_t kNsPerTick = 10'000'000;  // USER_HZ is 100 on every Linux

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<std::string> read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  char chunk[4096];
  ssize_t n = 0;
  while ((n = read(fd, chunk, sizeof chunk)) > 0) text.append(chunk, static_cast<size_t>(n));
  close(fd);
  if (n < 0) return std::nullopt;
  return text;
}

bool write_file(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return is_written;
}

std::optional<uint64_t> to_number(std::string_view text) {
  uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<uint64_t> read_number(const std::string& path) {
  std::optional<std::string> text = read_file(path);
  return text ? to_number(*text) : std::nullopt;
}

// Reads the value from a file with lines "name value".
std::optional<uint64_t> value_of(const std::optional<std::string>& text, std::string_view name) {
  if (!text) return std::nullopt;
  for (std::string_view line : split(*text, '\n')) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ')
      return to_number(line.substr(name.size() + 1));
  }
  return std::nullopt;
}

std::optional<uint64_t> times(std::optional<uint64_t> value, uint64_t factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

// The folder and those below it, deepest first.
std::vector<std::string> folders_below(const std::string& top) {
  std::vector<std::string> folders = {top};
  std::error_code error;
  for (auto at = fs::recursive_directory_iterator(top, fs::directory_options::skip_permission_denied, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored)) folders.push_back(at->path().string());
  }
  std::ranges::reverse(folders);
  return folders;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Status make_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return ok_status();
  return errno_status(errno, "make control group " + path);
}

}  // namespace

std::string_view to_string(CgroupLayout::Mode mode) {
  switch (mode) {
    case CgroupLayout::Mode::v1:
      return "v1";
    case CgroupLayout::Mode::v2:
      return "v2";
    case CgroupLayout::Mode::hybrid:
      return "hybrid";
    default:
      return "none";
  }
}

CgroupLayout parse_cgroup_mounts(std::string_view mountinfo) {
  CgroupLayout layout;
  for (const MountPoint& mount : parse_mountinfo(mountinfo)) {
    if (mount.type == "cgroup2" && layout.v2.empty()) layout.v2 = mount.path;
    if (mount.type != "cgroup") continue;
    for (std::string_view option : split(mount.options, ',')) {
      if (std::ranges::find(kControllers, option) != kControllers.end())
        layout.v1.try_emplace(std::string(option), mount.path);
      if (option == "cpuset" && layout.cpuset.empty()) layout.cpuset = mount.path;
      if (option == "devices" && layout.devices.empty()) layout.devices = mount.path;
    }
  }
  using enum CgroupLayout::Mode;
  layout.mode = layout.v1.empty() ? (layout.v2.empty() ? none : v2) : (layout.v2.empty() ? v1 : hybrid);
  return layout;
}

CgroupLayout detect_cgroups() {
  CgroupLayout layout = parse_cgroup_mounts(read_file("/proc/self/mountinfo").value_or(""));
  auto is_writable = [](const std::string& path) { return access(path.c_str(), W_OK) == 0; };
  std::erase_if(layout.v1, [&](const auto& mount) { return !is_writable(mount.second); });
  if (!layout.v2.empty() && !is_writable(layout.v2)) layout.v2.clear();
  for (std::string* each : {&layout.cpuset, &layout.devices}) {
    if (!each->empty() && !is_writable(*each)) each->clear();
  }
  using enum CgroupLayout::Mode;
  layout.mode = layout.v1.empty() ? (layout.v2.empty() ? none : v2) : (layout.v2.empty() ? v1 : hybrid);
  return layout;
}

std::string cgroup_name(std::string_view task_id) {
  std::string name(task_id.substr(0, kLongestName));
  std::ranges::replace_if(
      name,
      [](char c) {
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                              c == '_' || c == '.';
        return !is_plain;
      },
      '_');
  if (name.empty() || name.front() == '.') name.insert(0, "_");
  return name;
}

Status make_cgroup(const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) return ok_status();
  return failed_precondition("cannot make the control group " + folder + ": " + std::strerror(errno));
}

Status write_cgroup(const std::string& file, std::string_view text) {
  if (write_file(file, text)) return ok_status();
  return failed_precondition("cannot write \"" + std::string(text) + "\" to " + file + ": " + std::strerror(errno));
}

Cgroup::Cgroup(const CgroupLayout& layout, std::string path) : path_(std::move(path)) {
  const size_t slash = path_.rfind('/');
  const std::string parent = slash == std::string::npos ? std::string() : path_.substr(0, slash);
  std::set<std::string> seen;
  auto add = [&](const std::string& mount) {
    if (!seen.insert(mount).second) return;
    folders_.push_back(mount + "/" + path_);
    if (!parent.empty()) parents_.push_back(mount + "/" + parent);
  };
  for (const auto& [controller, mount] : layout.v1) {
    controllers_[controller] = mount + "/" + path_;
    add(mount);
  }
  if (!layout.v2.empty()) {
    unified_ = layout.v2 + "/" + path_;
    add(layout.v2);
  }
  if (!layout.cpuset.empty()) cpuset_ = layout.cpuset + "/" + path_;
  if (!layout.devices.empty()) devices_ = layout.devices + "/" + path_;
}

bool Cgroup::exists() const {
  return std::ranges::any_of(folders_, [](const std::string& folder) { return access(folder.c_str(), F_OK) == 0; });
}

Status Cgroup::make_folders(bool has_cpus, bool has_devices) const {
  for (const std::string& parent : parents_) DROVER_RETURN_IF_ERROR(make_folder(parent));
  if (!unified_.empty()) {
    // Controllers reach a group only through its ancestors. Those that are taken by version 1 or absent stay away.
    const std::string parent = parent_of(unified_);
    for (const std::string& above : {parent_of(parent), parent}) {
      for (const char* controller : {"+cpu", "+cpuset", "+memory", "+pids"})
        write_file(above + "/cgroup.subtree_control", controller);
    }
  }
  for (const std::string& folder : folders_) DROVER_RETURN_IF_ERROR(make_folder(folder));
  if (has_cpus && !cpuset_.empty()) DROVER_RETURN_IF_ERROR(make_cpuset());
  if (!has_devices || devices_.empty()) return ok_status();
  if (path_.find('/') != std::string::npos) DROVER_RETURN_IF_ERROR(make_folder(parent_of(devices_)));
  return make_folder(devices_);
}

// A new group of this controller has no processors and no memory, and could hold no process.
Status Cgroup::make_cpuset() const {
  std::vector<std::string> folders = {cpuset_};
  if (path_.find('/') != std::string::npos) folders.insert(folders.begin(), parent_of(cpuset_));
  for (const std::string& folder : folders) {
    DROVER_RETURN_IF_ERROR(make_folder(folder));
    for (const char* file : {"/cpuset.mems", "/cpuset.cpus"}) {
      const std::string own = read_file(folder + file).value_or("");
      if (own.find_first_not_of('\n') != std::string::npos) continue;
      if (!write_file(folder + file, read_file(parent_of(folder) + file).value_or("")))
        return errno_status(errno, "write " + folder + file);
    }
  }
  return ok_status();
}

Status Cgroup::limit(const CgroupLimits& limits) const {
  // By version 1 where it has the controller, else by version 2.
  const auto apply = [this](const std::vector<CgroupWrite>& writes, CgroupVersion version) -> Status {
    for (const CgroupWrite& write : writes) {
      const std::string where = folder(write.controller);
      const bool is_v2 = where == unified_ && !where.empty();
      if (where.empty() && !write.is_optional)
        return failed_precondition("this machine has no controller \"" + write.controller +
                                   "\" of control groups, by which the task is to be limited");
      if (where.empty() || is_v2 != (version == CgroupVersion::v2)) continue;
      const std::string file = where + "/" + write.file;
      if (write_file(file, write.text) || (write.is_optional && errno != EINVAL)) continue;
      const std::string why = "write \"" + write.text + "\" to " + file + ": " + std::strerror(errno);
      return errno == ENOENT ? not_found(why) : invalid_argument(why);
    }
    return ok_status();
  };
  DROVER_RETURN_IF_ERROR(check_limits(limits));
  std::vector<CgroupWrite> first = cgroup_writes(limits, CgroupVersion::v1);
  const bool has_no_devices = devices_.empty();
  if (has_no_devices) std::erase_if(first, [](const CgroupWrite& write) { return write.controller == "devices"; });
  DROVER_RETURN_IF_ERROR(apply(first, CgroupVersion::v1));
  DROVER_RETURN_IF_ERROR(apply(cgroup_writes(limits, CgroupVersion::v2), CgroupVersion::v2));
  if (!limits.devices || !has_no_devices) return ok_status();
  if (unified_.empty())
    return failed_precondition("this machine has no control groups by which a task's devices could be limited");
  return attach_devices(unified_, *limits.devices);
}

Status Cgroup::create(const CgroupLimits& limits) const {
  const auto create_once = [&]() -> Status {
    const Status made = make_folders(!limits.cpus.empty(), limits.devices.has_value());
    return made.ok() ? limit(limits) : made;
  };
  // Another task's end may take the empty parent away between two steps: then once more from the top. The parent stays
  // meanwhile, or two that try would take it away from each other.
  constexpr int kAttempts = 100;
  Status made = create_once();
  for (int attempt = 1; attempt < kAttempts && made.code() == Code::not_found; ++attempt) made = create_once();
  if (!made.ok()) (void)remove();
  return made;
}

std::vector<std::string> Cgroup::join_files() const {
  std::vector<std::string> files;
  for (const std::string& folder : folders_) files.push_back(folder + "/cgroup.procs");
  for (const std::string* folder : {&cpuset_, &devices_}) {
    if (!folder->empty() && access(folder->c_str(), F_OK) == 0) files.push_back(*folder + "/cgroup.procs");
  }
  return files;
}

std::vector<int> Cgroup::pids() const {
  std::set<int> found;
  for (const std::string& top : folders_) {
    for (const std::string& folder : folders_below(top)) {
      const std::string text = read_file(folder + "/cgroup.procs").value_or("");
      for (std::string_view line : split(text, '\n')) {
        if (std::optional<uint64_t> pid = to_number(line); pid && *pid > 0) found.insert(static_cast<int>(*pid));
      }
    }
  }
  return {found.begin(), found.end()};
}

Status Cgroup::kill(SteadyTime deadline) const {
  const std::string freezer = folder("freezer");
  while (true) {
    // With cgroup.kill the kernel does it in one step that no fork can escape.
    if (!unified_.empty()) write_file(unified_ + "/cgroup.kill", "1");
    const std::vector<int> inside = pids();
    if (inside.empty()) return ok_status();
    // Else all are frozen first: nobody forks, and nobody's number can go to a stranger before the signal arrives.
    const bool is_frozen = !freezer.empty() && write_file(freezer + "/freezer.state", "FROZEN");
    std::vector<std::pair<int, int>> held;
    for (int pid : is_frozen ? pids() : inside)
      held.emplace_back(pid, static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    const std::vector<int> still = pids();
    for (auto [pid, fd] : held) {
      if (fd < 0) continue;
      if (std::ranges::binary_search(still, pid)) syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0);
      close(fd);
    }
    if (is_frozen) write_file(freezer + "/freezer.state", "THAWED");
    if (SystemClock().steady() >= deadline)
      return deadline_exceeded(std::to_string(inside.size()) + " processes of control group " + path_ +
                               " could not be killed in time");
    poll(nullptr, 0, kRetryMs);
  }
}

Status Cgroup::remove() const {
  Status status;
  std::vector<std::string> all = folders_;
  std::vector<std::string> parents = parents_;
  for (const std::string* folder : {&cpuset_, &devices_}) {
    if (folder->empty()) continue;
    all.push_back(*folder);
    if (path_.find('/') != std::string::npos) parents.push_back(parent_of(*folder));
  }
  for (const std::string& top : all) {
    for (const std::string& folder : folders_below(top)) {
      if (rmdir(folder.c_str()) == 0 || errno == ENOENT || !status.ok()) continue;
      status = errno == EBUSY ? failed_precondition("control group " + folder + " is in use")
                              : errno_status(errno, "remove control group " + folder);
    }
  }
  // The last task's group takes the common parent with it; while others are in there this fails, as it should.
  const bool is_parent_ours = std::ranges::count(path_, '/') == 1;
  for (auto parent = parents.rbegin(); is_parent_ours && parent != parents.rend(); ++parent) rmdir(parent->c_str());
  return status;
}

std::string Cgroup::folder(std::string_view controller) const {
  if (auto at = controllers_.find(std::string(controller)); at != controllers_.end()) return at->second;
  if (controller == "cpuset" && !cpuset_.empty()) return cpuset_;
  if (controller == "devices" && !devices_.empty()) return devices_;
  if (unified_.empty()) return {};
  const std::optional<std::string> present = read_file(unified_ + "/cgroup.controllers");
  for (std::string_view line : split(present.value_or(""), '\n')) {
    for (std::string_view name : split(line, ' ')) {
      if (name == controller) return unified_;
    }
  }
  return {};
}

std::optional<uint64_t> Cgroup::oom_kills() const {
  const std::string memory = folder("memory");
  if (memory.empty()) return std::nullopt;
  if (memory == unified_) return value_of(read_file(memory + "/memory.events"), "oom_kill");
  return value_of(read_file(memory + "/memory.oom_control"), "oom_kill");
}

CgroupUsage Cgroup::usage() const {
  CgroupUsage usage;
  const std::string cpu = folder("cpuacct");
  if (!cpu.empty() && cpu != unified_) {
    usage.cpu_ns = read_number(cpu + "/cpuacct.usage");
    const std::optional<std::string> stat = read_file(cpu + "/cpuacct.stat");
    usage.cpu_user_ns = times(value_of(stat, "user"), kNsPerTick);
    usage.cpu_system_ns = times(value_of(stat, "system"), kNsPerTick);
    const std::optional<std::string> throttle = read_file(folder("cpu") + "/cpu.stat");
    usage.throttled_periods = value_of(throttle, "nr_throttled");
    usage.throttled_ns = value_of(throttle, "throttled_time");
  } else if (!unified_.empty()) {
    const std::optional<std::string> stat = read_file(unified_ + "/cpu.stat");  // there even without the controller
    usage.cpu_ns = times(value_of(stat, "usage_usec"), 1000);
    usage.cpu_user_ns = times(value_of(stat, "user_usec"), 1000);
    usage.cpu_system_ns = times(value_of(stat, "system_usec"), 1000);
    usage.throttled_periods = value_of(stat, "nr_throttled");
    usage.throttled_ns = times(value_of(stat, "throttled_usec"), 1000);
  }
  const std::string memory = folder("memory");
  if (memory.empty()) return usage;
  const std::optional<std::string> stat = read_file(memory + "/memory.stat");
  if (memory == unified_) {
    usage.memory_rss = value_of(stat, "anon");
    usage.memory_cache = value_of(stat, "file");
    usage.memory_swap = read_number(memory + "/memory.swap.current");
    usage.memory_usage = read_number(memory + "/memory.current");
    usage.memory_max_usage = read_number(memory + "/memory.peak");
  } else {
    usage.memory_rss = value_of(stat, "total_rss");
    usage.memory_cache = value_of(stat, "total_cache");
    usage.memory_swap = value_of(stat, "total_swap");
    usage.memory_usage = read_number(memory + "/memory.usage_in_bytes");
    usage.memory_max_usage = read_number(memory + "/memory.max_usage_in_bytes");
  }
  return usage;
}

}  // namespace drover
