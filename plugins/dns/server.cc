#include "server.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <thread>

#include "drover/log.h"

namespace drover::dns {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Udp = asio::ip::udp;
using Error = boost::system::error_code;

constexpr size_t kMaxQuestion = 4096;                    // bytes; what is longer is no question
constexpr int kTries = 20;                               // for a port that is free in both transports
constexpr auto kPause = std::chrono::milliseconds(100);  // after a connection that could not be accepted

class AsioLoop final : public Loop {
 public:
  void post(std::function<void()> task) override { asio::post(io, std::move(task)); }
  void after(std::chrono::nanoseconds delay, std::function<void()> task) override {
    auto timer = std::make_shared<asio::steady_timer>(io, delay);
    timer->async_wait([timer, task = std::move(task)](Error error) {
      if (!error) task();
    });
  }
  SteadyTime now() override { return std::chrono::steady_clock::now(); }

  asio::io_context io{1};
};

struct Place {
  asio::ip::address ip;
  uint16_t port = 0;
};

Result<Place> parse_place(const std::string& text) {
  const auto refuse = [&] { return invalid_argument("\"" + text + "\" is not of the form IP:port"); };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return refuse();
  std::string host = text.substr(0, colon);
  const bool has_brackets = host.starts_with('[') && host.ends_with(']');
  if (has_brackets) host = host.substr(1, host.size() - 2);
  Place place;
  Error error;
  place.ip = asio::ip::make_address(host, error);
  const auto [end, failure] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), place.port);
  if (error || has_brackets != place.ip.is_v6() || failure != std::errc() || end != text.data() + text.size() ||
      colon + 1 == text.size())
    return refuse();
  // Answers of a socket for every address might leave from another one than was asked.
  if (place.ip.is_unspecified()) return invalid_argument("\"" + text + "\" is no single address; name each");
  return place;
}

std::string text_of(const Tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]:" : host + ":") + std::to_string(endpoint.port());
}

Status listen_error(const Error& error, const char* transport) {
  if (error == asio::error::address_in_use)
    return already_exists(std::string("another program listens there (") + transport + ")");
  return errno_status(error.value(), std::string("listen (") + transport + ")");
}

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, Metrics& metrics) : options_(std::move(options)), metrics_(metrics) {}

  std::shared_ptr<Loop> loop() const { return loop_; }

  Status start(Answer answer) {
    answer_ = std::move(answer);
    for (const std::string& address : options_.addresses)
      DROVER_RETURN_IF_ERROR(listen(address).with_context("DNS on " + address));
    for (auto& door : doors_) {
      receive(*door);
      accept(*door);
    }
    thread_ = std::thread([this] {
      ::pthread_setname_np(::pthread_self(), "dns");
      loop_->io.run();
    });
    return ok_status();
  }

  std::vector<std::string> addresses() const {
    std::vector<std::string> out;
    for (const auto& door : doors_) out.push_back(text_of(door->endpoint));
    return out;
  }

  void stop() {
    loop_->io.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  // One address.
  struct Door {
    explicit Door(asio::io_context& io) : datagrams(io), acceptor(io) {}
    Tcp::endpoint endpoint;
    Udp::socket datagrams;
    Tcp::acceptor acceptor;
    Udp::endpoint from;  // of the datagram that was received last
    std::array<char, kMaxQuestion> buffer{};
    bool is_failing = false;  // and it has been said
  };

  // Questions of one connection, one after the other.
  class Connection final : public std::enable_shared_from_this<Connection> {
   public:
    Connection(Impl& server, Tcp::socket socket)
        : server_(server), count_(server.connections_), socket_(std::move(socket)), timer_(server.loop_->io) {
      ++*count_;
    }
    ~Connection() { --*count_; }

    void read() {
      wait();
      asio::async_read(socket_, asio::buffer(length_), [self = shared_from_this()](Error error, size_t) {
        if (!error) self->read_question();
      });
    }

   private:
    void read_question() {
      const size_t size = static_cast<size_t>(length_[0]) << 8 | length_[1];
      if (size == 0 || size > kMaxQuestion) return close();
      bytes_.resize(size);
      asio::async_read(socket_, asio::buffer(bytes_), [self = shared_from_this()](Error error, size_t) {
        if (!error) self->ask();
      });
    }
    void ask() {
      timer_.cancel();
      server_.answer_(bytes_, Transport::tcp, [self = shared_from_this()](std::string answer) {
        if (answer.empty()) return self->close();
        self->write(std::move(answer));
      });
    }
    void write(std::string answer) {
      wait();
      bytes_ = {static_cast<char>(answer.size() >> 8), static_cast<char>(answer.size())};
      bytes_ += answer;
      asio::async_write(socket_, asio::buffer(bytes_), [self = shared_from_this()](Error error, size_t) {
        if (!error) self->read();
      });
    }
    void wait() {
      timer_.expires_after(server_.options_.idle);
      timer_.async_wait([weak = weak_from_this()](Error error) {
        const auto self = weak.lock();
        if (!error && self) self->close();
      });
    }
    void close() {
      Error ignored;
      socket_.close(ignored);
      timer_.cancel();
    }

    Impl& server_;  // gone, perhaps, when the connection is
    const std::shared_ptr<std::atomic<size_t>> count_;
    Tcp::socket socket_;
    asio::steady_timer timer_;
    std::array<uint8_t, 2> length_{};
    std::string bytes_;
  };

  Status listen(const std::string& address) {
    DROVER_TRY(const Place place, parse_place(address));
    Status status;
    // A free port of one transport may be taken in the other.
    for (int tries = place.port == 0 ? kTries : 1; tries > 0; --tries) {
      auto door = std::make_unique<Door>(loop_->io);
      status = open(*door, place);
      if (!status.ok()) continue;
      doors_.push_back(std::move(door));
      break;
    }
    return status;
  }

  static Status open(Door& door, const Place& place) {
    Error error;
    Tcp::endpoint wanted(place.ip, place.port);
    door.acceptor.open(wanted.protocol(), error);
    if (!error) door.acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) door.acceptor.bind(wanted, error);
    if (!error) door.acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) return listen_error(error, "TCP");
    door.endpoint = door.acceptor.local_endpoint();
    const Udp::endpoint beside(place.ip, door.endpoint.port());
    door.datagrams.open(beside.protocol(), error);
    if (!error) door.datagrams.bind(beside, error);
    if (!error) door.datagrams.non_blocking(true, error);
    return error ? listen_error(error, "UDP") : ok_status();
  }

  bool may_ask(const asio::ip::address& from) const {
    const std::string text = from.to_string();
    return std::ranges::any_of(options_.clients, [&](const Subnet& each) { return contains(each, text); });
  }

  void drop(const char* why) { metrics_.add("nomad.dns.dropped", 1, {{"reason", why}}); }

  void receive(Door& door) {
    door.datagrams.async_receive_from(asio::buffer(door.buffer), door.from, [this, &door](Error error, size_t size) {
      if (error == asio::error::operation_aborted) return;
      if (!error) received(door, size);  // else it is about an answer that did not arrive
      receive(door);
    });
  }

  void received(Door& door, size_t size) {
    if (!may_ask(door.from.address())) return drop("client");
    answer_({door.buffer.data(), size}, Transport::udp, [this, &door, to = door.from](const std::string& answer) {
      Error error;
      if (!answer.empty()) door.datagrams.send_to(asio::buffer(answer), to, 0, error);
      if (error) drop("unsent");
    });
  }

  void accept(Door& door) {
    door.acceptor.async_accept([this, &door](Error error, Tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) {
        door.is_failing = false;
        admit(std::move(socket));
        return accept(door);
      }
      if (!std::exchange(door.is_failing, true))
        log::warn("dns", "connections cannot be accepted; it is tried again", {{"error", error.message()}});
      loop_->after(kPause, [this, &door] { accept(door); });  // no descriptors, for example
    });
  }

  void admit(Tcp::socket socket) {
    Error error;
    const auto from = socket.remote_endpoint(error);
    if (error) return;
    if (!may_ask(from.address())) return drop("client");
    if (*connections_ >= options_.max_connections) return drop("connections");
    socket.set_option(Tcp::no_delay(true), error);
    std::make_shared<Connection>(*this, std::move(socket))->read();
  }

  const ServerOptions options_;
  Metrics& metrics_;
  Answer answer_;
  const std::shared_ptr<std::atomic<size_t>> connections_ = std::make_shared<std::atomic<size_t>>(0);
  // Held for a moment by those who bring an answer, who may be the last: handlers that never ran go with it then.
  std::shared_ptr<AsioLoop> loop_ = std::make_shared<AsioLoop>();
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_->io.get_executor()};
  std::vector<std::unique_ptr<Door>> doors_;
  std::thread thread_;
};

Server::Server(ServerOptions options, Metrics& metrics)
    : impl_(std::make_unique<Impl>(std::move(options), metrics)) {}
Server::~Server() { stop(); }
std::shared_ptr<Loop> Server::loop() const { return impl_->loop(); }
Status Server::start(Answer answer) { return impl_->start(std::move(answer)); }
std::vector<std::string> Server::addresses() const { return impl_->addresses(); }
void Server::stop() { impl_->stop(); }

}  // namespace drover::dns
