#include "drover/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

namespace drover {
namespace {

constexpr int kRetryMs = 5;

// Fields of /proc/<pid>/stat, counted from zero behind the name (proc(5) counts from one, with pid and name in front).
constexpr size_t kParent = 1, kGroup = 2, kSession = 3, kUserTicks = 11, kSystemTicks = 12, kStartTime = 19,
                 kResident = 21;

}  // namespace

std::optional<ProcessStat> parse_stat(std::string_view text) {
  // The name is in parentheses and may hold anything, parentheses and spaces too.
  const size_t end = text.rfind(')');
  if (end == std::string_view::npos || end + 2 >= text.size()) return std::nullopt;
  ProcessStat stat;
  if (std::from_chars(text.data(), text.data() + text.size(), stat.pid).ec != std::errc()) return std::nullopt;
  stat.state = text[end + 2];
  std::array<uint64_t, kResident + 1> fields{};
  size_t at = end + 3;
  for (size_t i = 1; i < fields.size(); ++i) {
    while (at < text.size() && text[at] == ' ') ++at;
    const size_t from = at;
    while (at < text.size() && text[at] != ' ') ++at;
    if (from == at) return std::nullopt;
    if (text[from] == '-') continue;  // "no terminal" and priorities; none of them is looked at
    if (std::from_chars(text.data() + from, text.data() + at, fields[i]).ec != std::errc()) return std::nullopt;
  }
  stat.parent = static_cast<pid_t>(fields[kParent]);
  stat.group = static_cast<pid_t>(fields[kGroup]);
  stat.session = static_cast<pid_t>(fields[kSession]);
  stat.user_ticks = fields[kUserTicks];
  stat.system_ticks = fields[kSystemTicks];
  stat.start_time = fields[kStartTime];
  stat.resident_pages = fields[kResident];
  return stat;
}

std::optional<ProcessStat> process_stat(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  char text[1024];
  const ssize_t n = read(fd, text, sizeof text);
  close(fd);
  if (n <= 0) return std::nullopt;
  return parse_stat({text, static_cast<size_t>(n)});
}

std::optional<uint64_t> process_start_time(pid_t pid) {
  std::optional<ProcessStat> stat = process_stat(pid);
  return stat ? std::optional(stat->start_time) : std::nullopt;
}

std::vector<ProcessStat> all_processes() {
  std::vector<ProcessStat> all;
  DIR* folder = opendir("/proc");
  if (!folder) return all;
  while (const dirent* entry = readdir(folder)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    if (std::optional<ProcessStat> stat = process_stat(pid)) all.push_back(*stat);
  }
  closedir(folder);
  return all;
}

std::vector<ProcessStat> tree_of(pid_t root, uint64_t start_time, const std::vector<ProcessStat>& all) {
  for (const ProcessStat& process : all) {
    if (process.pid == root && process.start_time != start_time) return {};
  }
  std::set<pid_t> members = {root};
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const ProcessStat& process : all) {
      if (members.contains(process.pid)) continue;
      if (process.session == root || process.group == root || members.contains(process.parent)) {
        members.insert(process.pid);
        has_grown = true;
      }
    }
  }
  std::vector<ProcessStat> tree;
  for (const ProcessStat& process : all) {
    if (members.contains(process.pid)) tree.push_back(process);
  }
  return tree;
}

double mhz_per_core() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  double sum = 0;
  int cores = 0;
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("cpu MHz")) continue;
    const size_t colon = line.find(':');
    double mhz = 0;
    if (colon == std::string::npos) continue;
    const size_t digits = line.find_first_not_of(' ', colon + 1);
    if (digits == std::string::npos) continue;
    std::from_chars(line.data() + digits, line.data() + line.size(), mhz);
    sum += mhz;
    ++cores;
  }
  return cores > 0 ? sum / cores : 0;
}

int open_process(pid_t pid, uint64_t start_time) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return -1;
  // Read after the descriptor is held: from here on the number and the descriptor mean the same process, or it ended.
  std::optional<ProcessStat> stat = process_stat(pid);
  if (stat && stat->start_time == start_time && stat->state != 'Z') return fd;
  close(fd);
  return -1;
}

bool signal_process(pid_t pid, uint64_t start_time, int signal) {
  const int fd = open_process(pid, start_time);
  if (fd < 0) return false;
  const bool was_sent = syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0) == 0;
  close(fd);
  return was_sent;
}

bool kill_tree(pid_t root, uint64_t start_time, int limit_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  while (true) {
    // First nobody of the tree may run, so that none can fork away while the others are looked up.
    std::vector<ProcessStat> tree;
    size_t known = 0;
    do {
      known = tree.size();
      tree = tree_of(root, start_time, all_processes());
      std::erase_if(tree, [](const ProcessStat& process) { return process.state == 'Z'; });
      for (const ProcessStat& process : tree) signal_process(process.pid, process.start_time, SIGSTOP);
    } while (tree.size() > known);
    if (tree.empty()) return true;
    for (const ProcessStat& process : tree) signal_process(process.pid, process.start_time, SIGKILL);
    if (std::chrono::steady_clock::now() >= deadline) return false;
    poll(nullptr, 0, kRetryMs);
  }
}

}  // namespace drover
