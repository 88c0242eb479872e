#include "server.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "drover/log.h"
#include "drover/mutex.h"
#include "session.h"

namespace drover::api {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Error = boost::system::error_code;
constexpr size_t kThreads = 2;
constexpr size_t kUploads = 2;                           // pieces of bodies that wait for their handlers at a time
constexpr auto kPause = std::chrono::milliseconds(100);  // after a connection that could not be accepted
constexpr auto kLinger = std::chrono::seconds(2);        // for a client to read that it is refused
constexpr size_t kRefusals = 100;                        // at a time; one more is closed without a word
constexpr std::string_view kTooMany =
    "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    "Your IP is issuing too many concurrent connections, please rate limit your calls\n";

// Says to a connection that it is one too many. It is closed only once the client has had time to read that: what it
// sends meanwhile is read and dropped, since closing over unread bytes resets the connection.
class Refusal final : public std::enable_shared_from_this<Refusal> {
 public:
  Refusal(Tcp::socket socket, std::atomic<size_t>& alive)
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
                        self->socket_.shutdown(Tcp::socket::shutdown_send, error);
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

  Tcp::socket socket_;
  asio::steady_timer timer_;
  std::array<char, 4096> dropped_;
  std::atomic<size_t>& alive_;
};

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, const Routes& routes, Caller& caller, Metrics& metrics)
      : options_(std::move(options)), shared_{options_, routes, caller, metrics, uploads_}, metrics_(metrics) {}
  ~Impl() { stop(); }

  Status start() {
    for (const std::string& address : options_.addresses) {
      DROVER_RETURN_IF_ERROR(listen(address).with_context("HTTP API on " + address));
    }
    for (auto& door : doors_) accept(*door);
    for (size_t i = 0; i < kThreads; ++i) {
      threads_.emplace_back([this] {
        pthread_setname_np(pthread_self(), "http");
        io_.run();
      });
    }
    for (size_t i = 0; i < kUploads; ++i) {
      threads_.emplace_back([this] {
        pthread_setname_np(pthread_self(), "http-upload");
        uploads_.run();
      });
    }
    return ok_status();
  }

  std::string address() const {
    Error ignored;
    const auto endpoint = doors_.front()->acceptor.local_endpoint(ignored);
    const std::string host = endpoint.address().to_string();
    return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port());
  }

  void stop() {
    stopping_.request_stop();
    asio::post(io_, [this] {
      Error ignored;
      for (auto& door : doors_) door->acceptor.close(ignored);
    });
    {
      MutexLock lock(mutex_);
      all_ended_.wait_for(lock, std::chrono::seconds(5),
                          [this]() DROVER_REQUIRES(mutex_) { return connections_.empty(); });
    }
    work_.reset();
    io_.stop();
    upload_work_.reset();
    uploads_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  struct Door {
    explicit Door(asio::io_context& io) : acceptor(io), pause(io) {}
    Tcp::acceptor acceptor;
    asio::steady_timer pause;
    bool is_failing = false;  // and it has been said
  };

  Status listen(const std::string& address) {
    const size_t colon = address.rfind(':');
    std::string host = address.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    Error error;
    auto ip = asio::ip::make_address(host, error);
    if (error) return invalid_argument("\"" + host + "\" is not an IP address");
    const int port = std::atoi(address.c_str() + colon + 1);
    auto door = std::make_unique<Door>(io_);
    Tcp::acceptor& acceptor = door->acceptor;
    Tcp::endpoint endpoint(ip, static_cast<uint16_t>(port));
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error && ip.is_v6()) acceptor.set_option(asio::ip::v6_only(false), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error == asio::error::address_in_use) {
      return already_exists("port " + std::to_string(port) +
                            " is in use by another program; stop it, or set ports { http = … }");
    }
    if (error) return errno_status(error.value(), "listen");
    doors_.push_back(std::move(door));
    return ok_status();
  }

  void accept(Door& door) {
    door.acceptor.async_accept(asio::make_strand(io_), [this, &door](Error error, Tcp::socket socket) {
      if (stopping_.stop_requested()) return;
      if (!error) {
        door.is_failing = false;
        admit(std::move(socket));
        return accept(door);
      }
      if (!std::exchange(door.is_failing, true))
        log::warn("http", "connections cannot be accepted; it is tried again", {{"error", error.message()}});
      door.pause.expires_after(kPause);  // no descriptors, for example
      door.pause.async_wait([this, &door](Error) { accept(door); });
    });
  }

  void admit(Tcp::socket socket) {
    Error error;
    const auto remote = socket.remote_endpoint(error);
    if (error) return;
    const std::string who = remote.address().to_string();
    {
      MutexLock lock(mutex_);
      size_t& count = connections_[who];
      if (options_.max_connections_per_address > 0 && count >= options_.max_connections_per_address) {
        metrics_.add("nomad.nomad.agent.http.exceeded");
        if (refusals_ < kRefusals) std::make_shared<Refusal>(std::move(socket), refusals_)->start();
        return;
      }
      ++count;
    }
    socket.set_option(Tcp::no_delay(true), error);
    start_session(std::move(socket), shared_, stopping_.get_token(), [this, who] {
      MutexLock lock(mutex_);
      if (--connections_[who] == 0) connections_.erase(who);
      all_ended_.notify_all();
    });
  }

  const ServerOptions options_;
  const SessionShared shared_;
  Metrics& metrics_;
  std::stop_source stopping_;
  Mutex mutex_;
  CondVar all_ended_;
  std::atomic<size_t> refusals_ = 0;
  std::map<std::string, size_t> connections_ DROVER_GUARDED_BY(mutex_);  // by remote address
  asio::io_context io_{static_cast<int>(kThreads)};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  asio::io_context uploads_{static_cast<int>(kUploads)};  // its tasks hold sessions: gone before io_
  asio::executor_work_guard<asio::io_context::executor_type> upload_work_{uploads_.get_executor()};
  std::vector<std::unique_ptr<Door>> doors_;
  std::vector<std::thread> threads_;
};

Server::Server(ServerOptions options, const Routes& routes, Caller& caller, Metrics& metrics)
    : impl_(std::make_unique<Impl>(std::move(options), routes, caller, metrics)) {}
Server::~Server() = default;
Status Server::start() { return impl_->start(); }
std::string Server::address() const { return impl_->address(); }
void Server::stop() { impl_->stop(); }

}  // namespace drover::api
