// The check provider "redis_ping": its checks, of the type "redis", pass when a Redis server answers PING, or warn when
// it is loading its data still. A job says
//
//   check {
//     type     = "redis"
//     interval = "10s"
//     timeout  = "2s"
//     config {
//       expect = "+PONG"
//     }
//   }
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <memory>

#include "drover/fd.h"
#include "drover/hclspec.h"
#include "drover/serve.h"
#include "drover/task_options.h"
#include "drover/v1/check_provider.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace {

namespace check = drover::check;
using drover::v1::CheckResult;

constexpr std::string_view kPing = "*1\r\n$4\r\nPING\r\n";
constexpr int kGlance = 50;         // milliseconds between two looks at whether anybody waits still
constexpr size_t kLongestLine = 512;  // bytes

// Waits for the socket. False: nobody waits for the result any more.
bool wait_for(int socket, short events, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd one{.fd = socket, .events = events, .revents = 0};
    if (::poll(&one, 1, kGlance) > 0) return true;
  }
  return false;
}

using Address = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Address look_up(const drover::v1::RunCheckRequest& request) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(request.address().c_str(), std::to_string(request.port()).c_str(), &hints, &found) != 0)
    found = nullptr;
  return {found, &::freeaddrinfo};
}

// Errors: unavailable with what is wrong with the service; another code where this machine has no socket to ask with.
drover::Result<drover::Fd> connect_to(const drover::v1::RunCheckRequest& request, const std::stop_token& stop) {
  const Address at = look_up(request);
  if (!at) return drover::unavailable("there is no host " + request.address());
  drover::Fd socket(::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return drover::errno_status(errno, "socket");
  if (::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0) return socket;
  int error = errno;
  socklen_t size = sizeof error;
  if (error == EINPROGRESS) {
    if (!wait_for(socket.get(), POLLOUT, stop)) return drover::unavailable("no connection in time");
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) return drover::unavailable(std::string("connect: ") + std::strerror(error));
  return socket;
}

// The first line of the answer, without its end. Errors: unavailable.
drover::Result<std::string> ask(int socket, const std::stop_token& stop) {
  if (::send(socket, kPing.data(), kPing.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(kPing.size()))
    return drover::unavailable(std::string("send: ") + std::strerror(errno));
  std::string line;
  while (line.find("\r\n") == std::string::npos && line.size() < kLongestLine) {
    if (!wait_for(socket, POLLIN, stop)) return drover::unavailable("no answer in time");
    char bytes[kLongestLine];
    const ssize_t count = ::recv(socket, bytes, sizeof bytes, 0);
    if (count <= 0) return drover::unavailable("the server has closed the connection");
    line.append(bytes, static_cast<size_t>(count));
  }
  return line.substr(0, line.find("\r\n"));
}

class RedisPing final : public drover::CheckProvider {
 public:
  std::vector<drover::v1::CheckType> types() const override {
    return {check::type("redis", "A Redis server answers PING.",
                        drover::hclspec::object_of({{"expect", "string", false, "\"+PONG\""}}))};
  }

  drover::Result<CheckResult> run(const drover::v1::RunCheckRequest& request, std::stop_token stop) override {
    DROVER_TRY(auto options, drover::TaskOptions::from_msgpack(request.options()));
    const std::string expected = options.text("expect", "+PONG");
    DROVER_RETURN_IF_ERROR(options.finish());
    if (expected.empty() || expected.find_first_of("\r\n") != std::string::npos)
      return drover::invalid_argument("expect: must be one line");
    auto socket = connect_to(request, stop);
    // That the provider could not look says nothing about the service: an error, not a result.
    if (!socket && socket.status().code() != drover::Code::unavailable) return socket.status();
    if (!socket) return check::critical(socket.status().message());
    const auto answer = ask(socket->get(), stop);
    if (!answer) return check::critical(answer.status().message());
    if (*answer == expected) return check::passing(*answer);
    return answer->starts_with("-LOADING") ? check::warning(*answer) : check::critical(*answer);
  }
};

}  // namespace

DROVER_CHECK_PROVIDER(RedisPing, "redis_ping", "redis_ping", "1.0.0");
