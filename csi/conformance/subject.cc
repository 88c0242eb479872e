#include "subject.h"

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "csi/protocol/client.h"
#include "drover/mutex.h"
#include "drover/pause.h"
#include "drover/plugin_programs/process.h"
#include "drover/printable.h"
#include "settings.h"

extern char** environ;

namespace drover::csi_kit {
namespace {

namespace v1 = ::csi::v1;
using plugin_programs::Process;

constexpr size_t kKept = 4096;  // of what it printed last
constexpr auto kBetween = std::chrono::milliseconds(50);

// Ours, for a plugin finds its way by it, without what is meant for drover; and the socket.
std::map<std::string, std::string> environment_of(const std::string& socket) {
  std::map<std::string, std::string> out;
  for (char** each = environ; *each; ++each) {
    const std::string_view entry = *each;
    const size_t at = entry.find('=');
    if (at == std::string_view::npos || entry.starts_with("NOMAD_") || entry.starts_with("DROVER_")) continue;
    out.emplace(entry.substr(0, at), entry.substr(at + 1));
  }
  out["CSI_ENDPOINT"] = "unix://" + socket;
  return out;
}

// Reads what the program prints, so that it never waits for a reader; keeps the last of it.
class Printed {
 public:
  explicit Printed(const Process& process)
      : thread_(
            [this, out = process.out(), err = process.err()](const std::stop_token& stop) { read(out, err, stop); }) {}
  std::string last() {
    const MutexLock lock(mutex_);
    return text_;
  }

 private:
  void read(int out, int err, const std::stop_token& stop) {
    (void)pthread_setname_np(pthread_self(), "printed");
    pollfd ends[] = {{.fd = out, .events = POLLIN, .revents = 0}, {.fd = err, .events = POLLIN, .revents = 0}};
    while (!stop.stop_requested() && (ends[0].fd >= 0 || ends[1].fd >= 0)) {
      if (::poll(ends, 2, 100) <= 0) continue;
      for (pollfd& each : ends) {
        if (each.revents && !take(each.fd)) each.fd = -1;
      }
    }
  }
  bool take(int fd) {
    char piece[4096];
    const ssize_t got = ::read(fd, piece, sizeof piece);
    if (got <= 0) return got < 0 && errno == EAGAIN;
    const MutexLock lock(mutex_);
    text_.append(piece, static_cast<size_t>(got));
    if (text_.size() > kKept) text_.erase(0, text_.size() - kKept);
    return true;
  }

  Mutex mutex_;  // a leaf
  std::string text_ DROVER_GUARDED_BY(mutex_);
  std::jthread thread_;
};

Status wait_until_ready(csi::Client& client, std::chrono::nanoseconds limit, const auto& lives) {
  const csi::CallLimits each{.each_try = limit, .tries = 1};
  const auto until = std::chrono::steady_clock::now() + limit;
  Status last;
  while (std::chrono::steady_clock::now() < until) {
    const auto probed = client.call<v1::ProbeResponse>(v1::ProbeRequest(), each);
    if (probed && (!probed->has_ready() || probed->ready().value())) return {};
    last = probed ? failed_precondition("Probe says that it is not ready") : probed.status();
    if (!lives()) return failed_precondition("the program has ended");
    (void)pause_for(kBetween, {});
  }
  return last.with_context("the plugin is not ready in time");
}

class ProgramSubject final : public Subject {
 public:
  ProgramSubject(const Settings& settings, std::string folder)
      : settings_(settings), folder_(std::move(folder)), socket_(folder_ + "/csi.sock"), client_(socket_) {}
  ~ProgramSubject() override {
    if (ProgramSubject::is_alive()) (void)ProgramSubject::end();
    printed_.reset();
  }

  std::unique_ptr<plugin_programs::Channel> connect() const override { return plugin_programs::connect(socket_); }
  std::string socket_folder() const override { return folder_; }

  Status start() override {
    printed_.reset();
    DROVER_TRY(process_, Process::start({.file = settings_.program,
                                         .arguments = settings_.arguments,
                                         .environment = environment_of(socket_)}));
    printed_ = std::make_unique<Printed>(*process_);
    ended_.clear();
    const Status ready = wait_until_ready(client_, settings_.limit, [this] { return is_alive(); });
    return ready.ok() ? ready : failed_precondition(ready.message() + epitaph());
  }
  bool is_alive() override {
    if (!process_ || !ended_.empty()) return false;
    return !has_ended(std::chrono::milliseconds(0));
  }
  void kill() override {
    if (!is_alive()) return;
    process_->kill(SIGKILL);
    (void)has_ended(settings_.limit);
  }
  Status end() override {
    if (!is_alive()) return {};
    process_->kill(SIGTERM);
    if (has_ended(settings_.limit)) return {};
    kill();
    return failed_precondition("SIGTERM did not end the program");
  }
  std::string epitaph() override {
    std::string out = ended_.empty() ? "" : "; it ended: " + ended_;
    if (const std::string said = printed_ ? printed_->last() : ""; !said.empty())
      out += "; it said: " + printable(said);
    return out;
  }

 private:
  bool has_ended(std::chrono::nanoseconds within) {
    pollfd ended{.fd = process_->ended_fd(), .events = POLLIN, .revents = 0};
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(within);
    if (::poll(&ended, 1, static_cast<int>(wait.count())) != 1) return false;
    ended_ = process_->collect();
    return true;
  }

  const Settings& settings_;
  const std::string folder_, socket_;
  csi::Client client_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<Printed> printed_;
  std::string ended_;  // how it ended; empty: it has not
};

class RunningSubject final : public Subject {
 public:
  explicit RunningSubject(const Settings& settings) : settings_(settings), client_(settings.socket) {}
  std::unique_ptr<plugin_programs::Channel> connect() const override {
    return plugin_programs::connect(settings_.socket);
  }
  void kill() override {}
  Status end() override { return {}; }
  Status start() override {
    return wait_until_ready(client_, settings_.limit, [] { return true; });
  }
  bool is_alive() override { return true; }
  std::string epitaph() override { return {}; }
  std::string socket_folder() const override { return {}; }

 private:
  const Settings& settings_;
  csi::Client client_;
};

}  // namespace

Result<std::unique_ptr<Subject>> make_subject(const Settings& settings, const std::string& folder) {
  std::unique_ptr<Subject> subject;
  if (settings.program.empty()) {
    subject = std::make_unique<RunningSubject>(settings);
  } else {
    const std::string own = folder + "/socket";
    std::error_code error;
    std::filesystem::create_directory(own, error);
    if (error) return failed_precondition(own + ": cannot be made: " + error.message());
    subject = std::make_unique<ProgramSubject>(settings, own);
  }
  DROVER_RETURN_IF_ERROR(subject->start());
  return subject;
}

}  // namespace drover::csi_kit
