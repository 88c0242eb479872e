#include "server.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <cstring>
#include <set>
#include <thread>

#include "drover/log.h"
#include "drover/mutex.h"
#include "session.h"
#include "transport/refusal.h"

namespace drover::api {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Protocol = asio::generic::stream_protocol;
using Error = boost::system::error_code;
constexpr size_t kThreads = 2;
constexpr size_t kUploads = 2;                           // pieces of bodies that wait for their handlers at a time
constexpr auto kPause = std::chrono::milliseconds(100);  // after a connection that could not be accepted
constexpr auto kPatience = std::chrono::seconds(5);      // for connections that end
constexpr size_t kMaxOverSocket = 64;                    // connections at a time over one that was handed in

// Nothing for the end of a Unix socket.
std::optional<Tcp::endpoint> tcp_of(const Protocol::endpoint& endpoint) {
  Tcp::endpoint tcp;
  const int family = endpoint.protocol().family();
  if ((family != AF_INET && family != AF_INET6) || endpoint.size() > tcp.capacity()) return std::nullopt;
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  return tcp;
}

// One socket that listens.
struct Door {
  explicit Door(asio::io_context& io) : acceptor(asio::make_strand(io)), pause(acceptor.get_executor()) {}
  asio::basic_socket_acceptor<Protocol> acceptor;
  asio::steady_timer pause;
  bool is_failing = false;  // and it has been said
  std::string name;         // of a Unix socket, for limits
  bool wants_token = false;
  bool speaks_tls = false;
  size_t max_connections = 0;  // of one place; 0: no limit
  std::stop_source stopping;
};

}  // namespace

class Server::Impl final : public std::enable_shared_from_this<Impl> {
 public:
  Impl(ServerOptions options, const Routes& routes, Caller& caller, Metrics& metrics)
      : options_(std::move(options)),
        shared_{options_, routes, caller, metrics, attempts_, uploads_},
        metrics_(metrics) {}
  ~Impl() { stop(); }

  Status start() {
    if (options_.tls) DROVER_RETURN_IF_ERROR(reload_tls());
    for (const std::string& address : options_.addresses) {
      DROVER_RETURN_IF_ERROR(listen(address).with_context("HTTP API on " + address));
    }
    for (auto& door : doors_) accept(door);
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

  Status reload_tls() {
    if (!options_.tls) return ok_status();
    DROVER_TRY(auto context, make_tls_context(*options_.tls));
    const MutexLock lock(mutex_);
    tls_ = std::move(context);
    return ok_status();
  }

  std::string address() const {
    Error ignored;
    const auto endpoint = tcp_of(doors_.front()->acceptor.local_endpoint(ignored)).value_or(Tcp::endpoint());
    const std::string host = endpoint.address().to_string();
    return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port());
  }

  Result<std::unique_ptr<ApiListener::Served>> serve(Fd listening) {
    auto door = std::make_shared<Door>(io_);
    door->name = "socket " + std::to_string(++sockets_);
    door->wants_token = true;
    door->max_connections = kMaxOverSocket;
    const int own = ::fcntl(listening.get(), F_DUPFD_CLOEXEC, 0);
    if (own < 0) return errno_status(errno, "serve the API on a further socket");
    Error error;
    door->acceptor.assign(Protocol(AF_UNIX, 0), own, error);
    if (error) {
      ::close(own);
      return errno_status(error.value(), "serve the API on a further socket");
    }
    {
      const MutexLock lock(mutex_);
      if (stopping_) return failed_precondition("the HTTP API has ended");
      further_.push_back(door);
    }
    asio::dispatch(door->acceptor.get_executor(), [this, door] { accept(door); });
    return std::unique_ptr<ApiListener::Served>(std::make_unique<Further>(weak_from_this(), door));
  }

  void stop() {
    std::vector<std::shared_ptr<Door>> doors;
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
      doors.swap(further_);
    }
    doors.insert(doors.end(), doors_.begin(), doors_.end());
    for (const auto& door : doors) close(door);
    {
      MutexLock lock(mutex_);
      all_ended_.wait_for(lock, kPatience,
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
  class Further final : public ApiListener::Served {
   public:
    Further(std::weak_ptr<Impl> server, std::weak_ptr<Door> door)
        : server_(std::move(server)), door_(std::move(door)) {}
    ~Further() override {
      const auto server = server_.lock();
      const auto door = server ? door_.lock() : nullptr;
      if (door) server->leave(door);
    }

   private:
    const std::weak_ptr<Impl> server_;
    const std::weak_ptr<Door> door_;  // it cannot live without the server
  };

  void leave(const std::shared_ptr<Door>& door) {
    {
      const MutexLock lock(mutex_);
      std::erase(further_, door);
      closing_.insert(door->name);
    }
    close(door);
    // The file system on which the socket lies may go away after this: nothing may hold it any more.
    MutexLock lock(mutex_);
    all_ended_.wait_for(lock, kPatience, [&]() DROVER_REQUIRES(mutex_) {
      return stopping_ || (!closing_.contains(door->name) && !connections_.contains(door->name));
    });
  }

  void close(const std::shared_ptr<Door>& door) {
    door->stopping.request_stop();
    asio::dispatch(door->acceptor.get_executor(), [this, door] {
      Error ignored;
      door->acceptor.close(ignored);
      door->pause.cancel();
      const MutexLock lock(mutex_);
      closing_.erase(door->name);
      all_ended_.notify_all();
    });
  }

  Status listen(const std::string& address) {
    const size_t colon = address.rfind(':');
    std::string host = address.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    Error error;
    auto ip = asio::ip::make_address(host, error);
    if (error) return invalid_argument("\"" + host + "\" is not an IP address");
    const int port = std::atoi(address.c_str() + colon + 1);
    auto door = std::make_shared<Door>(io_);
    door->speaks_tls = options_.tls.has_value();
    door->max_connections = options_.max_connections_per_address;
    auto& acceptor = door->acceptor;
    Tcp::endpoint endpoint(ip, static_cast<uint16_t>(port));
    acceptor.open(Protocol(endpoint.protocol()), error);
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

  // [the door's strand]
  void accept(const std::shared_ptr<Door>& door) {
    if (door->stopping.stop_requested()) return;
    door->acceptor.async_accept(asio::make_strand(io_), [this, door](Error error, Stream::Socket socket) {
      accepted(door, error, std::move(socket));
    });
  }

  void accepted(const std::shared_ptr<Door>& door, Error error, Stream::Socket socket) {
    if (door->stopping.stop_requested()) return;
    if (!error) {
      door->is_failing = false;
      admit(*door, std::move(socket));
      return accept(door);
    }
    if (!std::exchange(door->is_failing, true))
      log::warn("http", "connections cannot be accepted; it is tried again", {{"error", error.message()}});
    door->pause.expires_after(kPause);  // no descriptors, for example
    door->pause.async_wait([this, door](Error) { accept(door); });
  }

  void admit(const Door& door, Stream::Socket socket) {
    Error error;
    const auto from = tcp_of(socket.remote_endpoint(error));
    if (error) return;
    const std::string remote = from ? from->address().to_string() : "";
    const std::string place = from ? place_of(remote) : door.name;
    std::shared_ptr<TlsContext> tls;
    {
      const MutexLock lock(mutex_);
      size_t& count = connections_[place];
      if (door.max_connections > 0 && count >= door.max_connections) {
        metrics_.add("nomad.nomad.agent.http.exceeded");
        return refusals_.refuse(std::move(socket), door.speaks_tls, std::chrono::steady_clock::now());
      }
      ++count;
      if (door.speaks_tls) tls = tls_;
    }
    if (from) socket.set_option(Tcp::no_delay(true), error);
    start_session(std::make_unique<Stream>(std::move(socket), std::move(tls)),
                  {.remote = remote, .place = place, .wants_token = door.wants_token}, shared_,
                  door.stopping.get_token(), [this, place] {
                    const MutexLock lock(mutex_);
                    if (--connections_[place] == 0) connections_.erase(place);
                    all_ended_.notify_all();
                  });
  }

  const ServerOptions options_;
  Attempts attempts_{options_.limits_attempts};
  const SessionShared shared_;
  Metrics& metrics_;
  std::atomic<uint64_t> sockets_ = 0;
  Refusals refusals_;
  Mutex mutex_;
  CondVar all_ended_;
  bool stopping_ DROVER_GUARDED_BY(mutex_) = false;
  std::shared_ptr<TlsContext> tls_ DROVER_GUARDED_BY(mutex_);             // for connections to come
  std::vector<std::shared_ptr<Door>> further_ DROVER_GUARDED_BY(mutex_);  // the ends of serve()
  std::set<std::string> closing_ DROVER_GUARDED_BY(mutex_);               // their names, until nothing listens there
  std::map<std::string, size_t> connections_ DROVER_GUARDED_BY(mutex_);   // by place
  asio::io_context io_{static_cast<int>(kThreads)};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  asio::io_context uploads_{static_cast<int>(kUploads)};  // its tasks hold sessions: gone before io_
  asio::executor_work_guard<asio::io_context::executor_type> upload_work_{uploads_.get_executor()};
  std::vector<std::shared_ptr<Door>> doors_;  // of the configuration; constant after start()
  std::vector<std::thread> threads_;
};

Server::Server(ServerOptions options, const Routes& routes, Caller& caller, Metrics& metrics)
    : impl_(std::make_shared<Impl>(std::move(options), routes, caller, metrics)) {}
Server::~Server() { impl_->stop(); }
Status Server::start() { return impl_->start(); }
Status Server::reload_tls() { return impl_->reload_tls(); }
Result<std::unique_ptr<ApiListener::Served>> Server::serve(Fd listening) { return impl_->serve(std::move(listening)); }
std::string Server::address() const { return impl_->address(); }
void Server::stop() { impl_->stop(); }

}  // namespace drover::api
