// The way between the servers of one cluster, seen from the driver. The real one is kernel/raft_peers.cc, the simulator
// has its own. A transport promises only that a message that arrives was sent whole by a server of this cluster to this
// one.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "drover/result.h"
#include "kernel/raft/core/message.h"
#include "storage/types.h"

namespace drover::raft {

// A piece of a snapshot on its way: the manifest's bytes, then the data file's, as one stream of `total_bytes`.
struct SnapshotChunk {
  NodeId from{};
  NodeId to{};
  Term leader_term = 0;
  Index index = 0;  // of the snapshot, with its term
  Term term = 0;
  uint64_t manifest_bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t offset = 0;
  std::string bytes{};  // empty: asks how far the receiver is
};

struct SnapshotAck {
  NodeId from{};
  NodeId to{};
  Index index = 0;
  Term term = 0;
  uint64_t offset = 0;      // the next byte wanted
  bool is_done = false;     // whole, verified and durable
  bool is_refused = false;  // could not be kept; begin again later
};

using BulkMessage = std::variant<SnapshotChunk, SnapshotAck>;

// The calls that a transport makes. [any]
class PeerEvents {
 public:
  virtual ~PeerEvents() = default;
  // Ok when the sender's cluster is this server's. A server that has never been part of a cluster joins this one.
  virtual Status meet(ClusterId cluster) = 0;
  virtual void receive(Message message) = 0;
  virtual void receive_bulk(BulkMessage message) = 0;
  virtual void peer_unreachable(NodeId peer) = 0;  // once, until it is reconnected
  virtual void peer_reconnected(NodeId peer) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Called first, with this server's identity and the address where others reach it. `events` outlives the transport's
  // last call.
  virtual void start(const Member& self, PeerEvents& events) = 0;
  // Nothing is called back any more when it returns. Idempotent.
  virtual void stop() = 0;
  // The others of this cluster, with their addresses: reaches out to new ones, lets go of the rest. A server that is
  // not among them is answered all the same: one that has just been added knows nobody yet. [raft]
  virtual void set_peers(ClusterId cluster, std::vector<Member> peers) = 0;
  // Never block. A message is dropped while the peer is not reached; the core's window bounds the messages that wait
  // for a slow one.
  virtual void send(Message message) = 0;           // [raft]
  virtual void send_bulk(BulkMessage message) = 0;  // [transfer]; a connection of its own, heartbeats never wait for it
};

}  // namespace drover::raft
