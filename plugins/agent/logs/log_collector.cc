#include "logs/log_collector.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "drover/log.h"

namespace drover::agent {
namespace {

constexpr int kPipeBytes = 1 << 20;
constexpr size_t kReadBytes = 64 * 1024;
constexpr int kReadsInARow = 16;  // a busy task must not starve the others

}  // namespace

uint64_t LogGrowth::count() const {
  MutexLock lock(mutex_);
  return count_;
}

void LogGrowth::grew() {
  {
    MutexLock lock(mutex_);
    ++count_;
  }
  changed_.notify_all();
}

void LogGrowth::wait(uint64_t seen, SteadyTime deadline, const std::stop_token& stop) {
  MutexLock lock(mutex_);
  changed_.wait_until(lock, stop, deadline, [&]() DROVER_REQUIRES(mutex_) { return count_ > seen; });
}

struct LogCollector::Source {
  Source(int pipe, std::string stream_key, LogWriter log)
      : fd(pipe), key(std::move(stream_key)), writer(std::move(log)) {}
  ~Source() { ::close(fd); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const int fd;
  const std::string key;
  Mutex mutex;
  LogWriter writer DROVER_GUARDED_BY(mutex);
  std::vector<char> buffer DROVER_GUARDED_BY(mutex);  // empty until the first byte comes
  bool failed DROVER_GUARDED_BY(mutex) = false;       // reported once
};

LogCollector::~LogCollector() { stop(); }

Status LogCollector::start() {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return errno_status(errno, "create an epoll instance for task logs");
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) return errno_status(errno, "create an eventfd for task logs");
  {
    MutexLock lock(look_mutex_);
    if (::pipe2(look_.data(), O_CLOEXEC | O_NONBLOCK) != 0) return errno_status(errno, "create a pipe for task logs");
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) return errno_status(errno, "watch an eventfd");
  thread_ = std::jthread([this](std::stop_token stop) { run(std::move(stop)); });
  return ok_status();
}

void LogCollector::stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    const uint64_t one = 1;
    // The counter cannot be full: only this writes to it.
    DROVER_CHECK(::write(wake_, &one, sizeof one) == sizeof one);
    thread_.join();
  }
  {
    MutexLock lock(mutex_);
    sources_.clear();
    ids_.clear();
  }
  MutexLock lock(look_mutex_);
  for (int* fd : {&epoll_, &wake_, &look_[0], &look_[1]}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

Status LogCollector::open(const LogStream& stream) {
  if (find(stream.key())) return ok_status();
  const std::string path = stream.fifo();
  if (::mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST) return errno_status(errno, "create " + path);
  struct stat found {};
  const int fd = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return errno_status(errno, "open " + path);
  if (::fstat(fd, &found) != 0 || !S_ISFIFO(found.st_mode)) {
    ::close(fd);
    return failed_precondition(path + " is not a FIFO");
  }
  // A smaller pipe holds less while no agent runs, but works: the limit is the system's to set.
  if (::fcntl(fd, F_SETPIPE_SZ, kPipeBytes) < 0) log::debug("logs", "pipe size not raised", {{"fifo", path}});
  LogWriter::Limits limits = stream.limits;
  limits.bytes = std::max<uint64_t>(limits.bytes, 1);
  limits.files = std::max<uint64_t>(limits.files, 1);
  Result<LogWriter> writer = LogWriter::open(stream.folder, stream.base(), limits);
  if (!writer) {
    ::close(fd);
    return writer.status();
  }
  auto source = std::make_shared<Source>(fd, stream.key(), *std::move(writer));
  MutexLock lock(mutex_);
  if (ids_.contains(stream.key())) return ok_status();
  const uint64_t id = next_id_++;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) return errno_status(errno, "watch " + path);
  sources_[id] = std::move(source);
  ids_[stream.key()] = id;
  return ok_status();
}

std::shared_ptr<LogCollector::Source> LogCollector::find(const std::string& key) {
  MutexLock lock(mutex_);
  auto at = ids_.find(key);
  return at == ids_.end() ? nullptr : sources_.at(at->second);
}

void LogCollector::drain(const LogStream& stream) {
  if (auto source = find(stream.key())) pump(*source, true);
}

void LogCollector::close(const LogStream& stream) {
  auto source = find(stream.key());
  if (!source) return;
  pump(*source, true);
  MutexLock lock(mutex_);
  auto at = ids_.find(stream.key());
  if (at == ids_.end()) return;
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, source->fd, nullptr);
  sources_.erase(at->second);
  ids_.erase(at);
  ::unlink(stream.fifo().c_str());
}

std::shared_ptr<LogGrowth> LogCollector::growth(const std::string& key) {
  MutexLock lock(mutex_);
  std::erase_if(growth_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<LogGrowth>& slot = growth_[key];
  auto growth = slot.lock();
  if (!growth) slot = growth = std::make_shared<LogGrowth>();
  return growth;
}

void LogCollector::notify(const std::string& key) {
  std::shared_ptr<LogGrowth> growth;
  {
    MutexLock lock(mutex_);
    if (auto at = growth_.find(key); at != growth_.end()) growth = at->second.lock();
  }
  if (growth) growth->grew();
}

size_t LogCollector::look(int pipe, std::vector<char>& buffer) {
  MutexLock lock(look_mutex_);
  ssize_t seen = 0, got = 0;
  do seen = ::tee(pipe, look_[1], buffer.size(), SPLICE_F_NONBLOCK);
  while (seen < 0 && errno == EINTR);
  if (seen <= 0) return 0;
  do got = ::read(look_[0], buffer.data(), static_cast<size_t>(seen));
  while (got < 0 && errno == EINTR);
  DROVER_CHECK(got == seen);  // nobody else has the other end
  return static_cast<size_t>(got);
}

void LogCollector::pump(Source& source, bool until_empty) {
  bool wrote = false;
  {
    MutexLock lock(source.mutex);
    source.buffer.resize(kReadBytes);
    for (int reads = 0; until_empty || reads < kReadsInARow; ++reads) {
      const size_t size = look(source.fd, source.buffer);
      if (size == 0) break;
      wrote = true;
      const Status status = source.writer.take(source.fd, {source.buffer.data(), size});
      if (!status.ok() && !source.failed) {
        log::error("logs", "task output is lost", {{"stream", source.key}, {"error", status.message()}});
      }
      source.failed = !status.ok();
    }
    // An idle task keeps no buffer.
    source.buffer = {};
  }
  if (wrote) notify(source.key);
}

void LogCollector::run(std::stop_token stop) {
  ::pthread_setname_np(::pthread_self(), "logs");

  std::array<epoll_event, 64> events{};
  while (!stop.stop_requested()) {
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
    if (count < 0 && errno == EINTR) continue;
    DROVER_CHECK(count >= 0);
    for (int i = 0; i < count; ++i) {
      const uint64_t id = events[static_cast<size_t>(i)].data.u64;
      if (id == 0) continue;
      std::shared_ptr<Source> source;
      {
        MutexLock lock(mutex_);
        if (auto at = sources_.find(id); at != sources_.end()) source = at->second;
      }
      if (source) pump(*source, false);
    }
  }
}

}  // namespace drover::agent
