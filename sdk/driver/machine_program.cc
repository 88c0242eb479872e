#include "drover/machine_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "drover/clock.h"
#include "drover/pause.h"

extern char** environ;

namespace drover {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 20ms;  // between two looks at whether it has ended
constexpr size_t kLongestAnswer = 256 * 1024;

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
      read_end = ends[0];
      write_end = ends[1];
    }
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_read() {
    if (read_end >= 0) ::close(std::exchange(read_end, -1));
  }
  void close_write() {
    if (write_end >= 0) ::close(std::exchange(write_end, -1));
  }
};

Result<pid_t> spawn(const ProgramCall& call, const Pipe& input, const Pipe& output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.read_end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.write_end, STDOUT_FILENO);
  if (call.takes_errors) {
    posix_spawn_file_actions_adddup2(&actions, output.write_end, STDERR_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  std::vector<char*> arguments;
  for (const std::string& word : call.words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return errno_status(error, "start " + call.words.front());
  return pid;
}

// Until it has closed its output; false when there was no time left.
bool read_all(int fd, std::string& out, SteadyTime deadline, const std::stop_token& stop) {
  std::array<char, 4096> piece;
  while (SystemClock().steady() < deadline && !stop.stop_requested() && out.size() <= kLongestAnswer) {
    pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&watched, 1, 100) <= 0) continue;
    const ssize_t size = ::read(fd, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return true;
    out.append(piece.data(), static_cast<size_t>(size));
  }
  return false;
}

int wait_for(pid_t pid, SteadyTime deadline, const std::stop_token& stop) {
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (SystemClock().steady() < deadline && pause_for(kLook, stop)) continue;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, &status, 0);
    break;
  }
  return status;
}

}  // namespace

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

Result<std::string> ask_machine_program(const ProgramCall& call, std::stop_token stop) {
  const std::string& program = call.words.front();
  Pipe input, output;
  if (input.read_end < 0 || output.read_end < 0) return resource_exhausted("too many open files to run " + program);
  DROVER_TRY(const pid_t pid, spawn(call, input, output));
  output.close_write();
  // Less than a pipe holds; and this end to read it is open as well, so that a program that has ended is no signal.
  (void)!::write(input.write_end, call.input.data(), call.input.size());
  input.close_write();
  input.close_read();
  const SteadyTime deadline = SystemClock().steady() + call.limit;
  std::string answer;
  const bool is_whole = read_all(output.read_end, answer, deadline, stop);
  const int status = wait_for(pid, is_whole ? deadline : SteadyTime::min(), stop);
  if (!is_whole) return deadline_exceeded(program + " did not answer in time");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return unavailable(program + " failed, with exit code " + std::to_string(WEXITSTATUS(status)));
  return answer;
}

}  // namespace drover
