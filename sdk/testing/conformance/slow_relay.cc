#include "slow_relay.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace drover::conformance {
namespace {

constexpr size_t kPiece = 7;   // bytes
constexpr int kPieceTime = 1;  // milliseconds for each

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

}  // namespace

SlowRelay::SlowRelay(const std::string& path, std::string target) : target_(std::move(target)) {
  quiet_ = ::eventfd(0, EFD_CLOEXEC);
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(path);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) (void)::listen(listener_, 4);
  thread_ = std::thread([this] { run(); });
}

SlowRelay::~SlowRelay() {
  cut();
  ::close(listener_);
  ::close(quiet_);
}

void SlowRelay::cut() {
  const uint64_t one = 1;
  (void)!::write(quiet_, &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

// False at the end of `from`.
bool SlowRelay::relay(int from, int to) const {
  std::array<char, 4096> buffer;
  const ssize_t n = ::read(from, buffer.data(), buffer.size());
  if (n <= 0) return false;
  for (size_t at = 0; at < static_cast<size_t>(n); at += kPiece) {
    const size_t size = std::min(kPiece, static_cast<size_t>(n) - at);
    if (::send(to, buffer.data() + at, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) return false;
    pollfd quiet{.fd = quiet_, .events = POLLIN, .revents = 0};
    if (::poll(&quiet, 1, kPieceTime) > 0) return false;
  }
  return true;
}

void SlowRelay::run() {
  while (true) {
    pollfd waiting[] = {{.fd = listener_, .events = POLLIN, .revents = 0},
                        {.fd = quiet_, .events = POLLIN, .revents = 0}};
    if (::poll(waiting, 2, -1) < 0 || waiting[1].revents != 0) return;
    const int near = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int far = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(target_);
    bool is_open = ::connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    while (is_open) {
      pollfd events[] = {{.fd = near, .events = POLLIN, .revents = 0},
                         {.fd = far, .events = POLLIN, .revents = 0},
                         {.fd = quiet_, .events = POLLIN, .revents = 0}};
      if (::poll(events, 3, -1) < 0 || events[2].revents != 0) break;
      if (events[0].revents != 0) is_open = relay(near, far);
      if (is_open && events[1].revents != 0) is_open = relay(far, near);
    }
    ::close(near);
    ::close(far);
  }
}

}  // namespace drover::conformance
