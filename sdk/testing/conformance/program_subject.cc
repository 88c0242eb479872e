// A plugin that is a program of its own: launched, greeted, read and ended as a host does it.
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>

#include "drover/conformance.h"
#include "drover/duration.h"
#include "drover/plugin_programs/handshake.h"

extern char** environ;

namespace drover::conformance {
namespace {

using namespace std::chrono_literals;

constexpr auto kGreetingTime = 20s;
constexpr auto kEndTime = 5s;
constexpr size_t kLinesKept = 20;

// Reads both streams of a process until it ends; keeps what it said last.
class Listener {
 public:
  explicit Listener(const plugin_programs::Process& process) : process_(process) {
    quiet_ = ::eventfd(0, EFD_CLOEXEC);
    thread_ = std::thread([this] { listen(); });
  }
  ~Listener() {
    const uint64_t one = 1;
    (void)!::write(quiet_, &one, sizeof one);
    thread_.join();
    ::close(quiet_);
  }

  // The first line of standard output; nothing when it did not come.
  std::optional<std::string> greeting(std::chrono::nanoseconds limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [this] { return out_.find('\n') != std::string::npos || is_closed_; });
    const size_t end = out_.find('\n');
    if (end == std::string::npos) return {};
    return out_.substr(0, end);
  }
  std::string last_words() {
    const std::lock_guard lock(mutex_);
    std::string all;
    for (const std::string& line : lines_) all += (all.empty() ? "" : "\n") + line;
    return all;
  }

 private:
  void listen() {
    std::string rest;
    pollfd events[] = {{.fd = process_.out(), .events = POLLIN, .revents = 0},
                       {.fd = process_.err(), .events = POLLIN, .revents = 0},
                       {.fd = quiet_, .events = POLLIN, .revents = 0}};
    while (events[2].revents == 0 && (events[0].fd >= 0 || events[1].fd >= 0)) {
      if (::poll(events, 3, -1) < 0 && errno != EINTR) break;
      for (int i = 0; i < 2; ++i) {
        if (events[i].fd < 0 || events[i].revents == 0) continue;
        char buffer[8192];
        const ssize_t n = ::read(events[i].fd, buffer, sizeof buffer);
        if (n == 0) events[i].fd = -1;
        if (n > 0) take(i == 0, std::string_view(buffer, static_cast<size_t>(n)), rest);
      }
    }
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }

  void take(bool is_out, std::string_view text, std::string& rest) {
    const std::lock_guard lock(mutex_);
    if (is_out) {
      if (out_.size() < plugin_programs::kMaxHandshakeBytes) out_ += text;
      changed_.notify_all();
      return;
    }
    rest += text;
    for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
      lines_.push_back(rest.substr(0, end));
      if (lines_.size() > kLinesKept) lines_.pop_front();
      rest.erase(0, end + 1);
    }
    if (rest.size() > 4096) rest.clear();
  }

  const plugin_programs::Process& process_;
  int quiet_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string out_;                // guarded by mutex_, like the following
  std::deque<std::string> lines_;  // of standard error
  bool is_closed_ = false;
  std::thread thread_;
};

class Launched final : public ProgramSubject {
 public:
  Launched(plugin_programs::Program program, std::string folder)
      : program_(std::move(program)), folder_(std::move(folder)) {
    if (program_.environment.empty()) program_.environment = plugin_programs::plugin_environment(environ);
    program_.environment["TMPDIR"] = folder_;
  }
  ~Launched() override {
    kill();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  plugin_programs::Channel& channel() override { return *channel_; }
  const plugin_programs::Program& program() const override { return program_; }
  const std::string& socket() const override { return socket_; }
  int pid() const override { return process_ ? process_->pid() : 0; }
  std::string epitaph() const override { return epitaph_; }

  Status start() override {
    DROVER_TRY(process_, plugin_programs::Process::start(program_));
    listener_ = std::make_unique<Listener>(*process_);
    epitaph_.clear();
    const auto greeting = listener_->greeting(kGreetingTime);
    if (!greeting) {
      const bool has_ended = wait_ended(100ms);
      kill();
      return failed_precondition(has_ended ? "the program ended before the handshake: " + epitaph_
                                           : "no handshake within " + format_duration(kGreetingTime));
    }
    using plugin_programs::Transport;
    const TlsIdentity* const identity = program_.identity.get();
    auto handshake = plugin_programs::parse_handshake(*greeting, identity ? Transport::mutual_tls : Transport::plain);
    if (!handshake) {
      kill();
      return handshake.status();
    }
    socket_ = handshake->socket;
    channel_ = plugin_programs::connect(*handshake, identity);
    return ok_status();
  }

  void kill() override {
    if (!process_) return;
    process_->kill(SIGKILL);
    bury();
  }

  Status end() override {
    if (!process_) return ok_status();
    const SteadyTime deadline = std::chrono::steady_clock::now() + kEndTime;
    (void)channel_->call("/plugin.GRPCController/Shutdown", "", deadline);
    if (wait_ended(kEndTime)) {
      bury();
      return ok_status();
    }
    kill();
    return failed_precondition("the program did not end within " + format_duration(kEndTime) +
                               " after Shutdown; it was killed");
  }

 private:
  bool wait_ended(std::chrono::nanoseconds limit) const {
    pollfd event{.fd = process_->ended_fd(), .events = POLLIN, .revents = 0};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
    return ::poll(&event, 1, static_cast<int>(ms)) > 0;
  }

  void bury() {
    epitaph_ = process_->collect();
    const std::string words = listener_->last_words();
    if (!words.empty()) epitaph_ += "; it said last:\n" + words;
    listener_.reset();
    process_.reset();
    if (!socket_.empty()) (void)::unlink(socket_.c_str());
  }

  plugin_programs::Program program_;
  const std::string folder_;
  std::unique_ptr<plugin_programs::Process> process_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<plugin_programs::Channel> channel_;
  std::string socket_, epitaph_;
};

}  // namespace

SubjectFactory program_subject(plugin_programs::Program program) {
  return [program = std::move(program)]() -> Result<std::unique_ptr<Subject>> {
    char folder[] = "/tmp/drover-plugin-XXXXXX";
    if (!::mkdtemp(folder)) return errno_status(errno, "make a folder for the plugin's socket");
    auto subject = std::make_unique<Launched>(program, folder);
    DROVER_RETURN_IF_ERROR(subject->start());
    return std::unique_ptr<Subject>(std::move(subject));
  };
}

}  // namespace drover::conformance
