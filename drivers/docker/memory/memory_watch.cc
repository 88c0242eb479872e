#include "memory/memory_watch.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "drover/mounts.h"
#include "drover/pause.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookAgain = 5ms;  // the kernel takes a group away within milliseconds

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::optional<std::string> memory_group(std::string_view cgroup) {
  while (!cgroup.empty()) {
    const size_t end = std::min(cgroup.find('\n'), cgroup.size());
    const std::string_view line = cgroup.substr(0, end);
    cgroup.remove_prefix(std::min(end + 1, cgroup.size()));
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    if (has_word(line.substr(first + 1, second - first - 1), "memory")) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

std::optional<std::string> memory_hierarchy(std::string_view mountinfo) {
  for (const MountPoint& mount : parse_mountinfo(mountinfo)) {
    if (mount.type == "cgroup" && has_word(mount.options, "memory")) return mount.path;
  }
  return std::nullopt;
}

MemoryWatch::MemoryWatch(int pid) {
  const auto group = pid > 0 ? memory_group(text_of("/proc/" + std::to_string(pid) + "/cgroup")) : std::nullopt;
  const auto hierarchy = group ? memory_hierarchy(text_of("/proc/self/mountinfo")) : std::nullopt;
  // The root is the machine's: its process is none of a container.
  if (!hierarchy || *group == "/") return;
  group_ = *hierarchy + *group;
  const Fd control(::open((group_ + "/memory.oom_control").c_str(), O_RDONLY | O_CLOEXEC));
  const Fd events(::open((group_ + "/cgroup.event_control").c_str(), O_WRONLY | O_CLOEXEC));
  Fd counter(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!control || !events || !counter) return;
  const std::string order = std::to_string(counter.get()) + " " + std::to_string(control.get());
  if (::write(events.get(), order.data(), order.size()) == static_cast<ssize_t>(order.size()))
    counter_ = std::move(counter);
}

std::optional<bool> MemoryWatch::ran_out(const Patience& patience) {
  if (!counter_) return std::nullopt;
  while (true) {
    uint64_t more = 0;
    if (::read(counter_.get(), &more, sizeof more) == sizeof more) count_ += more;
    if (count_ == 0) return false;
    std::error_code none;
    // The one that tells of the group's end comes after that, so this was another one.
    if (count_ > 1 || std::filesystem::exists(group_, none)) return true;
    if (SystemClock().steady() >= patience.deadline || !pause_for(kLookAgain, patience.stop)) return std::nullopt;
  }
}

}  // namespace drover::docker
