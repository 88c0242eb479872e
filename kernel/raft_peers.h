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
  // The wire is started before start() and outlives the peers' stop(). `commands`: what this server can apply.
  RaftPeers(Wire& wire, std::vector<std::string> commands);
  ~RaftPeers() override;  // stops

  void start(const raft::Member& self, raft::PeerEvents& events) override;
  void stop() override;
  void set_peers(raft::ClusterId cluster, std::vector<raft::Member> peers) override;
  // Opens the stream of entries to a server that hangs anew; entries that were on their way are sent again.
  void renew_appends(raft::NodeId peer);
  void send(raft::Message message) override;
  void send_bulk(raft::BulkMessage message) override;

  // A lane that another server opens here.
  Result<LaneSink> accept(std::string_view greeting) override;

  // The address of a member that was last met without this command; empty when none was. Such a server would have to
  // end at the command (design: a mixed cluster never diverges).
  std::string who_lacks(std::string_view command) const;

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace drover
