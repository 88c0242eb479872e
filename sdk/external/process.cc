#include "drover/external/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "drover/external/handshake.h"
#include "drover/process.h"

namespace drover::external {
namespace {

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
      read = ends[0];
      write = ends[1];
      (void)::fcntl(read, F_SETFL, O_NONBLOCK);
    }
  }
  ~Pipe() {
    if (read >= 0) ::close(read);
    if (write >= 0) ::close(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int take_read() { return std::exchange(read, -1); }
};

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<std::unique_ptr<Process>> Process::start(const Program& program) {
  Pipe out, err;
  if (out.write < 0 || err.write < 0)
    return failed_precondition("no pipe for " + program.file + ": " + ::strerror(errno));

  std::vector<std::string> words{program.file};
  words.insert(words.end(), program.arguments.begin(), program.arguments.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : program.environment) variables.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(variables);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write, 1);
  posix_spawn_file_actions_adddup2(&actions, err.write, 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.file.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failed_precondition("cannot start " + program.file + ": " + ::strerror(error));

  // Not collected yet, so the number is still this process's.
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) {
    const int reason = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return failed_precondition("cannot watch " + program.file + ": " + ::strerror(reason));
  }
  return std::unique_ptr<Process>(new Process(pid, pidfd, out.take_read(), err.take_read()));
}

Status ask_for_tls(Program& program) {
  DROVER_TRY(TlsIdentity identity, make_tls_identity());
  program.environment[kClientCertificate] = identity.cert;
  program.identity = std::make_shared<const TlsIdentity>(std::move(identity));
  return ok_status();
}

Process::Process(pid_t pid, int pidfd, int out, int err)
    : pid_(pid), pidfd_(pidfd), out_(out), err_(err), start_time_(process_start_time(pid).value_or(0)) {}

Process::~Process() {
  if (!is_collected_) {
    kill(SIGKILL);
    (void)collect();
  }
  ::close(out_);
  ::close(err_);
  ::close(pidfd_);
}

void Process::kill(int signal) { (void)::syscall(SYS_pidfd_send_signal, pidfd_, signal, nullptr, 0); }

std::string Process::collect() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  is_collected_ = true;
  if (WIFSIGNALED(status)) {
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
  }
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace drover::external
