#include "network.h"

#include <pthread.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "address.h"
#include "drover/log.h"
#include "drover/mutex.h"
#include "gossip_wire.pb.h"

namespace drover::gossip {
namespace {

namespace asio = boost::asio;
using Error = boost::system::error_code;
using Tcp = asio::ip::tcp;
using Udp = asio::ip::udp;

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kExchangeTime = std::chrono::seconds(5);
constexpr size_t kFrameBytes = 4 << 20;  // longest full state
constexpr size_t kDatagramBytes = 65536;
constexpr int kOpenExchanges = 64;  // that others began

std::string text_of(const asio::ip::address& ip, uint16_t port) {
  return Address{.host = ip.to_string(), .port = port}.to_string();
}

}  // namespace

class Network::Impl {
 public:
  Impl(Seal seal, Clock& clock, Metrics& metrics)
      : seal_(std::make_shared<const Seal>(std::move(seal))), clock_(clock), metrics_(metrics) {}
  ~Impl() { stop(); }

  Status open(const std::string& address);
  uint16_t port() const { return port_; }
  void reseal(Seal seal) {
    auto next = std::make_shared<const Seal>(std::move(seal));
    MutexLock lock(mutex_);
    seal_ = std::move(next);
  }
  void run(std::unique_ptr<Core> core, std::function<void(Core&)> beat);
  void post(std::function<void(Core&)> task) {
    asio::post(io_, [this, task = std::move(task)] {
      task(*core_);
      flush();
    });
  }
  void join(std::vector<std::string> addresses, Joined done);
  void stop();

 private:
  // One exchange of full states over one connection, from either end.
  struct Exchange {
    explicit Exchange(asio::io_context& io) : socket(io), timer(io), resolver(io) {}
    Tcp::socket socket;
    asio::steady_timer timer;
    Tcp::resolver resolver;
    std::array<uint8_t, 4> head{};
    std::string frame;
    std::function<void(Status, Uuid from)> done;  // of one that this server began
    bool is_over = false;
  };
  using Open = std::shared_ptr<Exchange>;

  void receive();
  void accept();
  void tick();
  void flush();
  void send(const std::string& address, std::string packet);
  void begin(const std::string& address, std::function<void(Status, Uuid)> done);
  void limit(const Open& open);
  void write_state(const Open& open, std::function<void()> then);
  void read_state(const Open& open, std::function<void(const v1::FullState&)> then);
  void end(const Open& open, const Status& status, Uuid from = {});
  void refused(const std::string& from);
  std::shared_ptr<const Seal> seal() const {
    MutexLock lock(mutex_);
    return seal_;
  }

  mutable Mutex mutex_;
  std::shared_ptr<const Seal> seal_ DROVER_GUARDED_BY(mutex_);
  Clock& clock_;
  Metrics& metrics_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  Udp::socket udp_{io_};
  Tcp::acceptor acceptor_{io_};
  Udp::resolver resolver_{io_};
  asio::steady_timer timer_{io_}, pause_{io_};
  Udp::endpoint sender_;
  std::string datagram_ = std::string(kDatagramBytes, '\0');
  uint16_t port_ = 0;
  std::unique_ptr<Core> core_;  // [gossip]
  std::function<void(Core&)> beat_;
  std::vector<std::weak_ptr<Exchange>> own_;  // begun here, to be ended by stop()
  int incoming_ = 0;
  bool has_warned_ = false;
  std::thread thread_;
};

Status Network::Impl::open(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  Error error;
  const auto ip = asio::ip::make_address(host, error);
  if (error) return invalid_argument("\"" + host + "\" is not an IP address");
  const auto port = static_cast<uint16_t>(std::atoi(address.c_str() + colon + 1));
  const Tcp::endpoint tcp(ip, port);
  acceptor_.open(tcp.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error && ip.is_v6()) acceptor_.set_option(asio::ip::v6_only(false), error);
  if (!error) acceptor_.bind(tcp, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  const Udp::endpoint udp(ip, port_);
  if (!error) udp_.open(udp.protocol(), error);
  if (!error && ip.is_v6()) udp_.set_option(asio::ip::v6_only(false), error);
  if (!error) udp_.bind(udp, error);
  if (error == asio::error::address_in_use) {
    return already_exists("port " + std::to_string(port) +
                          " is in use by another program; stop it, or set ports { serf = … }");
  }
  return error ? errno_status(error.value(), "listen on " + address) : ok_status();
}

void Network::Impl::run(std::unique_ptr<Core> core, std::function<void(Core&)> beat) {
  core_ = std::move(core);
  beat_ = std::move(beat);
  asio::post(io_, [this] {
    receive();
    accept();
    tick();
  });
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "gossip");
    io_.run();
  });
}

void Network::Impl::stop() {
  if (!thread_.joinable()) return;
  asio::post(io_, [this] {
    Error ignored;
    for (const auto& each : own_) {
      if (const Open open = each.lock()) end(open, unavailable("this server is stopping"));
    }
    udp_.close(ignored);
    acceptor_.close(ignored);
    work_.reset();
    io_.stop();
  });
  thread_.join();
}

void Network::Impl::tick() {
  core_->tick(clock_.steady());
  flush();
  timer_.expires_after(kTick);
  timer_.async_wait([this](Error error) {
    if (!error) tick();
  });
}

// Sends what the core has to say; tells the owner.
void Network::Impl::flush() {
  beat_(*core_);
  const auto seal = this->seal();
  for (Core::Outgoing& out : core_->take_packets()) send(out.address, seal->close(out.packet));
  for (const std::string& address : core_->take_exchanges()) begin(address, [](Status, Uuid) {});
}

// --- datagrams -------------------------------------------------------------------------------------------------------

void Network::Impl::send(const std::string& address, std::string packet) {
  const auto parsed = parse_address(address);
  if (!parsed) return;
  const auto to = [this, packet = std::move(packet)](const Udp::endpoint& endpoint) {
    Error error;
    udp_.send_to(asio::buffer(packet), endpoint, 0, error);  // lost is lost: it is asked again
    metrics_.add("nomad.memberlist.udp.sent", static_cast<double>(packet.size()));
    if (error) metrics_.add("nomad.memberlist.udp.send_error");
  };
  Error error;
  const auto ip = asio::ip::make_address(parsed->host, error);
  if (!error) return to(Udp::endpoint(ip, parsed->port));
  resolver_.async_resolve(parsed->host, std::to_string(parsed->port), [to](Error failed, const auto& results) {
    if (!failed && !results.empty()) to(results.begin()->endpoint());
  });
}

void Network::Impl::receive() {
  udp_.async_receive_from(asio::buffer(datagram_), sender_, [this](Error error, size_t size) {
    if (error == asio::error::operation_aborted || !udp_.is_open()) return;
    if (!error) {
      metrics_.add("nomad.memberlist.udp.received", static_cast<double>(size));
      const std::string from = text_of(sender_.address(), sender_.port());
      const auto plain = seal()->open(std::string_view(datagram_).substr(0, size));
      v1::Packet packet;
      if (plain && packet.ParseFromString(*plain)) {
        core_->receive(packet, from, clock_.steady());
        flush();
      } else {
        refused(from);
      }
    }
    receive();
  });
}

// Somebody speaks with another key, another version or nonsense: counted each time, logged once.
void Network::Impl::refused(const std::string& from) {
  metrics_.add("nomad.serf.refused");
  if (std::exchange(has_warned_, true)) return;
  log::warn("gossip",
            "what a server sends cannot be read: another encrypt key, or no server; said once, counted in "
            "nomad.serf.refused",
            {{"from", from}});
}

// --- full states -----------------------------------------------------------------------------------------------------

void Network::Impl::accept() {
  acceptor_.async_accept([this](Error error, Tcp::socket socket) {
    if (error == asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (!error && incoming_ < kOpenExchanges) {
      const Open open = std::make_shared<Exchange>(io_);
      open->socket = std::move(socket);
      open->done = [this](Status, Uuid) { --incoming_; };
      ++incoming_;
      metrics_.add("nomad.memberlist.tcp.accept");
      limit(open);
      read_state(open, [this, open](const v1::FullState& state) {
        write_state(open, [this, open, from = Uuid::from_bytes(state.from())] { end(open, ok_status(), from); });
      });
    }
    if (!error) return accept();
    pause_.expires_after(kTick);  // no descriptors, for example: later
    pause_.async_wait([this](Error) { accept(); });
  });
}

void Network::Impl::limit(const Open& open) {
  open->timer.expires_after(kExchangeTime);
  open->timer.async_wait([this, open](Error error) {
    if (!error) end(open, deadline_exceeded("no answer within 5 seconds"));
  });
}

void Network::Impl::begin(const std::string& address, std::function<void(Status, Uuid)> done) {
  const auto parsed = parse_address(address);
  if (!parsed) return done(parsed.status(), {});
  const Open open = std::make_shared<Exchange>(io_);
  open->done = std::move(done);
  std::erase_if(own_, [](const auto& each) { return each.expired(); });
  own_.push_back(open);
  metrics_.add("nomad.memberlist.tcp.connect");
  limit(open);
  const auto failed = [this, open](Error error) { end(open, unavailable(error.message())); };
  open->resolver.async_resolve(
      parsed->host, std::to_string(parsed->port), [this, open, failed](Error error, const auto& results) {
        if (error) return failed(error);
        asio::async_connect(open->socket, results, [this, open, failed](Error refused, const Tcp::endpoint&) {
          if (refused) return failed(refused);
          write_state(open, [this, open] {
            read_state(open, [this, open](const v1::FullState& state) {
              end(open, ok_status(), Uuid::from_bytes(state.from()));
            });
          });
        });
      });
}

void Network::Impl::write_state(const Open& open, std::function<void()> then) {
  const std::string sealed = seal()->close(core_->full_state().SerializeAsString());
  open->frame.clear();
  for (int shift = 24; shift >= 0; shift -= 8) open->frame += static_cast<char>(sealed.size() >> shift & 0xff);
  open->frame += sealed;
  asio::async_write(open->socket, asio::buffer(open->frame), [this, open, then](Error error, size_t) {
    if (error) return end(open, unavailable(error.message()));
    then();
  });
}

void Network::Impl::read_state(const Open& open, std::function<void(const v1::FullState&)> then) {
  const auto failed = [this, open](Error error) {
    end(open,
        unavailable(error == asio::error::eof ? "it closed the connection; another encrypt key?" : error.message()));
  };
  asio::async_read(open->socket, asio::buffer(open->head), [this, open, then, failed](Error error, size_t) {
    if (error) return failed(error);
    size_t size = 0;
    for (const uint8_t byte : open->head) size = size << 8 | byte;
    if (size > kFrameBytes) return end(open, invalid_argument("it sends a state that is too long"));
    open->frame.resize(size);
    asio::async_read(open->socket, asio::buffer(open->frame), [this, open, then, failed](Error broken, size_t) {
      if (broken) return failed(broken);
      const auto plain = seal()->open(open->frame);
      v1::FullState state;
      if (!plain || !state.ParseFromString(*plain)) {
        Error ignored;
        refused(text_of(open->socket.remote_endpoint(ignored).address(), open->socket.remote_endpoint(ignored).port()));
        return end(open, permission_denied("its state cannot be read; another encrypt key?"));
      }
      core_->merge(state, clock_.steady());
      then(state);
      flush();
    });
  });
}

void Network::Impl::end(const Open& open, const Status& status, Uuid from) {
  if (std::exchange(open->is_over, true)) return;
  Error ignored;
  open->timer.cancel(ignored);
  open->resolver.cancel();
  open->socket.close(ignored);
  open->done(status, from);
}

void Network::Impl::join(std::vector<std::string> addresses, Joined done) {
  asio::post(io_, [this, addresses = std::move(addresses), done = std::move(done)] {
    struct Join {
      size_t open = 0, joined = 0;
      std::string errors;
      Joined done;
    };
    auto join = std::make_shared<Join>();
    join->done = done;
    join->open = addresses.size();
    if (addresses.empty()) return done(0, "no address");
    for (const std::string& address : addresses) {
      begin(address, [this, join, address](const Status& status, Uuid from) {
        if (!status.ok()) {
          join->errors += (join->errors.empty() ? "" : "; ") + address + ": " + status.message();
        } else if (from != core_->self().info.id) {
          ++join->joined;
        }
        if (--join->open == 0) join->done(join->joined, join->errors);
      });
    }
  });
}

Network::Network(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Network::~Network() = default;

Result<std::unique_ptr<Network>> Network::open(const std::string& address, Seal seal, Clock& clock, Metrics& metrics) {
  auto impl = std::make_unique<Impl>(std::move(seal), clock, metrics);
  DROVER_RETURN_IF_ERROR(impl->open(address));
  return std::unique_ptr<Network>(new Network(std::move(impl)));
}

uint16_t Network::port() const { return impl_->port(); }
void Network::reseal(Seal seal) { impl_->reseal(std::move(seal)); }
void Network::run(std::unique_ptr<Core> core, std::function<void(Core&)> beat) {
  impl_->run(std::move(core), std::move(beat));
}
void Network::post(std::function<void(Core&)> task) { impl_->post(std::move(task)); }
void Network::join(std::vector<std::string> addresses, Joined done) {
  impl_->join(std::move(addresses), std::move(done));
}
void Network::stop() { impl_->stop(); }

}  // namespace drover::gossip
