// The raft room's transport: one-way streams to each peer, over gRPC. Control and appends have a stream each, snapshots
// a connection of their own, so that heartbeats wait for nobody. Answers go over the answerer's own streams.
//
//   idle ──connect──▶ greeting ──welcome──▶ open ──broken──▶ idle, again after 50 ms … 1 s
//
// [any]
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "drover/clock.h"
#include "kernel/raft/transport.h"
#include "kernel/rpc/pool.h"
#include "kernel/rpc/tls.h"

namespace drover::rpc {

class ServerStream;

class GrpcPeers final : public raft::Transport {
 public:
  // The pool outlives the peers and runs until after stop().
  GrpcPeers(Pool& pool, Clock& clock, std::optional<Tls> tls);
  ~GrpcPeers() override;  // stops

  void start(const raft::Member& self, raft::PeerEvents& events) override;
  void stop() override;
  void set_peers(raft::ClusterId cluster, std::vector<raft::Member> peers) override;
  void send(raft::Message message) override;
  void send_bulk(raft::BulkMessage message) override;

  // A stream that another server opened here.
  void accept(std::shared_ptr<ServerStream> stream);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace drover::rpc
