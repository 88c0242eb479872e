// Answers node agents: registering and heartbeats, and the leader's watch over who stays silent.
#pragma once

#include <memory>
#include <random>
#include <stop_token>

#include "drover/mutex.h"
#include "drover/plugin.h"
#include "drover/v1/node_service.pb.h"
#include "heartbeats.h"
#include "nodes.pb.h"

namespace drover::nodes {

class Registry {
 public:
  explicit Registry(const Table<v1::Node>& nodes) : nodes_(nodes) {}
  Status declare(Declarations& declare);
  Status start(Host& host, const HeartbeatOptions& options);
  // Watches deadlines while this server leads.
  void lead(std::stop_token stop);

  // The parts of it: the deadlines of a new leader, and what has become of the nodes whose deadline has passed. The
  // latter returns false when there is none.
  void expect_nodes();
  bool mark_silent();

 private:
  Result<Write<v1::HeartbeatResponse>> register_node(const v1::RegisterNodeRequest& request, Call& call);
  Result<v1::NodeProofResponse> prove(const v1::NodeProof& request, Call& call);
  Result<Write<v1::HeartbeatResponse>> heartbeat(const v1::HeartbeatRequest& request, Call& call);
  v1::HeartbeatResponse answer(const v1::Node& node);
  v1::NodeStatusUpdated with_status(const v1::Node& node, v1::NodeStatus status, std::string message,
                                    const ReadView& view) const;
  void invalidate(const std::string& node_id);
  void watch_again(const std::string& node_id);

  const Table<v1::Node>& nodes_;
  TableId allocs_;
  TableId jobs_;
  TableId job_versions_;
  Host* host_ = nullptr;

  Mutex mutex_;
  CondVarAny changed_;
  std::optional<Heartbeats> heartbeats_ DROVER_GUARDED_BY(mutex_);
  std::minstd_rand random_ DROVER_GUARDED_BY(mutex_){std::random_device{}()};
};

}  // namespace drover::nodes
