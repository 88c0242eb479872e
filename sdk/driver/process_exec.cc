#include "drover/process_exec.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "drover/fd.h"
#include "drover/mutex.h"
#include "drover/process.h"
#include "drover/uuid.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

using namespace std::chrono_literals;

constexpr auto kLauncherTime = 10s;
constexpr auto kHangUpTime = 1s;    // from the hang-up to the kill
constexpr auto kKillTime = 2s;      // for all of the session to go
constexpr auto kTerminalTime = 1s;  // for what a terminal still holds when its process has ended
constexpr char kEndOfInput = 0x04;  // what a terminal takes for it
constexpr unsigned kTerminalMajor = 5, kTerminalMinor = 2;  // the device that makes terminals
constexpr int kSignalBase = 128;  // the exit code of who died of a signal: this and its number

SteadyTime after(std::chrono::nanoseconds time) { return SystemClock().steady() + time; }

class Event {
 public:
  Event() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  int get() const { return fd_.get(); }
  void set() {
    const uint64_t one = 1;
    (void)!::write(fd_.get(), &one, sizeof one);
  }

 private:
  Fd fd_;
};

// This end of what the command reads and writes. With a terminal all three are one.
struct Ends {
  Fd input, output, error;
  bool is_terminal = false;
};

// FIFOs of this moment only: their names are gone as soon as both sides have them open.
class Fifos {
 public:
  static Result<Fifos> make(const std::string& where) {
    Fifos fifos;
    fifos.folder_ = where + "/exec-XXXXXX";
    if (!::mkdtemp(fifos.folder_.data())) {
      const int error = errno;
      fifos.folder_.clear();
      return errno_status(error, "make a folder in " + where);
    }
    for (const char* name : kNames) {
      if (::mkfifo((fifos.folder_ + name).c_str(), 0600) != 0) return errno_status(errno, "make a FIFO in " + where);
    }
    return fifos;
  }
  Fifos(Fifos&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  Fifos& operator=(Fifos&&) = delete;
  ~Fifos() {
    if (folder_.empty()) return;
    for (const char* name : kNames) (void)::unlink((folder_ + name).c_str());
    (void)::rmdir(folder_.c_str());
  }
  Launcher::Streams paths() const {
    return {.input = folder_ + kNames[0], .output = folder_ + kNames[1], .error = folder_ + kNames[2], .terminal = {}};
  }

 private:
  Fifos() = default;
  static constexpr std::array kNames = {"/in", "/out", "/err"};
  std::string folder_;
};

int open_end(const std::string& path, int mode) { return ::open(path.c_str(), mode | O_NONBLOCK | O_CLOEXEC); }

using ExecPtr = std::unique_ptr<Launcher::Exec>;

Result<ExecPtr> start_on_fifos(Launcher& launcher, const Launcher::Start& start, Ends& ends) {
  DROVER_TRY(const Fifos fifos, Fifos::make(launcher.folder()));
  const Launcher::Streams paths = fifos.paths();
  // A FIFO opens for writing only when somebody reads it: until the command does, that is us.
  const Fd reader(open_end(paths.input, O_RDONLY));
  ends.input = Fd(open_end(paths.input, O_WRONLY));
  ends.output = Fd(open_end(paths.output, O_RDONLY));
  ends.error = Fd(open_end(paths.error, O_RDONLY));
  if (!reader || !ends.input || !ends.output || !ends.error) return errno_status(errno, "open the command's streams");
  return launcher.exec(start, paths, after(kLauncherTime));
}

// A terminal among those that the command sees: of this machine, or of the root that it joins.
Fd open_terminal(const std::string& root) {
  if (root.empty()) {
    Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
    return master && ::grantpt(master.get()) == 0 ? std::move(master) : Fd();
  }
  Fd master(::open((root + "/dev/pts/ptmx").c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat found {};
  const bool is_terminal = master && ::fstat(master.get(), &found) == 0 && S_ISCHR(found.st_mode) &&
                           found.st_rdev == makedev(kTerminalMajor, kTerminalMinor);
  return is_terminal ? std::move(master) : Fd();
}

Result<ExecPtr> start_on_terminal(Launcher& launcher, const Launcher::Start& start, Ends& ends) {
  const bool is_inside = start.confinement && (start.confinement->own & Confinement::mounts) != 0;
  const std::string root =
      is_inside ? "/proc/" + std::to_string(start.confinement->joins.pid) + "/root" : std::string();
  ends.is_terminal = true;
  ends.output = open_terminal(root);
  std::array<char, 64> name{};
  const int master = ends.output.get();
  if (!ends.output || ::unlockpt(master) != 0 || ::ptsname_r(master, name.data(), name.size()) != 0)
    return errno_status(errno, "make a terminal");
  ends.input = Fd(::fcntl(master, F_DUPFD_CLOEXEC, 0));
  if (!ends.input) return errno_status(errno, "make a terminal");
  return launcher.exec(start, {.input = {}, .output = {}, .error = {}, .terminal = root + name.data()},
                       after(kLauncherTime));
}

bool wait_readable(int fd, std::chrono::milliseconds time) {
  pollfd event{.fd = fd, .events = POLLIN, .revents = 0};
  int ready = 0;
  while ((ready = ::poll(&event, 1, static_cast<int>(time.count()))) < 0 && errno == EINTR) {
  }
  return ready > 0;
}

class Session {
 public:
  Session(ExecPtr exec, Ends ends, ExecStream& caller)
      : exec_(std::move(exec)), ends_(std::move(ends)), caller_(caller) {}

  Status run(const std::stop_token& task_ended, const std::stop_token& ending) {
    const std::stop_callback with_caller(caller_.stop(), [this] { hang_up_.set(); });
    const std::stop_callback with_driver(ending, [this] { hang_up_.set(); });
    const std::stop_callback with_task(task_ended, [this] { hang_up_.set(); });
    std::jthread input([this](std::stop_token stop) {
      ::pthread_setname_np(::pthread_self(), "exec-input");
      take_input(stop);
    });
    const bool has_ended = follow();
    input_ends_.set();
    input.request_stop();
    input.join();
    if (!has_ended) end_by_force();
    if (has_ended || task_ended.stop_requested()) drain();
    if (!has_ended && ending.stop_requested()) return unavailable("the driver is stopping");
    return tell_end(task_ended.stop_requested());
  }

 private:
  struct Output {
    Fd* end;
    bool is_error;
    bool is_closed = false;
  };

  // Until the command has ended: true. Or until nobody wants it any more.
  bool follow() {
    while (true) {
      std::array<pollfd, 4> events{poll_of(exec_->ended_fd()), poll_of(hang_up_.get()), poll_of(open_fd(outputs_[0])),
                                   poll_of(open_fd(outputs_[1]))};
      if (::poll(events.data(), events.size(), -1) < 0) continue;
      if (events[1].revents != 0) return false;
      for (size_t i = 0; i < outputs_.size(); ++i) {
        if (events[i + 2].revents != 0 && !forward(outputs_[i])) return false;
      }
      if (events[0].revents != 0) return true;
    }
  }

  static pollfd poll_of(int fd) { return {.fd = fd, .events = POLLIN, .revents = 0}; }
  static int open_fd(const Output& output) { return output.is_closed ? -1 : output.end->get(); }

  // One piece of it. False when the caller has gone. `has_more` becomes false when there was nothing.
  bool forward(Output& output, bool* has_more = nullptr) {
    std::array<char, 32 * 1024> bytes;
    const ssize_t size = ::read(output.end->get(), bytes.data(), bytes.size());
    if (has_more) *has_more = size > 0;
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (size > 0) return say(output, {bytes.data(), static_cast<size_t>(size)});
    // A terminal reports its end as an error: nobody has it open any more.
    output.is_closed = true;
    return true;
  }

  bool say(const Output& output, std::string_view bytes) {
    driver::ExecTaskStreamingResponse response;
    auto& part = output.is_error ? *response.mutable_stderr() : *response.mutable_stdout();
    part.set_data(std::string(bytes));
    return caller_.send(response);
  }

  // Reads the rest of the command's output. Others may still have its streams open, and are not waited for.
  void drain() {
    const SteadyTime deadline = after(ends_.is_terminal ? kTerminalTime : 0s);
    for (Output& output : outputs_) {
      bool has_more = true;
      while (!output.is_closed && has_more) {
        if (!forward(output, &has_more)) return;
        // Output to a terminal may still be on its way through it.
        if (!has_more && !output.is_closed && SystemClock().steady() < deadline)
          has_more = wait_readable(output.end->get(), 50ms) || SystemClock().steady() < deadline;
      }
    }
  }

  Status tell_end(bool was_task) {
    const auto exit = exec_->exit();
    if (!exit) {
      if (was_task) return failed_precondition("the task has ended, and the command with it");
      return caller_.stop().stop_requested() ? cancelled("the caller has gone")
                                             : unavailable("the launcher has ended, and the command's result with it");
    }
    driver::ExecTaskStreamingResponse response;
    for (auto* part : {response.mutable_stdout(), response.mutable_stderr()}) part->set_close(true);
    driver::ExecTaskStreamingResponse end;
    *end.mutable_stderr() = std::move(*response.mutable_stderr());
    response.clear_stderr();
    (void)caller_.send(response);
    (void)caller_.send(end);
    end.Clear();
    end.set_exited(true);
    end.mutable_result()->set_exit_code(exit->signal != 0 ? kSignalBase + exit->signal : exit->exit_code);
    end.mutable_result()->set_signal(exit->signal);
    return caller_.send(end) ? ok_status() : cancelled("the caller has gone");
  }

  // Ends the command as a hung-up terminal does, then without mercy.
  void end_by_force() {
    exec_->signal(SIGHUP);
    ends_.input.close();
    if (ends_.is_terminal) {
      ends_.output.close();  // the kernel's own hang-up, for all that have it open
      for (Output& output : outputs_) output.is_closed = true;
    }
    (void)wait_readable(exec_->ended_fd(), kHangUpTime);
    (void)kill_tree(exec_->pid(), exec_->start_time(), static_cast<int>(std::chrono::milliseconds(kKillTime).count()));
    (void)wait_readable(exec_->ended_fd(), kKillTime);
  }

  // ---- [exec-input]

  void take_input(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto request = caller_.receive(stop);
      if (!request) break;
      if (request->has_tty_size()) resize(request->tty_size().height(), request->tty_size().width());
      if (!request->stdin().data().empty()) write_all(request->stdin().data());
      if (request->stdin().close()) end_input();
    }
    if (!stop.stop_requested()) end_input();  // a caller who has said everything has ended the input, too
  }

  void resize(int height, int width) {
    winsize size{};
    size.ws_row = static_cast<unsigned short>(std::clamp(height, 0, 65535));
    size.ws_col = static_cast<unsigned short>(std::clamp(width, 0, 65535));
    if (ends_.is_terminal && ends_.input) (void)::ioctl(ends_.input.get(), TIOCSWINSZ, &size);
  }

  // A command that does not read is no error; it is waited for until it ends.
  void write_all(std::string_view bytes) {
    while (!bytes.empty() && ends_.input) {
      const ssize_t size = ::write(ends_.input.get(), bytes.data(), bytes.size());
      if (size > 0) bytes.remove_prefix(static_cast<size_t>(size));
      if (size >= 0 || errno == EINTR) continue;
      if (errno != EAGAIN) return;
      std::array<pollfd, 2> events{pollfd{.fd = ends_.input.get(), .events = POLLOUT, .revents = 0},
                                   pollfd{.fd = input_ends_.get(), .events = POLLIN, .revents = 0}};
      (void)::poll(events.data(), events.size(), -1);
      if (events[1].revents != 0) return;
    }
  }

  void end_input() {
    if (!ends_.is_terminal) return ends_.input.close();
    write_all({&kEndOfInput, 1});
  }

  const ExecPtr exec_;
  Ends ends_;
  ExecStream& caller_;
  std::array<Output, 2> outputs_{Output{.end = &ends_.output, .is_error = false},
                                 Output{.end = &ends_.error, .is_error = true, .is_closed = ends_.is_terminal}};
  Event hang_up_, input_ends_;
};

}  // namespace

bool ExecCalls::enter() {
  const MutexLock lock(mutex_);
  running_ += !is_ended_;
  return !is_ended_;
}

void ExecCalls::leave() {
  const MutexLock lock(mutex_);
  --running_;
  left_.notify_all();
}

void ExecCalls::end() {
  ending_.request_stop();
  MutexLock lock(mutex_);
  is_ended_ = true;
  left_.wait(lock, [this]() DROVER_REQUIRES(mutex_) { return running_ == 0; });
}

Status run_process_exec(Launcher& launcher, Launcher::Start start, bool tty, ExecStream& caller,
                        const std::stop_token& task_ended, const std::stop_token& ending) {
  start.id = "exec/" + start.id + "/" + Uuid::random().short_string();
  Ends ends;
  DROVER_TRY(ExecPtr exec, tty ? start_on_terminal(launcher, start, ends) : start_on_fifos(launcher, start, ends));
  return Session(std::move(exec), std::move(ends), caller).run(task_ended, ending);
}

}  // namespace drover
