#include "drover/signals.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <vector>

#include "drover/nearest.h"

namespace drover {
namespace {

struct Signal {
  std::string_view name;
  int number;
};

constexpr std::array kSignals = {
    Signal{"SIGHUP", SIGHUP},       Signal{"SIGINT", SIGINT},   Signal{"SIGQUIT", SIGQUIT},
    Signal{"SIGILL", SIGILL},       Signal{"SIGTRAP", SIGTRAP}, Signal{"SIGABRT", SIGABRT},
    Signal{"SIGIOT", SIGABRT},      Signal{"SIGBUS", SIGBUS},   Signal{"SIGFPE", SIGFPE},
    Signal{"SIGKILL", SIGKILL},     Signal{"SIGUSR1", SIGUSR1}, Signal{"SIGSEGV", SIGSEGV},
    Signal{"SIGUSR2", SIGUSR2},     Signal{"SIGPIPE", SIGPIPE}, Signal{"SIGALRM", SIGALRM},
    Signal{"SIGTERM", SIGTERM},     Signal{"SIGCHLD", SIGCHLD}, Signal{"SIGCONT", SIGCONT},
    Signal{"SIGSTOP", SIGSTOP},     Signal{"SIGTSTP", SIGTSTP}, Signal{"SIGTTIN", SIGTTIN},
    Signal{"SIGTTOU", SIGTTOU},     Signal{"SIGURG", SIGURG},   Signal{"SIGXCPU", SIGXCPU},
    Signal{"SIGXFSZ", SIGXFSZ},     Signal{"SIGPROF", SIGPROF}, Signal{"SIGVTALRM", SIGVTALRM},
    Signal{"SIGWINCH", SIGWINCH},   Signal{"SIGIO", SIGIO},     Signal{"SIGPWR", SIGPWR},
    Signal{"SIGSTKFLT", SIGSTKFLT}, Signal{"SIGSYS", SIGSYS},
};

constexpr int kHighestSignal = 64;

}  // namespace

Result<int> parse_signal(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (!upper.empty() && upper.front() >= '0' && upper.front() <= '9') {
    int number = 0;
    auto [end, error] = std::from_chars(upper.data(), upper.data() + upper.size(), number);
    if (error == std::errc() && end == upper.data() + upper.size() && number >= 1 && number <= kHighestSignal)
      return number;
  } else {
    if (!upper.starts_with("SIG")) upper.insert(0, "SIG");
    for (const Signal& signal : kSignals) {
      if (signal.name == upper) return signal.number;
    }
  }
  std::vector<std::string_view> names;
  for (const Signal& signal : kSignals) names.push_back(signal.name);
  std::string text = "unknown signal \"" + std::string(name) + "\"";
  if (std::string hint = nearest_hint(upper, names); !hint.empty()) text += "; " + hint;
  return invalid_argument(std::move(text));
}

std::string signal_name(int number) {
  for (const Signal& signal : kSignals) {
    if (signal.number == number) return std::string(signal.name);
  }
  return std::to_string(number);
}

}  // namespace drover
