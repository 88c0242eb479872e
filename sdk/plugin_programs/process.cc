#include "drover/plugin_programs/process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "drover/plugin_programs/handshake.h"
#include "drover/process.h"

namespace drover::plugin_programs {
namespace {

constexpr mode_t kUmask = 022;

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

// The steps of the child before the program runs. All memory is taken before the fork; behind it the child makes only
// calls that are safe there.
enum class Step : int { session, group, streams, limits, priority, user, privileges, exec };

struct Failure {
  Step step;
  int error;
  size_t cgroup;
};

struct Plan {
  const char* file;
  int image;
  bool is_script;
  char* const* arguments;
  char* const* environment;
  const Confinement& confinement;
  const std::vector<gid_t>& groups;
  std::string oom_score;
  int null, out, err, report;
};

[[noreturn]] void fail(const Plan& plan, Step step, size_t cgroup = 0) {
  const Failure failure{step, errno, cgroup};
  (void)!::write(plan.report, &failure, sizeof(failure));
  ::_exit(127);
}

bool write_once(const char* file, const char* text, size_t size) {
  const int fd = ::open(file, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_written = ::write(fd, text, size) == static_cast<ssize_t>(size);
  const int error = errno;
  ::close(fd);
  errno = error;
  return is_written;
}

// Never more than we have: raising it needs a right that we may lack.
bool limit(__rlimit_resource resource, rlim_t most) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return false;
  now.rlim_max = std::min(now.rlim_max, most);
  now.rlim_cur = std::min(now.rlim_cur, now.rlim_max);
  return ::setrlimit(resource, &now) == 0;
}

[[noreturn]] void become(const Plan& plan) {
  const Confinement& confinement = plan.confinement;
  if (::setsid() < 0) fail(plan, Step::session);
  for (size_t i = 0; i < confinement.cgroup_files.size(); ++i) {
    if (!write_once(confinement.cgroup_files[i].c_str(), "0", 1)) fail(plan, Step::group, i);
  }
  if (::dup2(plan.null, 0) < 0 || ::dup2(plan.out, 1) < 0 || ::dup2(plan.err, 2) < 0) fail(plan, Step::streams);
  // A core file may hold secrets, and it is as large as the process.
  if (!limit(RLIMIT_NOFILE, confinement.open_files) || !limit(RLIMIT_CORE, 0)) fail(plan, Step::limits);
  if (confinement.oom_score && !write_once("/proc/self/oom_score_adj", plan.oom_score.data(), plan.oom_score.size()))
    fail(plan, Step::priority);
  ::umask(kUmask);
  if (confinement.user) {
    const Confinement::User& user = *confinement.user;
    if (::setgroups(plan.groups.size(), plan.groups.data()) != 0 || ::setgid(user.group) != 0 || ::setuid(user.id) != 0)
      fail(plan, Step::user);
  }
  if (confinement.no_new_privileges && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail(plan, Step::privileges);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) (void)::sigaction(signal, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  // All that is open goes with the exec: also what somebody opened without the flag.
  (void)::syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
  if (plan.image >= 0) {
    if (plan.is_script) (void)::fcntl(plan.image, F_SETFD, 0);  // its interpreter opens it
    (void)::syscall(SYS_execveat, plan.image, "", plan.arguments, plan.environment, AT_EMPTY_PATH);
  } else {
    (void)::execve(plan.file, plan.arguments, plan.environment);
  }
  fail(plan, Step::exec);
}

std::string what_failed(const Failure& failure, const Confinement& confinement) {
  switch (failure.step) {
    case Step::session:
      return "give it a session of its own";
    case Step::group:
      return "join the control group " + confinement.cgroup_files[failure.cgroup];
    case Step::streams:
      return "connect its streams";
    case Step::limits:
      return "limit what it may use";
    case Step::priority:
      return "set its oom_score";
    case Step::user:
      return "become user " + std::to_string(confinement.user->id);
    case Step::privileges:
      return "forbid new privileges";
    default:
      return "run the file";
  }
}

// True when the file that is open as `image` is still the one at the path; then it is run by its path, because lists of
// processes take its name from there.
bool is_same_file(int image, const std::string& path) {
  struct stat one {
  }, other{};
  return ::fstat(image, &one) == 0 && ::stat(path.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

bool is_script(int image) {
  std::array<char, 2> begin{};
  return ::pread(image, begin.data(), begin.size(), 0) == 2 && begin[0] == '#' && begin[1] == '!';
}

}  // namespace

Result<std::unique_ptr<Process>> Process::start(const Program& program) {
  Pipe out, err, report;
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (out.write < 0 || err.write < 0 || report.write < 0 || null < 0) {
    const int error = errno;
    if (null >= 0) ::close(null);
    return failed_precondition("no pipe for " + program.file + ": " + ::strerror(error));
  }

  std::vector<std::string> words{program.name.empty() ? program.file : program.name};
  words.insert(words.end(), program.arguments.begin(), program.arguments.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : program.environment) variables.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(variables);
  const Confinement& confinement = program.confinement;
  const std::vector<gid_t> groups =
      confinement.user ? std::vector<gid_t>(confinement.user->groups.begin(), confinement.user->groups.end())
                       : std::vector<gid_t>();
  const bool by_path = program.image < 0 || is_same_file(program.image, program.file);
  const Plan plan{.file = program.file.c_str(),
                  .image = by_path ? -1 : program.image,
                  .is_script = !by_path && is_script(program.image),
                  .arguments = argv.data(),
                  .environment = envp.data(),
                  .confinement = confinement,
                  .groups = groups,
                  .oom_score = std::to_string(confinement.oom_score.value_or(0)),
                  .null = null,
                  .out = out.write,
                  .err = err.write,
                  .report = report.write};
  const pid_t pid = ::fork();
  if (pid == 0) become(plan);
  const int fork_error = errno;
  ::close(null);
  if (pid < 0) return failed_precondition("cannot start " + program.file + ": " + ::strerror(fork_error));
  ::close(std::exchange(report.write, -1));
  Failure failure{};
  pollfd told{.fd = report.read, .events = POLLIN, .revents = 0};
  while (::poll(&told, 1, -1) < 0 && errno == EINTR) {
  }
  if (::read(report.read, &failure, sizeof(failure)) == sizeof(failure)) {  // else it has been closed: the program runs
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return failed_precondition("cannot start " + program.file +
                               (failure.step == Step::exec ? "" : ": " + what_failed(failure, confinement)) + ": " +
                               ::strerror(failure.error));
  }

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

}  // namespace drover::plugin_programs
