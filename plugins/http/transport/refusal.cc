#include "refusal.h"

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <string_view>

namespace drover::api {
namespace {

namespace asio = boost::asio;
using Error = boost::system::error_code;
using Socket = Stream::Socket;

constexpr auto kLinger = std::chrono::seconds(2);  // for a client to read that it is refused
constexpr size_t kMaxAlive = 100;
constexpr std::string_view kTooMany =
    "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    "Your IP is issuing too many concurrent connections, please rate limit your calls\n";

class Refusal final : public std::enable_shared_from_this<Refusal> {
 public:
  Refusal(Socket socket, std::atomic<size_t>& alive)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), alive_(alive) {
    ++alive_;
  }
  ~Refusal() { --alive_; }

  void start() {
    timer_.expires_after(kLinger);
    timer_.async_wait([self = shared_from_this()](Error) { self->close(); });
    asio::async_write(socket_, asio::buffer(kTooMany.data(), kTooMany.size()),
                      [self = shared_from_this()](Error error, size_t) {
                        if (error) return self->finish();
                        self->socket_.shutdown(Socket::shutdown_send, error);
                        self->drain();
                      });
  }

 private:
  void drain() {
    socket_.async_read_some(asio::buffer(dropped_), [self = shared_from_this()](Error error, size_t) {
      error ? self->finish() : self->drain();
    });
  }
  void finish() {
    timer_.cancel();
    close();
  }
  void close() {
    Error ignored;
    socket_.close(ignored);
  }

  Socket socket_;
  asio::steady_timer timer_;
  std::array<char, 4096> dropped_;
  std::atomic<size_t>& alive_;
};

}  // namespace

bool Refusals::may_speak(SteadyTime now) {
  const MutexLock lock(mutex_);
  return words_.take(now);
}

void Refusals::refuse(Stream::Socket socket, bool speaks_tls, SteadyTime now) {
  if (speaks_tls || alive_ >= kMaxAlive || !may_speak(now)) return;
  std::make_shared<Refusal>(std::move(socket), alive_)->start();
}

}  // namespace drover::api
