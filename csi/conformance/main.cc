// drover-csi-test: tries a storage plugin of anybody's. README.md says what it does.
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "drover/printable.h"
#include "options.h"
#include "report.h"
#include "run.h"
#include "trial.h"

namespace {

using namespace drover;
using namespace drover::csi_kit;

constexpr int kFailed = 1, kUnusable = 2;

sigset_t interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int each : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, each);
  return signals;
}

// They wait for the end of a check: what it made is undone first, and the plugin is ended.
bool is_interrupted() {
  const sigset_t signals = interrupts();
  const timespec at_once{};
  return ::sigtimedwait(&signals, nullptr, &at_once) > 0;
}

// Mounts made from here on go with this process, however it ends. Empty, or why there can be none.
std::string own_mounts(const Settings& settings) {
  if (::geteuid() != 0) return "mounts need root";
  if (settings.program.empty()) return {};  // whoever started it has its mounts where we see them, or has not
  if (::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0) return {};
  return std::string("mounts need CAP_SYS_ADMIN: ") + std::strerror(errno);
}

Result<std::string> own_folder() {
  std::error_code error;
  // Without links, as the system lists mounts.
  const auto place = std::filesystem::canonical(std::filesystem::temp_directory_path(error), error);
  if (error) return unavailable("the folder for temporary files cannot be used: " + error.message());
  std::string path = place / "drover-csi-test-XXXXXX";
  if (!::mkdtemp(path.data())) return errno_status(errno, path);
  std::filesystem::create_directory(path + "/targets", error);
  std::filesystem::create_directory(path + "/staging", error);
  if (error) return unavailable(path + ": " + error.message());
  return path;
}

Result<int> try_plugin(const Settings& settings, const std::vector<const Check*>& checks, const std::string& folder,
                       std::string why_no_mounts) {
  DROVER_TRY(const auto subject, make_subject(settings, folder));
  Session session(*subject, settings, folder);
  session.abilities.why_no_mounts = std::move(why_no_mounts);
  DROVER_RETURN_IF_ERROR(session.learn());
  const std::string& tried = settings.program.empty() ? settings.socket : settings.program;
  Progress progress(std::cout, checks, settings.is_verbose);
  if (!settings.is_json) std::cout << checks.size() << " checks of " << printable(tried) << "\n";
  bool was_interrupted = false;
  const auto outcomes = run_all(checks, session, [&](size_t index, const Outcome& outcome) {
    if (!settings.is_json) progress.ended(index, outcome);
    was_interrupted = is_interrupted();
    return !was_interrupted;
  });
  if (was_interrupted) return cancelled("interrupted after " + std::to_string(outcomes.size()) + " checks");
  std::cout << (settings.is_json ? to_json(tried, checks, outcomes) : summary(outcomes) + "\n");
  const Tally count = tally(outcomes);
  if (count.passed + count.failed == 0) return failed_precondition("nothing was tested; -verbose says why");
  return count.failed == 0 ? 0 : kFailed;
}

Result<int> run(const std::vector<std::string>& words) {
  DROVER_TRY(const Settings settings, parse_options(words));
  const auto checks = select(settings.pattern);
  if (checks.empty()) return invalid_argument("no check has \"" + settings.pattern + "\" in it; see -list");
  if (settings.only_list) {
    std::cout << listing(checks);
    return 0;
  }
  std::string why_no_mounts = own_mounts(settings);
  DROVER_TRY(const std::string folder, own_folder());
  const auto ended = try_plugin(settings, checks, folder, std::move(why_no_mounts));
  clear(folder);
  return ended;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (wants_help(words)) {
    std::cout << help();
    return 0;
  }
  (void)std::signal(SIGPIPE, SIG_IGN);
  const sigset_t signals = interrupts();
  (void)::pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread begins
  const auto ended = run(words);
  if (ended) return *ended;
  std::cerr << "Error: " << printable(ended.status().message()) << "\n";
  return kUnusable;
}
