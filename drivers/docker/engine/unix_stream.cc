#include "engine/unix_stream.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "drover/pause.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;

constexpr auto kFullBacklog = 20ms;   // between two tries when the engine does not accept fast enough
constexpr auto kLongestPoll = 3600s;  // poll() takes an int of milliseconds

int poll_time(SteadyTime deadline) {
  if (deadline == SteadyTime::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SystemClock().steady());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, std::chrono::milliseconds(kLongestPoll).count()));
}

Status stopped() { return cancelled("the wait for the engine was cancelled"); }

}  // namespace

Result<std::unique_ptr<UnixStream>> UnixStream::connect(const std::string& path, const Patience& patience) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return invalid_argument("the socket's path is too long: " + path);
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno_status(errno, "make a socket");
  const int reader_wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
            writer_wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::unique_ptr<UnixStream> stream(new UnixStream(fd, reader_wake, writer_wake));
  if (reader_wake < 0 || writer_wake < 0)
    return resource_exhausted("too many open files for a connection to the engine");
  while (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return unavailable(errno_status(errno, "connect to " + path).message());
    if (SystemClock().steady() >= patience.deadline)
      return deadline_exceeded("connect to " + path + ": the engine accepts no connection");
    if (!pause_for(kFullBacklog, patience.stop)) return stopped();
  }
  return stream;
}

UnixStream::~UnixStream() {
  ::close(fd_);
  if (reader_wake_ >= 0) ::close(reader_wake_);
  if (writer_wake_ >= 0) ::close(writer_wake_);
}

Status UnixStream::wait(short events, const Patience& patience) const {
  const int wake = events == POLLIN ? reader_wake_ : writer_wake_;
  const std::stop_callback waker(patience.stop, [wake] {
    const uint64_t one = 1;
    (void)!::write(wake, &one, sizeof one);
  });
  while (true) {
    if (patience.stop.stop_requested()) return stopped();
    std::array<pollfd, 2> watched{pollfd{.fd = fd_, .events = events, .revents = 0},
                                  pollfd{.fd = wake, .events = POLLIN, .revents = 0}};
    const int ready = ::poll(watched.data(), watched.size(), poll_time(patience.deadline));
    if (ready < 0 && errno != EINTR) return errno_status(errno, "wait for the engine");
    if (watched[0].revents != 0) return ok_status();
    if (SystemClock().steady() >= patience.deadline) return deadline_exceeded("the engine does not answer in time");
    if (watched[1].revents != 0 && !patience.stop.stop_requested()) {  // left over from an earlier call
      uint64_t count = 0;
      (void)!::read(wake, &count, sizeof count);
    }
  }
}

Result<size_t> UnixStream::read_some(std::span<char> buffer, const Patience& patience) {
  while (true) {
    const ssize_t size = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (size >= 0) return static_cast<size_t>(size);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return unavailable(errno_status(errno, "read from the engine").message());
    DROVER_RETURN_IF_ERROR(wait(POLLIN, patience));
  }
}

Status UnixStream::write_all(std::string_view bytes, const Patience& patience) {
  while (!bytes.empty()) {
    const ssize_t size = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size >= 0) {
      bytes.remove_prefix(static_cast<size_t>(size));
    } else if (errno == EAGAIN) {
      DROVER_RETURN_IF_ERROR(wait(POLLOUT, patience));
    } else if (errno != EINTR) {
      return unavailable(errno_status(errno, "write to the engine").message());
    }
  }
  return ok_status();
}

void UnixStream::close_write() { ::shutdown(fd_, SHUT_WR); }

}  // namespace drover::docker
