#include "fetcher_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "drover/clock.h"
#include "drover/fd.h"
#include "fetcher/request.h"

namespace drover::artifacts {
namespace {

constexpr size_t kLongestAnswer = 1 << 20;

struct Pipe {
  Fd read_end, write_end;
  bool open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read_end = Fd(ends[0]);
    write_end = Fd(ends[1]);
    return true;
  }
};

// The process group, killed once.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    kill();
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  void kill() const { ::kill(-pid_, SIGKILL); }

 private:
  const pid_t pid_;
};

Result<pid_t> spawn(const FetcherRun& run, const Pipe& input, const Pipe& output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addfchdir_np(&actions, run.folder);
  posix_spawn_file_actions_adddup2(&actions, input.read_end.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, output.write_end.get(), 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  ::sigemptyset(&none);
  ::sigfillset(&usual);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> environment;
  for (const std::string& one : run.environment) environment.push_back(const_cast<char*>(one.c_str()));
  environment.push_back(nullptr);
  std::array<char*, 2> words{const_cast<char*>("drover-fetch"), nullptr};
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, run.program.c_str(), &actions, &attributes, words.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return errno_status(error, "run " + run.program);
  return pid;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(fd, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return;  // it has ended: its answer says why, or its silence
    text.remove_prefix(static_cast<size_t>(size));
  }
}

// False when the time is over.
bool read_all(int fd, SteadyTime deadline, std::string& text) {
  std::array<char, 4096> part;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SystemClock().steady());
    if (left.count() <= 0) return false;
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::min<int64_t>(left.count() + 1, 60'000)));
    if (count <= 0) continue;
    const ssize_t size = ::read(fd, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0 || text.size() > kLongestAnswer) return true;
    text.append(part.data(), static_cast<size_t>(size));
  }
}

}  // namespace

Status run_fetcher(const FetcherRun& run, const std::stop_token& stop) {
  Pipe input, output;
  if (!input.open() || !output.open()) return errno_status(errno, "make a pipe");
  DROVER_TRY(const pid_t pid, spawn(run, input, output));
  std::string answer;
  bool is_in_time = false;
  {
    const Child child(pid);
    const std::stop_callback kill_on_stop(stop, [&] { child.kill(); });
    input.read_end.close();
    output.write_end.close();
    write_all(input.write_end.get(), run.request);
    input.write_end.close();
    is_in_time = read_all(output.read_end.get(), SystemClock().steady() + run.time, answer);
  }
  if (stop.stop_requested()) return cancelled("the download was stopped");
  if (!is_in_time) return deadline_exceeded("the download took too long");
  return parse_answer(answer);
}

}  // namespace drover::artifacts
