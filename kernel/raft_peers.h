// The raft room's transport over the lanes of the wire: greets, decodes, knows who is who. Control and appends have a
// lane each, snapshots a connection of their own, so that heartbeats wait for nobody. Answers go over the answerer's
// own lanes.
//
// [any]
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "drover/wire.h"
#include "kernel/raft/transport.h"

namespace drover {

class RaftPeers final : public raft::Transport, public LaneAcceptor {
 public:
  // The wire is started before start() and outlives the peers' stop().
  explicit RaftPeers(Wire& wire);
  ~RaftPeers() override;  // stops

  void start(const raft::Member& self, raft::PeerEvents& events) override;
  void stop() override;
  void set_peers(raft::ClusterId cluster, std::vector<raft::Member> peers) override;
  void send(raft::Message message) override;
  void send_bulk(raft::BulkMessage message) override;

  // A lane that another server opens here.
  Result<LaneSink> accept(std::string_view greeting) override;

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace drover
