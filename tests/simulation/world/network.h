// The links between servers: one for each direction, with a delay, losses, repetitions, an order that may be broken, a
// bandwidth with a queue, cuts and resets. Servers are numbered. Single-owner.
#pragma once

#include <functional>
#include <vector>

#include "kernel/raft/core/message.h"
#include "kernel/raft/transport.h"
#include "tests/simulation/configuration.h"
#include "tests/simulation/world/event_loop.h"
#include "tests/simulation/world/trace.h"

namespace drover::simulation {

class Network {
 public:
  // The servers: a message has arrived, or a connection to a peer has gone or come back.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual void receive(int to, raft::Message message) = 0;
    virtual void receive_bulk(int to, raft::BulkMessage message) = 0;
    virtual void peer_changed(int node, int peer, bool is_reachable) = 0;
  };

  Network(EventLoop& loop, Trace& trace, const Configuration& configuration, uint64_t seed, int nodes,
          Receiver& receiver);

  void send(int from, int to, raft::Message message);
  // On a connection of its own: in order, or not at all.
  void send_bulk(int from, int to, raft::BulkMessage message);

  // One direction. Messages on the way when a link is cut are lost.
  void cut(int from, int to);
  bool is_cut(int from, int to) const { return link(from, to).is_cut; }
  void mend();
  // Messages on the way between the two are lost; both hear of it, and again when the connection is back.
  void reset(int a, int b);
  // From now on everything arrives once, in order and soon.
  void heal();

 private:
  struct Link {
    Micros delay = 0;
    Micros busy_until = 0;
    Micros last_arrival = 0;
    Micros last_bulk = 0;
    uint64_t epoch = 0;  // of the connection: what was sent in an earlier one never arrives
    bool is_cut = false;
  };
  Link& link(int from, int to) { return links_[static_cast<size_t>(from * nodes_ + to)]; }
  const Link& link(int from, int to) const { return links_[static_cast<size_t>(from * nodes_ + to)]; }
  void deliver_at(Micros when, int from, int to, raft::Message message);

  EventLoop& loop_;
  Trace& trace_;
  const Configuration& configuration_;
  Random random_;
  const int nodes_;
  Receiver& receiver_;
  std::vector<Link> links_;
  bool is_healed_ = false;
};

}  // namespace drover::simulation
