#include "files/file_watch.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "drover/log.h"

namespace drover::agent {
namespace {

constexpr int kAll = -1, kNone = -2;
constexpr uint32_t kChanges = IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;

}  // namespace

FileWatch::~FileWatch() { stop(); }

void FileWatch::stop() {
  std::jthread thread;
  {
    MutexLock lock(mutex_);
    has_failed_ = true;  // nothing is watched any more
    thread = std::move(thread_);
    thread.request_stop();
    const uint64_t one = 1;
    // The counter cannot be full: only this writes to it.
    if (wake_) DROVER_CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
  }
  if (thread.joinable()) thread.join();
}

bool FileWatch::open() {
  if (has_failed_) return false;
  if (inotify_) return true;
  inotify_ = Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!inotify_ || !wake_) {
    has_failed_ = true;
    log::warn("agent", "files that are followed are looked at again and again: the kernel watches nothing more",
              {{"error", std::strerror(errno)}});
    return false;
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  return true;
}

FileWatch::Watched FileWatch::watch(const Fd& file) {
  auto growth = std::make_shared<LogGrowth>();
  MutexLock lock(mutex_);
  if (!open()) return {std::move(growth), false};
  readers_of(kNone);  // files that nobody reads any more go first
  const std::string handle = "/proc/self/fd/" + std::to_string(file.get());
  const int number = ::inotify_add_watch(inotify_.get(), handle.c_str(), kChanges);
  if (number < 0) return {std::move(growth), false};
  // Readers of the same file share what grows.
  auto& slot = watched_[number];
  if (auto shared = slot.lock()) return {std::move(shared), true};
  slot = growth;
  return {std::move(growth), true};
}

// Forgets the files that nobody reads any more; inotify does not use a number twice.
std::vector<std::shared_ptr<LogGrowth>> FileWatch::readers_of(int number) {
  std::vector<std::shared_ptr<LogGrowth>> readers;
  std::erase_if(watched_, [&](const auto& entry) DROVER_REQUIRES(mutex_) {
    auto reader = entry.second.lock();
    if (!reader) ::inotify_rm_watch(inotify_.get(), entry.first);
    if (reader && (number == kAll || number == entry.first)) readers.push_back(std::move(reader));
    return !reader && entry.second.expired();
  });
  return readers;
}

void FileWatch::tell(int number) {
  std::vector<std::shared_ptr<LogGrowth>> readers;
  {
    MutexLock lock(mutex_);
    readers = readers_of(number);
  }
  for (const auto& reader : readers) reader->grew();
}

void FileWatch::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "files");
  int inotify = -1, wake = -1;
  {
    MutexLock lock(mutex_);
    inotify = inotify_.get();
    wake = wake_.get();
  }
  alignas(inotify_event) std::array<char, 16384> buffer;
  while (!stop.stop_requested()) {
    std::array<pollfd, 2> waits = {pollfd{inotify, POLLIN, 0}, pollfd{wake, POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0) {
      DROVER_CHECK(errno == EINTR);
      continue;
    }
    const ssize_t size = ::read(inotify, buffer.data(), buffer.size());
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      at += static_cast<ssize_t>(sizeof event + event.len);
      tell(event.mask & IN_Q_OVERFLOW ? kAll : event.wd);
    }
  }
}

}  // namespace drover::agent
