#include "drover/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "drover/clock.h"
#include "drover/duration.h"
#include "drover/fd.h"

extern char** environ;

namespace drover {
namespace {

struct Pipe {
  Fd read_end, write_end;
  bool open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return false;
    read_end = Fd(ends[0]);
    write_end = Fd(ends[1]);
    // The program's end waits, as programs expect of it.
    return ::fcntl(ends[1], F_SETFL, 0) == 0;
  }
};

// A file holds what the program reads: it may read late, or not at all, and nobody waits for it.
Result<Fd> input_file(std::string_view text) {
  Fd file(::memfd_create("input", MFD_CLOEXEC));
  if (!file) return errno_status(errno, "make a file in memory");
  while (!text.empty()) {
    const ssize_t size = ::write(file.get(), text.data(), text.size());
    if (size < 0) return errno_status(errno, "write to a file in memory");
    text.remove_prefix(static_cast<size_t>(size));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::vector<char*> words_of(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

Result<pid_t> spawn(const ProgramRun& run, int input, int output, int errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (run.folder >= 0) posix_spawn_file_actions_addfchdir_np(&actions, run.folder);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  ::sigemptyset(&none);
  ::sigfillset(&usual);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> words = run.arguments;
  words.insert(words.begin(), run.program);
  std::vector<char*> environment;
  if (run.environment) environment = words_of(*run.environment);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, run.program.c_str(), &actions, &attributes, words_of(words).data(),
                                   run.environment ? environment.data() : environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == ENOENT) return not_found("there is no program " + run.program);
  if (error != 0) return unavailable(errno_status(error, "run " + run.program).message());
  return pid;
}

// The child and its process group. Collected, and what is left of the group killed, with this.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid), end_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  ~Child() { collect(); }
  void kill() const { ::kill(-pid_, SIGKILL); }
  int end() const { return end_.get(); }  // readable when it has ended
  int collect() {
    if (is_collected_) return status_;
    kill();
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    is_collected_ = true;
    return status_;
  }

 private:
  const pid_t pid_;
  const Fd end_;
  int status_ = 0;
  bool is_collected_ = false;
};

// Takes what is there. False: there will be no more.
bool drain(int fd, std::string& text, size_t longest) {
  std::array<char, 4096> part;
  while (text.size() <= longest) {
    const ssize_t size = ::read(fd, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    if (size == 0) return false;
    text.append(part.data(), static_cast<size_t>(size));
  }
  return true;
}

// Reads until it has ended. False when the time is over before, or it prints too much.
bool follow(const Child& child, std::array<Pipe, 2>& pipes, const ProgramRun& run, ProgramEnd& end) {
  const SteadyTime deadline = SystemClock().steady() + run.time;
  while (end.output.size() <= run.longest) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SystemClock().steady());
    if (left.count() <= 0) return false;
    std::array<pollfd, 3> ready{{{.fd = child.end(), .events = POLLIN, .revents = 0},
                                 {.fd = pipes[0].read_end.get(), .events = POLLIN, .revents = 0},
                                 {.fd = pipes[1].read_end.get(), .events = POLLIN, .revents = 0}}};
    // poll() leaves out a descriptor below zero: that of a pipe at its end.
    ::poll(ready.data(), ready.size(), static_cast<int>(std::min<int64_t>(left.count() + 1, 60'000)));
    if (pipes[0].read_end && !drain(pipes[0].read_end.get(), end.output, run.longest)) pipes[0].read_end.close();
    std::string errors;
    if (pipes[1].read_end && !drain(pipes[1].read_end.get(), errors, run.longest)) pipes[1].read_end.close();
    end.errors += errors.substr(0, run.longest - std::min(run.longest, end.errors.size()));
    if ((ready[0].revents & POLLIN) != 0) return end.output.size() <= run.longest;
  }
  return false;
}

}  // namespace

Result<ProgramEnd> run_program(const ProgramRun& run, const std::stop_token& stop) {
  std::array<Pipe, 2> pipes;
  if (!pipes[0].open() || !pipes[1].open()) return errno_status(errno, "make a pipe");
  DROVER_TRY(const Fd input, input_file(run.input));
  DROVER_TRY(const pid_t pid, spawn(run, input.get(), pipes[0].write_end.get(), pipes[1].write_end.get()));
  for (Pipe& pipe : pipes) pipe.write_end.close();
  Child child(pid);
  if (child.end() < 0) return errno_status(errno, "watch " + run.program);
  ProgramEnd end;
  bool is_whole = false;
  {
    const std::stop_callback kill_on_stop(stop, [&] { child.kill(); });
    is_whole = follow(child, pipes, run, end);
  }
  const int status = child.collect();
  if (stop.stop_requested()) return cancelled(run.program + " was stopped");
  if (end.output.size() > run.longest) return resource_exhausted(run.program + " printed too much");
  if (!is_whole) return deadline_exceeded(run.program + " took longer than " + format_duration(run.time));
  end.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return end;
}

Result<std::string> ask_program(const ProgramRun& run, const std::stop_token& stop) {
  DROVER_TRY(ProgramEnd end, run_program(run, stop));
  if (end.code != 0) return unavailable(run.program + " failed, with exit code " + std::to_string(end.code));
  return std::move(end.output);
}

Result<std::string> find_machine_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::string at = std::string(rest.substr(0, end)) + "/" + name;
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::error_code error;
    if (!at.starts_with('/') || !std::filesystem::is_regular_file(at, error) || ::access(at.c_str(), X_OK) != 0)
      continue;
    if (std::string real = std::filesystem::canonical(at, error).string(); !error) return real;
  }
  return invalid_argument("failed to resolve path to \"" + name + "\" executable: exec: \"" + name +
                          "\": executable file not found in $PATH");
}

}  // namespace drover
