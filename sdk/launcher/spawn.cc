#include "spawn.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <functional>
#include <vector>

#include "confine.h"

namespace drover::launcher {
namespace {

constexpr int kSignals = 64;
constexpr mode_t kUmask = 022;

enum Stage : int { kSession, kCgroup, kNetwork, kStreams, kConfine, kUser, kDirectory, kExec };
constexpr size_t kLongestStep = 400;

struct Failure {
  int stage;
  int error;
  size_t cgroup;
  char step[kLongestStep];  // of the confinement
};

[[noreturn]] void fail(int report, int stage, size_t cgroup = 0) {
  const Failure failure{.stage = stage, .error = errno, .cgroup = cgroup, .step = {}};
  // If even this write fails, the reader sees an exit without a report and says so.
  [[maybe_unused]] ssize_t n = write(report, &failure, sizeof failure);
  _exit(127);
}

void go_on(int report, const Confined& confined) {
  if (!confined) return;
  Failure failure{.stage = kConfine, .error = confined->error, .cgroup = 0, .step = {}};
  confined->step.copy(failure.step, kLongestStep - 1);
  [[maybe_unused]] ssize_t n = write(report, &failure, sizeof failure);
  _exit(127);
}

std::vector<char*> pointers(const std::vector<std::string>& texts, size_t from) {
  std::vector<char*> list;
  for (size_t i = from; i < texts.size(); ++i) list.push_back(const_cast<char*>(texts[i].c_str()));
  list.push_back(nullptr);
  return list;
}

std::string what(const Failure& failure, const StartRequest& request) {
  switch (failure.stage) {
    case kSession:
      return "setsid";
    case kCgroup:
      return "join " + request.cgroup_files[failure.cgroup];
    case kNetwork:
      return "join the network namespace " + request.network_namespace;
    case kStreams:
      return "connect the task's streams";
    case kConfine:
      return failure.step;
    case kUser:
      return "become user " + std::to_string(request.user);
    case kDirectory:
      return "chdir " + request.directory;
    default:
      return "exec " + request.arguments.front();
  }
}

// In the child, where only async-signal-safe calls may be made: false with errno set.
bool connect_terminal(const char* path, const StartRequest& request) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) != 0) return false;
  if (request.changes_user && fchown(fd, static_cast<uid_t>(request.user), static_cast<gid_t>(-1)) != 0) return false;
  return dup2(fd, 0) >= 0 && dup2(fd, 1) >= 0 && dup2(fd, 2) >= 0;
}

// The client that asked has the other end open. One that has gone meanwhile is not waited for.
bool connect_fifo(const char* path, int access, int as) {
  const int fd = open(path, access | O_NONBLOCK | O_CLOEXEC);
  return fd >= 0 && fcntl(fd, F_SETFL, 0) == 0 && dup2(fd, as) >= 0;
}

bool connect_fifos(const ExecStreams& streams) {
  return connect_fifo(streams.input.c_str(), O_RDONLY, 0) && connect_fifo(streams.output.c_str(), O_WRONLY, 1) &&
         connect_fifo(streams.error.c_str(), O_WRONLY, 2);
}

// Behind /dev/stdout and its like stands a FIFO that the process opens anew, as the user that it will be.
void give_fifos(uid_t user) {
  for (const int stream : {0, 1, 2}) {
    struct stat found {};
    if (fstat(stream, &found) == 0 && S_ISFIFO(found.st_mode)) (void)!fchown(stream, user, static_cast<gid_t>(-1));
  }
}

Spawned spawn_with(const StartRequest& request, const std::function<bool()>& connect_streams);

}  // namespace

Spawned spawn(const StartRequest& request, int out, int err) {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) return {.error = errno, .what = "open /dev/null"};
  const Spawned spawned =
      spawn_with(request, [&] { return dup2(null, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0; });
  close(null);
  return spawned;
}

Spawned spawn(const StartRequest& request, const ExecStreams& streams) {
  return spawn_with(request, [&] {
    return streams.terminal.empty() ? connect_fifos(streams) : connect_terminal(streams.terminal.c_str(), request);
  });
}

namespace {

Spawned spawn_with(const StartRequest& request, const std::function<bool()>& connect_streams) {
  // All memory is taken before the fork: behind it only async-signal-safe calls are made, but by the confiner, which
  // relies on the one thread.
  const std::vector<char*> arguments = pointers(request.arguments, 1);
  const std::vector<char*> environment = pointers(request.environment, 0);
  const std::vector<gid_t> groups(request.groups.begin(), request.groups.end());
  const Confinement unconfined;
  const bool is_confined = request.confinement.has_value();
  Confiner confiner(is_confined ? *request.confinement : unconfined);
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return {.error = errno, .what = "pipe"};
  if (const Confined failure = confiner.prepare()) {
    close(report[0]);
    close(report[1]);
    return {.error = failure->error, .what = failure->step};
  }

  const pid_t pid = fork();
  if (pid == 0) {
    // A session of its own: no terminal, and one group that holds all processes that do not leave it.
    if (setsid() < 0) fail(report[1], kSession);
    for (size_t i = 0; i < request.cgroup_files.size(); ++i) {
      const int fd = open(request.cgroup_files[i].c_str(), O_WRONLY | O_CLOEXEC);
      if (fd < 0 || write(fd, "0", 1) != 1) fail(report[1], kCgroup, i);
      close(fd);
    }
    if (!request.network_namespace.empty()) {
      const int fd = open(request.network_namespace.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) fail(report[1], kNetwork);
      close(fd);
    }
    if (!connect_streams()) fail(report[1], kStreams);
    if (is_confined) {
      if (request.changes_user) give_fifos(static_cast<uid_t>(request.user));
      go_on(report[1], confiner.surround());
      go_on(report[1], confiner.filter());
      go_on(report[1], confiner.keep_over_user());
    }
    if (request.changes_user) {
      if (setgroups(groups.size(), groups.data()) != 0 || setgid(static_cast<gid_t>(request.group)) != 0 ||
          setuid(static_cast<uid_t>(request.user)) != 0)
        fail(report[1], kUser);
    }
    if (is_confined)
      go_on(report[1], confiner.reduce(request.changes_user ? static_cast<uid_t>(request.user) : getuid()));
    if (!request.directory.empty() && chdir(request.directory.c_str()) != 0) fail(report[1], kDirectory);
    umask(kUmask);
    for (int signal = 1; signal <= kSignals; ++signal) {
      struct sigaction action {};
      action.sa_handler = SIG_DFL;
      sigaction(signal, &action,
                nullptr);  // fails for SIGKILL, SIGSTOP and the library's own, which is as it should be
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execve(request.arguments.front().c_str(), arguments.data(), environment.data());
    fail(report[1], kExec);
  }

  const int fork_error = errno;
  confiner.leave();
  close(report[1]);
  Spawned spawned{.pid = pid};
  if (pid < 0) {
    spawned = {.error = fork_error, .what = "fork"};
  } else {
    Failure failure{};
    ssize_t n = 0;
    do {
      n = read(report[0], &failure, sizeof failure);
    } while (n < 0 && errno == EINTR);
    if (n != 0) {  // the pipe closes without a word when the program runs
      while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
      spawned = {.error = n == sizeof failure ? failure.error : EIO, .what = what(failure, request)};
    }
  }
  close(report[0]);
  return spawned;
}

}  // namespace
}  // namespace drover::launcher
