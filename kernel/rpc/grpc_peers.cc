#include "kernel/rpc/grpc_peers.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "drover/log.h"
#include "kernel/raft/message_codec.h"
#include "kernel/rpc/grpc_credentials.h"
#include "kernel/rpc/grpc_stream.h"

namespace drover::rpc {
namespace {

using raft::NodeId;
using raft::PeerHello;
using Lane = PeerHello::Lane;
constexpr auto kFirstRetry = std::chrono::milliseconds(50);
constexpr auto kLastRetry = std::chrono::milliseconds(1000);

// Where messages go while this server runs. Its functions only push, so a shared lock over them is short.
class Receiver {
 public:
  void open(raft::PeerEvents& events) {
    const std::unique_lock lock(mutex_);
    events_ = &events;
  }
  void close() {
    const std::unique_lock lock(mutex_);
    events_ = nullptr;
  }
  template <typename Call>
  bool with(Call call) {
    const std::shared_lock lock(mutex_);
    if (events_) call(*events_);
    return events_ != nullptr;
  }

 private:
  std::shared_mutex mutex_;
  raft::PeerEvents* events_ = nullptr;  // guarded by mutex_
};

std::chrono::nanoseconds jitter(std::chrono::nanoseconds time) {
  thread_local std::minstd_rand random{std::random_device{}()};
  return time / 2 + std::chrono::nanoseconds(random() % static_cast<uint64_t>((time / 2).count() + 1));
}

}  // namespace

class GrpcPeers::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Pool& pool, Clock& clock, std::optional<Tls> tls) : pool_(pool), clock_(clock), tls_(std::move(tls)) {}

  void start(const raft::Member& self, raft::PeerEvents& events) {
    self_ = self;
    receiver_.open(events);
  }
  void stop();
  void set_peers(raft::ClusterId cluster, const std::vector<raft::Member>& peers);
  void send(NodeId to, Lane lane, std::string bytes);
  void accept(std::shared_ptr<ServerStream> stream);

 private:
  class Outgoing;
  using Lanes = std::vector<std::shared_ptr<Outgoing>>;
  struct Peer {
    std::string address;
    bool is_guest = false;  // not of the membership: here as long as it speaks to us
    Lanes lanes;            // by Lane
  };

  Peer reach_out(raft::ClusterId cluster, const raft::Member& member);
  void welcome_guest(const PeerHello& hello);

  Pool& pool_;
  Clock& clock_;
  const std::optional<Tls> tls_;
  const uint64_t incarnation_ = std::random_device{}() | uint64_t{std::random_device{}()} << 32;
  raft::Member self_;  // constant after start()
  Receiver receiver_;
  StreamGroup streams_;
  std::mutex mutex_;
  std::map<NodeId, Peer> peers_;  // guarded by mutex_
};

// One lane to one peer: greets, is welcomed, sends; begins again when it breaks.
class GrpcPeers::Impl::Outgoing : public std::enable_shared_from_this<Outgoing> {
 public:
  Outgoing(std::shared_ptr<Impl> owner, PeerHello hello, std::string address, std::shared_ptr<grpc::Channel> channel)
      : owner_(std::move(owner)), hello_(hello), address_(std::move(address)), channel_(std::move(channel)) {}

  void connect() {
    auto stream = std::make_shared<ClientStream>(channel_);
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) return;
      stream_ = stream;
    }
    ClientStream::Events events{
        .message = [self = shared_from_this()](const std::string&) { self->welcomed(); },
        .ended = [self = shared_from_this()](const Status& status, const std::string&) { self->ended(status); }};
    ClientStream::start(stream, owner_->streams_, {.method = kPeerMethod, .context = raft::encode_hello(hello_)},
                        std::move(events));
  }

  // Dropped while the lane is not open: the core copes.
  void send(std::string bytes) {
    std::shared_ptr<ClientStream> stream;
    {
      const std::lock_guard lock(mutex_);
      if (is_open_) stream = stream_;
    }
    if (stream) stream->post(std::move(bytes));
  }

  void close() {
    std::shared_ptr<ClientStream> stream;
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
      is_open_ = false;
      stream = std::move(stream_);
    }
    if (stream) stream->cancel();
  }

 private:
  void welcomed() {
    std::shared_ptr<ClientStream> stream;
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) return;
      is_open_ = true;
      retry_ = kFirstRetry;
      refusal_.clear();
      stream = stream_;
    }
    if (hello_.lane == Lane::control) log::info("raft", "connected to a server", {{"address", address_}});
    if (hello_.lane != Lane::bulk) {
      owner_->receiver_.with([&](raft::PeerEvents& events) { events.peer_reconnected(hello_.to); });
    }
    if (stream) stream->read_next();  // tells of the end
  }

  void ended(const Status& status) {
    bool was_open = false;
    bool is_news = false;
    std::chrono::nanoseconds wait{};
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) return;
      was_open = std::exchange(is_open_, false);
      is_news = hello_.lane == Lane::control && status.message() != refusal_;
      refusal_ = status.message();
      wait = jitter(retry_);
      retry_ = std::min<std::chrono::nanoseconds>(retry_ * 2, kLastRetry);
    }
    if (is_news) {
      log::warn("raft", "no connection to a server", {{"address", address_}, {"error", status.message()}});
    }
    if (was_open && hello_.lane != Lane::bulk) {
      owner_->receiver_.with([&](raft::PeerEvents& events) { events.peer_unreachable(hello_.to); });
    }
    owner_->pool_.post_at(owner_->clock_.steady() + wait, [self = shared_from_this()] { self->connect(); });
  }

  const std::shared_ptr<Impl> owner_;
  const PeerHello hello_;
  const std::string address_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::mutex mutex_;
  std::shared_ptr<ClientStream> stream_;  // guarded by mutex_, like the following
  bool is_open_ = false;
  bool is_closed_ = false;
  std::chrono::nanoseconds retry_ = kFirstRetry;
  std::string refusal_;  // said once
};

void GrpcPeers::Impl::stop() {
  receiver_.close();
  set_peers({}, {});
  streams_.stop();
}

GrpcPeers::Impl::Peer GrpcPeers::Impl::reach_out(raft::ClusterId cluster, const raft::Member& member) {
  Peer peer{.address = member.address};
  const auto quick = make_channel(member.address, tls_, "raft");
  const auto bulk = make_channel(member.address, tls_, "raft-bulk");
  for (Lane lane : {Lane::control, Lane::append, Lane::bulk}) {
    const PeerHello hello{.lane = lane,
                          .cluster = cluster,
                          .from = self_.id,
                          .to = member.id,
                          .incarnation = incarnation_,
                          .address = self_.address};
    const auto& channel = lane == Lane::bulk ? bulk : quick;
    peer.lanes.push_back(std::make_shared<Outgoing>(shared_from_this(), hello, member.address, channel));
  }
  return peer;
}

void GrpcPeers::Impl::set_peers(raft::ClusterId cluster, const std::vector<raft::Member>& peers) {
  Lanes gone, fresh;
  {
    const std::lock_guard lock(mutex_);
    std::map<NodeId, Peer> next;
    for (const raft::Member& member : peers) {
      const auto known = peers_.find(member.id);
      if (known != peers_.end() && known->second.address == member.address) {
        known->second.is_guest = false;
        next.insert(peers_.extract(known));
        continue;
      }
      const Peer& peer = next.emplace(member.id, reach_out(cluster, member)).first->second;
      fresh.insert(fresh.end(), peer.lanes.begin(), peer.lanes.end());
    }
    std::swap(peers_, next);
    for (auto& [id, peer] : next) gone.insert(gone.end(), peer.lanes.begin(), peer.lanes.end());
  }
  for (const auto& outgoing : gone) outgoing->close();
  for (const auto& outgoing : fresh) outgoing->connect();
}

void GrpcPeers::Impl::welcome_guest(const PeerHello& hello) {
  Lanes gone, fresh;
  {
    const std::lock_guard lock(mutex_);
    auto known = peers_.find(hello.from);
    if (known != peers_.end() && (!known->second.is_guest || known->second.address == hello.address)) return;
    if (known != peers_.end()) gone = known->second.lanes;
    Peer guest = reach_out(hello.cluster, {.id = hello.from, .address = hello.address});
    guest.is_guest = true;
    fresh = guest.lanes;
    peers_.insert_or_assign(hello.from, std::move(guest));
  }
  for (const auto& outgoing : gone) outgoing->close();
  for (const auto& outgoing : fresh) outgoing->connect();
}

void GrpcPeers::Impl::send(NodeId to, Lane lane, std::string bytes) {
  std::shared_ptr<Outgoing> outgoing;
  {
    const std::lock_guard lock(mutex_);
    const auto peer = peers_.find(to);
    if (peer != peers_.end()) outgoing = peer->second.lanes.at(static_cast<size_t>(lane) - 1);
  }
  if (outgoing) outgoing->send(std::move(bytes));
}

void GrpcPeers::Impl::accept(std::shared_ptr<ServerStream> stream) {
  const auto refuse = [&](const Status& why) {
    stream->start({.message = [](const std::string&) {}, .half_closed = [] {}, .cancelled = [] {}});
    stream->finish(why);
  };
  const Result<PeerHello> hello = raft::decode_hello(stream->metadata(kContextKey));
  if (!hello.ok()) return refuse(hello.status());
  if (hello->to != self_.id) {
    return refuse(failed_precondition("this is server " + self_.id.to_string() + ", not " + hello->to.to_string() +
                                      ": the address belongs to another server now"));
  }
  Status met = unavailable("this server is not running");
  receiver_.with([&](raft::PeerEvents& events) { met = events.meet(hello->cluster); });
  if (!met.ok()) return refuse(met);
  welcome_guest(*hello);

  const auto receive = [self = shared_from_this(), weak = std::weak_ptr(stream), hello = *hello](std::string bytes) {
    const auto open = weak.lock();
    if (!open) return;
    Status status;
    const bool is_open = self->receiver_.with([&](raft::PeerEvents& events) {
      if (hello.lane == Lane::bulk) {
        Result<raft::BulkMessage> message = raft::decode_bulk(bytes, hello.from, hello.to);
        message.ok() ? events.receive_bulk(*std::move(message)) : void(status = message.status());
      } else {
        Result<raft::Message> message = raft::decode_message(bytes, hello.from, hello.to);
        message.ok() ? events.receive(*std::move(message)) : void(status = message.status());
      }
    });
    if (!is_open) status = unavailable("this server is not running");
    if (!status.ok()) return open->finish(status);
    open->read_next();
  };
  stream->start({.message = receive,
                 .half_closed = [stream] { stream->finish(ok_status()); },
                 .cancelled = [stream] { stream->finish(cancelled("the other server has gone")); }});
  stream->post({});  // welcome
}

GrpcPeers::GrpcPeers(Pool& pool, Clock& clock, std::optional<Tls> tls)
    : impl_(std::make_shared<Impl>(pool, clock, std::move(tls))) {
  take_over_log();
}

GrpcPeers::~GrpcPeers() { stop(); }

void GrpcPeers::start(const raft::Member& self, raft::PeerEvents& events) { impl_->start(self, events); }
void GrpcPeers::stop() { impl_->stop(); }
void GrpcPeers::set_peers(raft::ClusterId cluster, std::vector<raft::Member> peers) {
  impl_->set_peers(cluster, peers);
}
void GrpcPeers::accept(std::shared_ptr<ServerStream> stream) { impl_->accept(std::move(stream)); }

void GrpcPeers::send(raft::Message message) {
  const Lane lane = message.type == raft::MessageType::append ? Lane::append : Lane::control;
  impl_->send(message.to, lane, raft::encode_message(message));
}

void GrpcPeers::send_bulk(raft::BulkMessage message) {
  const NodeId to = std::visit([](const auto& one) { return one.to; }, message);
  impl_->send(to, Lane::bulk, raft::encode_bulk(message));
}

}  // namespace drover::rpc
