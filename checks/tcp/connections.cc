#include "connections.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

namespace drover::check_tcp {
namespace {

constexpr uint64_t kWakeup = 0;  // no attempt has this number

template <typename Address>
std::string bytes_of(const Address& address) {
  return {reinterpret_cast<const char*>(&address), sizeof address};
}

// As Go's programs say it, "dial tcp 127.0.0.1:80: connect: connection refused": people search for these words.
std::string words_of(const Target& target, int error) {
  std::string why = std::strerror(error);
  if (!why.empty() && why[0] >= 'A' && why[0] <= 'Z') why[0] = static_cast<char>(why[0] | 32);
  return "dial tcp " + target.text + ": connect: " + why;
}

bool is_ours(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

Status status_of(const Target& target, int error) {
  if (error == 0) return ok_status();
  return is_ours(error) ? resource_exhausted(words_of(target, error)) : unavailable(words_of(target, error));
}

}  // namespace

std::optional<Target> target_of(const std::string& address, uint16_t port) {
  const std::string number = std::to_string(port);
  sockaddr_in v4{};
  if (::inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    return Target{.text = address + ":" + number, .bytes = bytes_of(v4), .family = AF_INET};
  }
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    return Target{.text = "[" + address + "]:" + number, .bytes = bytes_of(v6), .family = AF_INET6};
  }
  return {};
}

struct Connections::Attempt {
  uint64_t number = 0;
  Target target;
  Fd socket;
  Told told;
  std::stop_token wanted;
  std::optional<std::stop_callback<std::function<void()>>> stop;
};

Connections::Connections() = default;
Connections::~Connections() { stop(); }

void Connections::open() {
  if (thread_.joinable() || is_stopped_) return;
  events_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  wakeup_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  DROVER_CHECK(events_ && wakeup_);
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kWakeup}};
  DROVER_CHECK(::epoll_ctl(events_.get(), EPOLL_CTL_ADD, wakeup_.get(), &event) == 0);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Connections::begin(const Target& target, std::stop_token stop, Told told) {
  auto attempt = std::make_unique<Attempt>();
  attempt->target = target;
  attempt->wanted = stop;
  attempt->socket = Fd(::socket(target.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!attempt->socket) return told(status_of(target, errno));
  const auto* const where = reinterpret_cast<const sockaddr*>(target.bytes.data());
  const int connected = ::connect(attempt->socket.get(), where, static_cast<socklen_t>(target.bytes.size()));
  if (connected == 0 || errno != EINPROGRESS) return told(status_of(target, connected == 0 ? 0 : errno));
  attempt->told = std::move(told);
  Attempt* const made = attempt.get();
  {
    const MutexLock lock(mutex_);
    open();
    made->number = ++last_;
  }
  // Set before the thread has it; it may call at once.
  made->stop.emplace(std::move(stop), [this, number = made->number] {
    {
      const MutexLock lock(mutex_);
      cancelled_.push_back(number);
    }
    wake();
  });
  {
    const MutexLock lock(mutex_);
    if (!is_stopped_) new_.push_back(std::move(attempt));
  }
  if (attempt) return attempt->told(unavailable("the check provider is stopping"));
  wake();
}

void Connections::wake() {
  const uint64_t one = 1;
  (void)!::write(wakeup_.get(), &one, sizeof one);  // fails only where it is awake already
}

void Connections::stop() {
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    if (!thread_.joinable()) return;
  }
  thread_.request_stop();
  wake();
  thread_.join();
}

// ---- the thread

void Connections::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "checks-tcp");
  std::array<epoll_event, 64> found{};
  while (!stop.stop_requested()) {
    const int count = ::epoll_wait(events_.get(), found.data(), static_cast<int>(found.size()), -1);
    for (int i = 0; i < count; ++i) {
      const uint64_t number = found[static_cast<size_t>(i)].data.u64;
      if (number == kWakeup) {
        uint64_t times = 0;
        (void)!::read(wakeup_.get(), &times, sizeof times);
        continue;
      }
      const auto at = running_.find(number);
      if (at == running_.end()) continue;
      int error = 0;
      socklen_t size = sizeof error;
      if (::getsockopt(at->second->socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
      end(number, status_of(at->second->target, error));
    }
    take_orders();
  }
  end_all();
}

void Connections::take_orders() {
  std::deque<std::unique_ptr<Attempt>> begun;
  std::deque<uint64_t> cancelled;
  {
    const MutexLock lock(mutex_);
    begun.swap(new_);
    cancelled.swap(cancelled_);
  }
  for (auto& attempt : begun) {
    const uint64_t number = attempt->number;
    const bool is_wanted = !attempt->wanted.stop_requested();
    epoll_event event{.events = EPOLLOUT, .data = {.u64 = number}};
    const int added = ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, attempt->socket.get(), &event);
    const int error = errno;
    const Target target = attempt->target;
    running_.emplace(number, std::move(attempt));
    if (!is_wanted) {
      end(number, drover::cancelled("the check was stopped"));
    } else if (added != 0) {
      end(number, resource_exhausted(words_of(target, error)));
    }
  }
  for (const uint64_t number : cancelled) end(number, drover::cancelled("the check was stopped"));
}

void Connections::end(uint64_t number, const Status& status) {
  auto node = running_.extract(number);
  if (node.empty()) return;
  node.mapped()->socket.close();  // which takes it out of the events
  node.mapped()->told(status);
}

void Connections::end_all() {
  take_orders();
  while (!running_.empty()) end(running_.begin()->first, drover::cancelled("the check provider is stopping"));
}

}  // namespace drover::check_tcp
