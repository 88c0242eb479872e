#include "kernel/raft_peers.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <utility>

#include "drover/log.h"
#include "drover/mutex.h"
#include "kernel/raft/message_codec.h"

namespace drover {
namespace {

using raft::NodeId;
using raft::PeerHello;
using LaneName = PeerHello::Lane;

// Where messages go while this server runs. Its functions only push, so a shared lock over them is short.
class Receiver {
 public:
  void open(raft::PeerEvents& events) {
    const WriterLock lock(mutex_);
    events_ = &events;
  }
  void close() {
    const WriterLock lock(mutex_);
    events_ = nullptr;
  }
  template <typename Call>
  bool with(Call call) {
    const ReaderLock lock(mutex_);
    if (events_) call(*events_);
    return events_ != nullptr;
  }

 private:
  SharedMutex mutex_;
  raft::PeerEvents* events_ DROVER_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace

class RaftPeers::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Wire& wire, std::vector<std::string> commands) : wire_(wire), commands_(std::move(commands)) {}

  void start(const raft::Member& self, raft::PeerEvents& events) {
    self_ = self;
    receiver_.open(events);
  }
  void stop() {
    receiver_.close();
    set_peers({}, {});
  }
  void set_peers(raft::ClusterId cluster, const std::vector<raft::Member>& members);
  void renew_appends(NodeId to);
  void send(NodeId to, LaneName lane, std::string bytes);
  Result<LaneSink> accept(std::string_view greeting);
  std::string who_lacks(std::string_view command) const;

 private:
  using Lanes = std::vector<std::shared_ptr<Lane>>;
  struct Peer {
    NodeId id{};
    std::string address;
    raft::ClusterId cluster{};
    bool is_guest = false;  // not of the membership: here as long as it speaks to us
    Lanes lanes{};          // by LaneName
  };

  Peer reach_out(Peer peer) DROVER_REQUIRES(mutex_);
  std::shared_ptr<Lane> open_lane(const Peer& peer, LaneName lane) DROVER_REQUIRES(mutex_);
  LaneEvents events_of(const PeerHello& hello, const std::string& address);
  void welcome_guest(const std::shared_ptr<const PeerHello>& hello);
  void learn_commands(const PeerHello& hello);
  Status receive(const PeerHello& hello, const std::string& bytes);

  Wire& wire_;
  const std::vector<std::string> commands_;
  const uint64_t incarnation_ = std::random_device{}() | uint64_t{std::random_device{}()} << 32;
  raft::Member self_;  // constant after start()
  Receiver receiver_;
  mutable Mutex mutex_;
  std::map<NodeId, Peer> peers_ DROVER_GUARDED_BY(mutex_);
  // By the newest lane that they opened here.
  std::map<NodeId, std::weak_ptr<const PeerHello>> speaking_ DROVER_GUARDED_BY(mutex_);
  std::map<NodeId, std::vector<std::string>> lacking_ DROVER_GUARDED_BY(mutex_);  // our commands that others lack
};

LaneEvents RaftPeers::Impl::events_of(const PeerHello& hello, const std::string& address) {
  const auto refusal = std::make_shared<std::string>();  // said once; events come one at a time
  const auto open = [self = shared_from_this(), refusal, lane = hello.lane, to = hello.to, address] {
    refusal->clear();
    if (lane == LaneName::control) log::info("raft", "connected to a server", {{"address", address}});
    if (lane == LaneName::bulk) return;
    { const MutexLock lock(self->mutex_); }  // the lane is in its place now: who hears of it may use it
    self->receiver_.with([&](raft::PeerEvents& events) { events.peer_reconnected(to); });
  };
  const auto broken = [self = shared_from_this(), refusal, lane = hello.lane, to = hello.to, address](const Status& why,
                                                                                                      bool was_open) {
    const bool is_news = lane == LaneName::control && why.message() != *refusal;
    *refusal = why.message();
    if (is_news) log::warn("raft", "no connection to a server", {{"address", address}, {"error", why.message()}});
    if (!was_open || lane == LaneName::bulk) return;
    self->receiver_.with([&](raft::PeerEvents& events) { events.peer_unreachable(to); });
  };
  return {.open = open, .broken = broken};
}

RaftPeers::Impl::Peer RaftPeers::Impl::reach_out(Peer peer) {
  for (const LaneName lane : {LaneName::control, LaneName::append, LaneName::bulk})
    peer.lanes.push_back(open_lane(peer, lane));
  return peer;
}

// Under the lock, for no event of the lane to come before the lane is in its place.
std::shared_ptr<Lane> RaftPeers::Impl::open_lane(const Peer& peer, LaneName lane) {
  const PeerHello hello{.lane = lane,
                        .cluster = peer.cluster,
                        .from = self_.id,
                        .to = peer.id,
                        .incarnation = incarnation_,
                        .address = self_.address,
                        .commands = commands_};
  return wire_.open_lane(peer.address, lane == LaneName::bulk ? "raft-bulk" : "raft", raft::encode_hello(hello),
                         events_of(hello, peer.address));
}

void RaftPeers::Impl::renew_appends(NodeId to) {
  constexpr size_t kAppend = static_cast<size_t>(LaneName::append) - 1;
  std::shared_ptr<Lane> former;  // closes outside the lock
  const MutexLock lock(mutex_);
  const auto known = peers_.find(to);
  if (known == peers_.end()) return;
  Peer& peer = known->second;
  former = std::exchange(peer.lanes[kAppend], open_lane(peer, LaneName::append));
}

void RaftPeers::Impl::set_peers(raft::ClusterId cluster, const std::vector<raft::Member>& members) {
  std::map<NodeId, Peer> next;  // at the end those who are gone, whose lanes close outside the lock
  const MutexLock lock(mutex_);
  for (const raft::Member& member : members) {
    const auto known = peers_.find(member.id);
    if (known != peers_.end() && known->second.address == member.address) {
      known->second.is_guest = false;
      next.insert(peers_.extract(known));
      continue;
    }
    next.insert_or_assign(member.id, reach_out({.id = member.id, .address = member.address, .cluster = cluster}));
  }
  std::swap(peers_, next);
}

void RaftPeers::Impl::welcome_guest(const std::shared_ptr<const PeerHello>& hello) {
  Peer former;  // its lanes close outside the lock
  const MutexLock lock(mutex_);
  speaking_[hello->from] = hello;
  const auto known = peers_.find(hello->from);
  if (known != peers_.end() && (!known->second.is_guest || known->second.address == hello->address)) return;
  Peer guest =
      reach_out({.id = hello->from, .address = hello->address, .cluster = hello->cluster, .is_guest = true});
  former = std::exchange(peers_[hello->from], std::move(guest));
}

// The membership may have dropped a peer that still waits for answers: one from before its joining, of a snapshot. It
// is welcomed again; this answer is lost, as on a lane that is not open, and the next one arrives.
void RaftPeers::Impl::send(NodeId to, LaneName lane, std::string bytes) {
  std::shared_ptr<Lane> open;
  std::shared_ptr<const PeerHello> guest;
  {
    const MutexLock lock(mutex_);
    const auto peer = peers_.find(to);
    if (peer != peers_.end()) open = peer->second.lanes.at(static_cast<size_t>(lane) - 1);
    const auto speaking = speaking_.find(to);
    if (peer == peers_.end() && speaking != speaking_.end()) guest = speaking->second.lock();
  }
  if (guest) welcome_guest(guest);
  if (open) open->send(std::move(bytes));
}

// As of its newest start: every lane says the same.
void RaftPeers::Impl::learn_commands(const PeerHello& hello) {
  std::vector<std::string> lacking;
  if (!hello.commands.empty()) {
    std::ranges::copy_if(commands_, std::back_inserter(lacking), [&](const std::string& command) {
      return std::ranges::find(hello.commands, command) == hello.commands.end();
    });
  }
  const MutexLock lock(mutex_);
  lacking_.erase(hello.from);
  if (!lacking.empty()) lacking_.emplace(hello.from, std::move(lacking));
}

std::string RaftPeers::Impl::who_lacks(std::string_view command) const {
  const MutexLock lock(mutex_);
  for (const auto& [id, lacking] : lacking_) {
    const auto peer = peers_.find(id);
    if (peer == peers_.end() || peer->second.is_guest) continue;
    if (std::ranges::find(lacking, command) != lacking.end()) return peer->second.address;
  }
  return {};
}

Result<LaneSink> RaftPeers::Impl::accept(std::string_view greeting) {
  DROVER_TRY(PeerHello said, raft::decode_hello(greeting));
  const auto hello = std::make_shared<const PeerHello>(std::move(said));
  if (hello->to != self_.id) {
    return failed_precondition("this is server " + self_.id.to_string() + ", not " + hello->to.to_string() +
                               ": the address belongs to another server now");
  }
  Status met = unavailable("this server is not running");
  receiver_.with([&](raft::PeerEvents& events) { met = events.meet(hello->cluster); });
  DROVER_RETURN_IF_ERROR(met);
  welcome_guest(hello);
  learn_commands(*hello);
  return LaneSink(
      [self = shared_from_this(), hello](const std::string& bytes) { return self->receive(*hello, bytes); });
}

Status RaftPeers::Impl::receive(const PeerHello& hello, const std::string& bytes) {
  Status status;
  const bool is_running = receiver_.with([&](raft::PeerEvents& events) {
    if (hello.lane == LaneName::bulk) {
      Result<raft::BulkMessage> message = raft::decode_bulk(bytes, hello.from, hello.to);
      message.ok() ? events.receive_bulk(*std::move(message)) : void(status = message.status());
    } else {
      Result<raft::Message> message = raft::decode_message(bytes, hello.from, hello.to);
      message.ok() ? events.receive(*std::move(message)) : void(status = message.status());
    }
  });
  return is_running ? status : unavailable("this server is not running");
}

RaftPeers::RaftPeers(Wire& wire, std::vector<std::string> commands)
    : impl_(std::make_shared<Impl>(wire, std::move(commands))) {}
RaftPeers::~RaftPeers() { stop(); }

void RaftPeers::start(const raft::Member& self, raft::PeerEvents& events) { impl_->start(self, events); }
void RaftPeers::stop() { impl_->stop(); }
void RaftPeers::set_peers(raft::ClusterId cluster, std::vector<raft::Member> peers) {
  impl_->set_peers(cluster, peers);
}
Result<LaneSink> RaftPeers::accept(std::string_view greeting) { return impl_->accept(greeting); }
std::string RaftPeers::who_lacks(std::string_view command) const { return impl_->who_lacks(command); }

void RaftPeers::renew_appends(NodeId peer) { impl_->renew_appends(peer); }

void RaftPeers::send(raft::Message message) {
  const LaneName lane = message.type == raft::MessageType::append ? LaneName::append : LaneName::control;
  impl_->send(message.to, lane, raft::encode_message(message));
}

void RaftPeers::send_bulk(raft::BulkMessage message) {
  const NodeId to = std::visit([](const auto& one) { return one.to; }, message);
  impl_->send(to, LaneName::bulk, raft::encode_bulk(message));
}

}  // namespace drover
