#include "first_process.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <fstream>
#include <string>

#include "drover/process.h"
#include "drover/read_all.h"

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

// The kernel asks the first thread: it keeps a signal that this one blocks, whatever others block. A thread that is just
// being made blocks all for a moment.
bool is_lost_on(pid_t pid, int signal) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  return is_lost_signal(read_all(file), signal);
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
