#include "first_process.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "drover/process.h"

namespace drover {
namespace {

constexpr std::array kHarmless = {SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
constexpr int kHex = 16;

// The text behind "NAME:" and white space.
std::string_view field(std::string_view status, std::string_view name) {
  for (size_t at = 0; at < status.size();) {
    const size_t end = std::min(status.find('\n', at), status.size());
    std::string_view line = status.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    line.remove_prefix(name.size() + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line;
  }
  return {};
}

bool holds(std::string_view status, std::string_view name, int signal) {
  const std::string_view text = field(status, name);
  uint64_t mask = 0;
  std::from_chars(text.data(), text.data() + text.size(), mask, kHex);
  return (mask >> (signal - 1) & 1) != 0;
}

// Its number in the innermost of several pid namespaces is one.
bool is_first(std::string_view status) {
  const std::string_view numbers = field(status, "NSpid");
  const size_t last = numbers.find_last_of(" \t");
  return last != std::string_view::npos && numbers.substr(last + 1) == "1";
}

bool is_lost_on(pid_t pid, int signal) {
  std::error_code ignored;  // it may end meanwhile
  const std::filesystem::directory_iterator end;
  bool is_lost = false;
  for (std::filesystem::directory_iterator thread("/proc/" + std::to_string(pid) + "/task", ignored); thread != end;
       thread.increment(ignored)) {
    std::ifstream file(thread->path() / "status");
    const std::string status{std::istreambuf_iterator<char>(file), {}};
    if (status.empty()) continue;
    if (!is_lost_signal(status, signal)) return false;
    is_lost = true;
  }
  return is_lost;
}

}  // namespace

bool is_lost_signal(std::string_view status, int signal) {
  const bool ends = std::ranges::find(kHarmless, signal) == kHarmless.end();
  return ends && is_first(status) && !holds(status, "SigCgt", signal) && !holds(status, "SigIgn", signal) &&
         !holds(status, "SigBlk", signal);
}

bool signal_first_process(pid_t pid, uint64_t start_time, int signal) {
  const bool is_lost = signal > 0 && is_lost_on(pid, signal);
  return signal_process(pid, start_time, is_lost ? SIGKILL : signal);
}

}  // namespace drover
