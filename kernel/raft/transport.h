// How servers of one cluster reach each other, seen from the driver. The real one is
// kernel/raft_peers.cc, the simulator has its own. A transport promises nothing but that what arrives was sent whole by
// a server of this cluster to this one.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "drover/raft/types.h"
#include "drover/result.h"
#include "kernel/raft/core/message.h"

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

// What a transport calls. [any]
class PeerEvents {
 public:
  virtual ~PeerEvents() = default;
  // Whether the sender's cluster is this server's. One that has never been part of any joins by this.
  virtual Status meet(ClusterId cluster) = 0;
  virtual void receive(Message message) = 0;
  virtual void receive_bulk(BulkMessage message) = 0;
  virtual void peer_unreachable(NodeId peer) = 0;  // once, until it is reconnected
  virtual void peer_reconnected(NodeId peer) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Before anything else, with who this server is and where others reach it. `events` outlives the transport's last
  // call.
  virtual void start(const Member& self, PeerEvents& events) = 0;
  // Nothing is called back any more when it returns. Idempotent.
  virtual void stop() = 0;
  // The others of this cluster, with their addresses: reaches out to new ones, lets go of the rest. Who is not among
  // them and speaks to this server is answered all the same: a server that has just been added knows nobody yet. [raft]
  virtual void set_peers(ClusterId cluster, std::vector<Member> peers) = 0;
  // Never block. Dropped while the peer is not reached; what waits for one that is slow is bounded by the core's
  // window.
  virtual void send(Message message) = 0;           // [raft]
  virtual void send_bulk(BulkMessage message) = 0;  // [transfer]; a connection of its own, heartbeats never wait for it
};

}  // namespace drover::raft
