// var lock: runs a command while it holds the lock of a variable.
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli_command.h"
#include "drover/api/variables.pb.h"
#include "drover/duration.h"
#include "drover/fd.h"
#include "drover/pause.h"

namespace drover::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kDefaultTime = 15s;

bool is_conflict(const Status& status) { return status.message().find("code: 409") != std::string::npos; }

v1::ApplyVariableRequest request_for(const std::string& path, const std::string& lock_id) {
  v1::ApplyVariableRequest request;
  request.set_path(path);
  request.mutable_variable()->set_path(path);
  if (!lock_id.empty()) request.mutable_variable()->mutable_lock()->set_id(lock_id);
  return request;
}

struct Wishes {
  nanoseconds ttl = kDefaultTime, delay = kDefaultTime;
  int tries = 5;
};

Result<nanoseconds> time_of(const Run& run, const std::string& flag) {
  if (!run.arguments.is_set(flag)) return kDefaultTime;
  return parse_duration(run.arguments.value(flag)).with_context("-" + flag);
}

Result<Wishes> wishes_of(const Run& run) {
  Wishes wishes;
  DROVER_TRY(wishes.ttl, time_of(run, "ttl"));
  DROVER_TRY(wishes.delay, time_of(run, "delay"));
  const std::string tries = run.arguments.value("max-retry");
  wishes.tries = static_cast<int>(std::strtol(tries.c_str(), nullptr, 10));
  if (wishes.tries < 1) return invalid_argument("-max-retry: \"" + tries + "\" is no number of tries");
  return wishes;
}

// The lock's identifier. Where somebody else holds it, it is asked for again after a little more than a TTL.
Result<std::string> acquire(Run& run, const std::string& path, const Wishes& wishes) {
  v1::ApplyVariableRequest request = request_for(path, "");
  request.set_lock_acquire(true);
  request.mutable_variable()->mutable_lock()->set_ttl(wishes.ttl.count());
  request.mutable_variable()->mutable_lock()->set_lock_delay(wishes.delay.count());
  for (int tries = 1;; ++tries) {
    const auto taken = run.client.call<v1::Variables::Apply>(request);
    if (taken) return taken->message.variable().lock().id();
    if (!is_conflict(taken.status()) || tries == wishes.tries) return taken.status();
    if (run.verbose()) run.err << "The lock is held by somebody else; waiting\n";
    pause_for(wishes.ttl / 10 * 11, {});
  }
}

Result<pid_t> start(Run& run) {
  const auto& typed = run.arguments.positional();
  std::vector<std::string> words(typed.begin() + 1, typed.end());
  if (run.arguments.on("shell")) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
    words = {"/bin/sh", "-c", line};
  }
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, pointers[0], nullptr, nullptr, pointers.data(), environ);
  if (error != 0) return errno_status(error, words[0]);
  return child;
}

// Waits for the child and renews the lock meanwhile. False when the lock was lost; the child is told to end then.
bool watch(Run& run, pid_t child, const std::string& path, const std::string& lock_id, nanoseconds ttl) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  v1::ApplyVariableRequest renewal = request_for(path, lock_id);
  renewal.set_lock_renew(true);
  const auto half = static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(ttl / 2).count());
  for (int failures = 0;;) {
    pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
    const int events = ::poll(&ended, 1, half);
    if (events > 0) return true;
    if (events < 0 && errno == EINTR) continue;
    const auto renewed = run.client.call<v1::Variables::Apply>(renewal);
    failures = renewed ? 0 : failures + 1;
    // An agent that does not answer for a whole TTL has freed the lock perhaps.
    if (renewed || (!is_conflict(renewed.status()) && failures < 3)) continue;
    run.err << "The lock of \"" << path << "\" was lost: " << renewed.status().message() << "\n";
    ::kill(child, SIGTERM);
    return false;
  }
}

int var_lock(Run& run) {
  const std::string& path = run.arguments.positional()[0];
  const auto wishes = wishes_of(run);
  if (!wishes) return run.usage(wishes.status().message());
  const auto lock_id = acquire(run, path, *wishes);
  if (!lock_id) return run.fail("Error acquiring the lock of \"" + path + "\"", lock_id.status());
  const auto child = start(run);
  int state = 0;
  bool is_held = true;
  if (child) {
    is_held = watch(run, *child, path, *lock_id, wishes->ttl);
    while (::waitpid(*child, &state, 0) < 0 && errno == EINTR) {
    }
  }
  if (is_held) {
    v1::ApplyVariableRequest release = request_for(path, *lock_id);
    release.set_lock_release(true);
    const auto released = run.client.call<v1::Variables::Apply>(release);
    if (!released) run.err << "The lock is released later, by the servers: " << released.status().message() << "\n";
  }
  if (!child) return run.fail("Error running the command", child.status());
  if (!is_held) return 1;
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

}  // namespace

std::vector<Definition> var_lock_commands() {
  return {{.name = "var lock",
           .synopsis = "Runs a command while it holds the lock of a variable.",
           .usage = "<path> <command> [arguments...]",
           .description = "The command ends with SIGTERM when the lock is lost. The exit code is the command's.\n",
           .flags = {with_value("ttl", "15s", "Time after which the lock must be renewed; this command does"),
                     with_value("delay", "15s", "Time for which a lost lock is kept from others"),
                     {"shell", false, "true", "Run the command by /bin/sh -c; -shell=false runs it as it stands"},
                     with_value("max-retry", "5", "How often the lock is asked for"),
                     on_off("verbose", "Say when it waits")},
           .minimum = 2,
           .maximum = 1000,
           .run = var_lock,
           .takes_command = true}};
}

}  // namespace drover::cli
