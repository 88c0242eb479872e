#include "tests/simulation/world/network.h"

#include <algorithm>
#include <utility>

namespace drover::simulation {

Network::Network(EventLoop& loop, Trace& trace, const Configuration& configuration, uint64_t seed, int nodes,
                 Receiver& receiver)
    : loop_(loop),
      trace_(trace),
      configuration_(configuration),
      random_(seed, "network"),
      nodes_(nodes),
      receiver_(receiver),
      links_(static_cast<size_t>(nodes) * static_cast<size_t>(nodes)) {
  Random lengths(seed, "links");
  for (Link& link : links_) {
    const int64_t times = configuration.unlike_links > 1 ? lengths.between(1, configuration.unlike_links) : 1;
    link.delay = configuration.delay * times;
  }
}

void Network::send(int from, int to, raft::Message message) {
  Link& line = link(from, to);
  if (line.is_cut) return trace_.note("a message to n{} is lost: the link is cut", from, static_cast<uint64_t>(to));
  if (is_healed_) {
    line.last_arrival = std::max(loop_.now() + configuration_.delay, line.last_arrival);
    return deliver_at(line.last_arrival, from, to, std::move(message));
  }
  if (random_.chance(configuration_.loss)) {
    return trace_.note("a message to n{} is lost", from, static_cast<uint64_t>(to));
  }
  Micros leaves = loop_.now();
  if (configuration_.bandwidth != 0) {
    const auto bytes = static_cast<int64_t>(raft::message_bytes(message)) + 64;
    const Micros backlog = std::max<Micros>(0, line.busy_until - loop_.now());
    const bool is_full = backlog * configuration_.bandwidth / kSecond > configuration_.queue_bytes;
    if (is_full && message.type == raft::MessageType::append) {
      return trace_.note("an append to n{} is dropped: the queue is full", from, static_cast<uint64_t>(to));
    }
    line.busy_until = leaves = loop_.now() + backlog + bytes * kSecond / configuration_.bandwidth;
  }
  Micros arrives = leaves + line.delay + (configuration_.jitter > 0 ? random_.exponential(configuration_.jitter) : 0);
  if (random_.chance(configuration_.reorder)) {
    arrives += random_.exponential(configuration_.delay * 5 + configuration_.jitter);
  } else {
    line.last_arrival = arrives = std::max(arrives, line.last_arrival);
  }
  if (random_.chance(configuration_.duplicates)) {
    deliver_at(arrives + random_.exponential(configuration_.delay * 20), from, to, message);
  }
  deliver_at(arrives, from, to, std::move(message));
}

void Network::deliver_at(Micros when, int from, int to, raft::Message message) {
  loop_.at(when, [this, from, to, epoch = link(from, to).epoch, message = std::move(message)]() mutable {
    if (link(from, to).epoch != epoch) return;
    receiver_.receive(to, std::move(message));
  });
}

void Network::send_bulk(int from, int to, raft::BulkMessage message) {
  Link& line = link(from, to);
  if (line.is_cut || (!is_healed_ && random_.chance(configuration_.loss))) return;
  const auto* chunk = std::get_if<raft::SnapshotChunk>(&message);
  Micros takes = line.delay + random_.exponential(configuration_.jitter + 1);
  if (configuration_.bandwidth != 0 && chunk != nullptr)
    takes += static_cast<int64_t>(chunk->bytes.size()) * kSecond / configuration_.bandwidth;
  line.last_bulk = std::max(line.last_bulk, loop_.now()) + takes;
  loop_.at(line.last_bulk, [this, from, to, epoch = line.epoch, message = std::move(message)]() mutable {
    if (link(from, to).epoch == epoch) receiver_.receive_bulk(to, std::move(message));
  });
}

void Network::cut(int from, int to) {
  Link& line = link(from, to);
  line.is_cut = true;
  ++line.epoch;
}

void Network::mend() {
  for (Link& link : links_) link.is_cut = false;
}

void Network::reset(int a, int b) {
  ++link(a, b).epoch;
  ++link(b, a).epoch;
  for (const auto& [node, peer] : {std::pair(a, b), std::pair(b, a)}) {
    receiver_.peer_changed(node, peer, false);
    loop_.after(random_.exponential(50'000),
                [this, node = node, peer = peer] { receiver_.peer_changed(node, peer, true); });
  }
}

void Network::heal() {
  mend();
  for (Link& link : links_) link.last_arrival = std::min(link.last_arrival, loop_.now());
  is_healed_ = true;
}

}  // namespace drover::simulation
