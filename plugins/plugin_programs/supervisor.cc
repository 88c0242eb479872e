#include "supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>

#include "drover/duration.h"
#include "drover/log.h"
#include "drover/plugin_programs/handshake.h"
#include "process_use.h"

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;

constexpr size_t kKeptLines = 50;
constexpr size_t kKeptCrashes = 5;
constexpr int kLinesPerSecond = 1000;  // of one plugin; what is more is counted, not logged
constexpr int kLastReads = 16;         // of what a process that has ended left in its pipes
constexpr auto kEndGrace = 2s;
constexpr std::chrono::nanoseconds kHealthTime = 5s;

const std::string kHealth = "/grpc.health.v1.Health/Check";
const std::string kHealthRequest = "\n\x06plugin";  // service = "plugin"
const std::string kHealthServing = "\b\x01";        // status = SERVING
const std::string kShutdown = "/plugin.GRPCController/Shutdown";

// Trying again would not help.
bool is_final(const Status& status) {
  return status.code() == Code::invalid_argument || status.code() == Code::failed_precondition;
}

void signal_event(int fd) {
  const uint64_t one = 1;
  (void)!::write(fd, &one, sizeof(one));
}

void clear_event(int fd) {
  uint64_t count = 0;
  (void)!::read(fd, &count, sizeof(count));
}

int poll_timeout(std::optional<SteadyTime> until, SteadyTime now) {
  if (!until) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - now).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

double chance() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random);
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options, Clock& clock, Metrics& metrics)
    : options_(std::move(options)),
      clock_(clock),
      metrics_(metrics),
      supervision_(options_.times),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      quiet_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Supervisor::~Supervisor() {
  stop();
  ::close(wake_);
  ::close(quiet_);
}

void Supervisor::start() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = false;
    had_first_ = false;
  }
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "plugin");
    run();
  });
}

void Supervisor::stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  signal_event(wake_);
  thread_.join();
}

Status Supervisor::restart() {
  {
    const MutexLock lock(mutex_);
    is_restart_wanted_ = true;
    had_first_ = false;
  }
  signal_event(wake_);
  return ok_status();
}

Result<std::shared_ptr<Channel>> Supervisor::channel(const std::shared_ptr<Channel>& former, SteadyTime deadline,
                                                     const std::stop_token& stop) const {
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);
    changed_.notify_all();
  });
  MutexLock lock(mutex_);
  const auto is_there = [&]() DROVER_REQUIRES(mutex_) { return channel_ && channel_ != former; };
  // A caller that has all the time there is waits for the operator, too.
  const auto is_given_up = [&]() DROVER_REQUIRES(mutex_) {
    return supervision_.state() == Supervision::State::parked && deadline != SteadyTime::max();
  };
  const bool is_decided = changed_.wait_until(lock, deadline, [&]() DROVER_REQUIRES(mutex_) {
    return is_there() || is_stopping_ || stop.stop_requested() || is_given_up();
  });
  if (is_there()) return channel_;
  if (stop.stop_requested()) return cancelled("the caller has gone");
  const std::string why = problem_.empty() ? "it is being started" : problem_;
  return unavailable("the plugin " + options_.name + " is not running" + (is_decided ? "" : " yet") + ": " + why);
}

bool Supervisor::wait_gone(const std::shared_ptr<Channel>& channel, SteadyTime deadline) const {
  MutexLock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&]() DROVER_REQUIRES(mutex_) { return channel_ != channel; });
}

bool Supervisor::wait_first(SteadyTime deadline) const {
  MutexLock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this]() DROVER_REQUIRES(mutex_) { return had_first_ || is_stopping_; });
}

Supervisor::View Supervisor::view() const {
  const MutexLock lock(mutex_);
  const SteadyTime now = clock_.steady();
  const int64_t wall = clock_.wall_ns();
  const bool is_waiting = supervision_.state() == Supervision::State::backoff && supervision_.due();
  return {.state = supervision_.state(),
          .pid = pid_,
          .restarts = supervision_.restarts(),
          .problem = channel_ ? std::string() : problem_,
          .crashes = {crashes_.begin(), crashes_.end()},
          .since = wall - std::chrono::nanoseconds(now - supervision_.since()).count(),
          .next_try = is_waiting ? wall + std::chrono::nanoseconds(*supervision_.due() - now).count() : 0,
          .digest = digest_,
          .dropped_lines = all_dropped_,
          .missed_checks = supervision_.missed_checks(),
          .forced_ends = forced_ends_,
          .is_short_of_descriptors = is_short_};
}

// ---- [plugin] ----

void Supervisor::run() {
  own_thread_.bind();
  const auto decide = [this](auto&& event) {
    const MutexLock lock(mutex_);
    return event();
  };
  carry_out(decide([this]() DROVER_REQUIRES(mutex_) { return supervision_.start(clock_.steady()); }));
  while (true) {
    std::optional<SteadyTime> due;
    bool is_over = false;
    {
      const MutexLock lock(mutex_);
      due = supervision_.due();
      is_over = is_stopping_ && supervision_.state() == Supervision::State::stopped;
    }
    if (is_over) return;
    std::array<pollfd, 2> events{pollfd{.fd = wake_, .events = POLLIN, .revents = 0},
                                 pollfd{.fd = process_ ? process_->ended_fd() : -1, .events = POLLIN, .revents = 0}};
    (void)::poll(events.data(), events.size(), poll_timeout(due, clock_.steady()));
    clear_event(wake_);
    if (process_ && events[1].revents != 0) on_exit();
    std::optional<std::string> greeting;
    Supervision::Action order = Supervision::Action::none;
    {
      const MutexLock lock(mutex_);
      greeting = std::exchange(greeting_, std::nullopt);
      if (is_stopping_) {
        order = supervision_.stop(clock_.steady());
      } else if (std::exchange(is_restart_wanted_, false)) {
        order = supervision_.restart(clock_.steady());
        if (order == Supervision::Action::none) had_first_ = had_first_ || channel_;
        if (order == Supervision::Action::end) problem_ = "it is being restarted";
      }
    }
    carry_out(order);
    if (greeting && process_ && order == Supervision::Action::none) prepare(*greeting);
    carry_out(decide([this]() DROVER_REQUIRES(mutex_) { return supervision_.tick(clock_.steady()); }));
  }
}

void Supervisor::carry_out(Supervision::Action action) {
  DROVER_ASSERT_ON(own_thread_);
  switch (action) {
    case Supervision::Action::launch:
      return launch();
    case Supervision::Action::check:
      return check();
    case Supervision::Action::kill:
      if (ending_.empty()) {
        ending_ = had_greeting_ ? "it did not answer health checks"
                                : "no handshake within " + format_duration(options_.times.start);
      }
      if (process_) process_->kill(SIGKILL);
      return;
    case Supervision::Action::end:
      return end();
    case Supervision::Action::none:
      return;
  }
}

void Supervisor::launch() {
  ending_.clear();
  had_greeting_ = false;
  launched_ = clock_.steady();
  bool is_no_use = false;
  const auto start = [&]() -> Result<std::unique_ptr<Process>> {
    const auto opened = options_.open();
    is_no_use = !opened;
    DROVER_RETURN_IF_ERROR(opened.status());
    const Launch& launch = *opened;
    identity_ = launch.program.identity;
    user_.reset();
    if (launch.program.confinement.user) user_ = launch.program.confinement.user->id;
    if (launch.file) {
      const MutexLock lock(mutex_);
      digest_ = launch.file->digest();
    }
    return Process::start(launch.program);
  };
  auto process = start();
  if (!process) {
    log::warn("plugin", "plugin not started", {{"plugin", options_.name}, {"reason", process.status().message()}});
    Supervision::Action next;
    {
      const MutexLock lock(mutex_);
      if (is_no_use) (void)supervision_.give_up();
      note(process.status().message());
      next = supervision_.exited(chance(), clock_.steady());
      changed_.notify_all();
    }
    return carry_out(next);
  }
  process_ = *std::move(process);
  {
    const MutexLock lock(mutex_);
    pid_ = process_->pid();
    is_short_ = false;
    greeting_.reset();
    lines_.clear();
  }
  if (options_.launched) options_.launched(process_->pid(), process_->start_time());
  clear_event(quiet_);
  output_ = std::thread([this, process = process_.get()] {
    ::pthread_setname_np(::pthread_self(), "plugin-log");
    read_output(*process);
  });
}

void Supervisor::prepare(const std::string& greeting) {
  had_greeting_ = true;
  const auto make = [&]() -> Result<std::shared_ptr<Channel>> {
    DROVER_TRY(const Handshake handshake,
               parse_handshake(greeting, identity_ ? Transport::mutual_tls : Transport::plain));
    DROVER_TRY(socket_, PluginSocket::find(handshake.socket, user_.value_or(::geteuid())));
    living_ = std::make_shared<MortalChannel>(connect(handshake, identity_.get()));
    DROVER_RETURN_IF_ERROR(options_.prepare(living_));
    return std::shared_ptr<Channel>(living_);
  };
  auto channel = make();
  if (!channel) {
    ending_ = channel.status().message();
    if (is_final(channel.status())) {
      const MutexLock lock(mutex_);
      (void)supervision_.give_up();
    }
    return process_->kill(SIGKILL);
  }
  log::info("plugin", "plugin runs", {{"plugin", options_.name}, {"pid", process_->pid()}});
  const MutexLock lock(mutex_);
  (void)supervision_.ready(clock_.steady());
  channel_ = *std::move(channel);
  problem_.clear();
  had_first_ = true;
  changed_.notify_all();
}

// A plugin that loses descriptors gets stuck one day; the operator is told before that.
void Supervisor::look_at_descriptors() {
  if (!process_) return;
  const uint64_t open = open_descriptors(process_->pid()), most = descriptor_limit(process_->pid());
  const bool is_short = most != 0 && open * 10 >= most * 9;
  bool is_news = false;
  {
    const MutexLock lock(mutex_);
    is_news = is_short && !std::exchange(is_short_, is_short);
  }
  if (is_news)
    log::warn("plugin", "a plugin is short of descriptors",
              {{"plugin", options_.name}, {"open", open}, {"limit", most}});
}

void Supervisor::check() {
  look_at_descriptors();
  std::shared_ptr<Channel> channel;
  {
    const MutexLock lock(mutex_);
    channel = channel_;
  }
  bool is_healthy = false;
  if (channel) {
    const auto answer =
        channel->call(kHealth, kHealthRequest, clock_.steady() + std::min(kHealthTime, options_.times.check_every));
    // A plugin without a health service is judged by its process alone.
    is_healthy = answer.ok() ? *answer == kHealthServing : answer.status().code() == Code::unimplemented;
  }
  Supervision::Action next;
  {
    const MutexLock lock(mutex_);
    next = supervision_.checked(is_healthy, clock_.steady());
  }
  carry_out(next);
}

void Supervisor::end() {
  std::shared_ptr<Channel> channel;
  {
    const MutexLock lock(mutex_);
    channel = std::move(channel_);
    changed_.notify_all();
  }
  if (!process_) return;
  // Its server often ends before the answer is out.
  if (channel) (void)channel->call(kShutdown, {}, clock_.steady() + kEndGrace);
  pollfd ended{.fd = process_->ended_fd(), .events = POLLIN, .revents = 0};
  const int grace = channel ? static_cast<int>(std::chrono::milliseconds(kEndGrace).count()) : 0;
  if (::poll(&ended, 1, grace) > 0) return;
  process_->kill(SIGKILL);
  if (!channel) return;
  log::warn("plugin", "a plugin did not end when it was told to, and was killed", {{"plugin", options_.name}});
  const MutexLock lock(mutex_);
  ++forced_ends_;
}

void Supervisor::on_exit() {
  const std::string how = process_->collect();
  std::vector<std::string> calls;  // before those who wait go on to the next process
  if (options_.calls) calls = options_.calls();
  {
    const MutexLock lock(mutex_);
    channel_.reset();
    changed_.notify_all();
  }
  if (living_) std::exchange(living_, nullptr)->end();
  signal_event(quiet_);
  output_.join();
  const pid_t pid = process_->pid();
  if (options_.collected) options_.collected(pid);
  bool was_expected = false;
  std::string why;
  CrashRecord record{.at = clock_.wall_ns(),
                     .reason = !ending_.empty() ? ending_ : how + (had_greeting_ ? "" : " before the handshake"),
                     .uptime = clock_.steady() - launched_,
                     .calls = std::move(calls)};
  Supervision::Action next;
  {
    const MutexLock lock(mutex_);
    was_expected = supervision_.state() == Supervision::State::stopping;
    record.digest = digest_;
    record.last_lines.assign(lines_.begin(), lines_.end());
    pid_ = 0;
    if (!was_expected) {
      const bool is_its_word = ending_.empty() && !record.last_lines.empty();
      why = record.reason + (is_its_word ? "; it said last: " + record.last_lines.back() : "");
      note(why);
      crashes_.push_front(std::move(record));
      if (crashes_.size() > kKeptCrashes) crashes_.pop_back();
    }
    next = supervision_.exited(chance(), clock_.steady());
    changed_.notify_all();
  }
  process_.reset();
  socket_.remove();
  if (!was_expected) {
    metrics_.add("nomad.client.plugin.crashes", 1, {{"plugin", options_.name}});
    log::warn("plugin", "plugin ended", {{"plugin", options_.name}, {"reason", why}});
  }
  if (options_.lost) options_.lost();
  carry_out(next);
}

void Supervisor::note(std::string why) {
  problem_ = std::move(why);
  had_first_ = true;
  changed_.notify_all();
}

// ---- [plugin-log] ----

namespace {

// Cuts a stream of bytes into lines; a line that is too long comes in pieces.
class Lines {
 public:
  // False when there is nothing more to come. `take` gets each whole line.
  template <typename Take>
  bool read(int fd, Take&& take) {
    std::array<char, 16 * 1024> chunk;
    const ssize_t size = ::read(fd, chunk.data(), chunk.size());
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) {
      if (!buffer_.empty()) take(std::exchange(buffer_, {}));
      return false;
    }
    buffer_.append(chunk.data(), static_cast<size_t>(size));
    for (size_t end = 0; (end = buffer_.find('\n')) != std::string::npos || buffer_.size() > kMaxLine;) {
      take(buffer_.substr(0, std::min(end, kMaxLine)));
      buffer_.erase(0, end == std::string::npos ? kMaxLine : end + 1);
    }
    return true;
  }

 private:
  std::string buffer_;
};

}  // namespace

void Supervisor::read_output(const Process& process) {
  Lines out, err;
  LogReader reader;
  bool had_greeting = false, is_quiet = false;
  int last_reads = 0;
  std::array<pollfd, 3> events{pollfd{.fd = process.err(), .events = POLLIN, .revents = 0},
                               pollfd{.fd = process.out(), .events = POLLIN, .revents = 0},
                               pollfd{.fd = quiet_, .events = POLLIN, .revents = 0}};
  while (true) {
    // After the process's end only what is there already: what it started may hold the pipe open, and write on.
    const int ready = ::poll(events.data(), events.size(), is_quiet ? 0 : -1);
    if (is_quiet && (ready == 0 || (events[0].revents == 0 && events[1].revents == 0))) break;
    if (is_quiet && ++last_reads > kLastReads) break;
    if (events[0].revents != 0 && !err.read(process.err(), [&](std::string_view line) { log_line(reader, line); }))
      events[0].fd = -1;
    if (events[1].revents != 0 && !out.read(process.out(), [&](std::string_view line) {
          if (std::exchange(had_greeting, true)) {
            if (may_log()) log::debug("plugin", "plugin printed", {{"plugin", options_.name}, {"text", line}});
            return;
          }
          const MutexLock lock(mutex_);
          greeting_ = std::string(line.substr(0, kMaxHandshakeBytes));
          signal_event(wake_);
        }))
      events[1].fd = -1;
    if (events[2].revents != 0) {
      is_quiet = true;
      events[2].fd = -1;
    }
  }
  if (dropped_ != 0) {
    log::warn("plugin", "lines of a plugin were dropped, it wrote too many",
              {{"plugin", options_.name}, {"lines", std::exchange(dropped_, 0)}});
  }
}

// Both streams have one share of the log.
bool Supervisor::may_log() {
  const SteadyTime now = clock_.steady();
  if (now - second_began_ >= 1s) {
    second_began_ = now;
    lines_in_second_ = 0;
  }
  if (++lines_in_second_ <= kLinesPerSecond) return true;
  ++dropped_;
  const MutexLock lock(mutex_);
  ++all_dropped_;
  return false;
}

void Supervisor::log_line(LogReader& reader, std::string_view line) {
  const LogEntry entry = reader.read(line);
  {
    const MutexLock lock(mutex_);
    lines_.push_back(entry.message);
    if (lines_.size() > kKeptLines) lines_.pop_front();
  }
  if (!may_log()) return;
  std::vector<log::Field> fields{{"plugin", options_.name}};
  for (const auto& [name, value] : entry.fields) fields.emplace_back(name, value);
  log::write(entry.level, "plugin", entry.message, fields);
}

}  // namespace drover::plugin_programs
