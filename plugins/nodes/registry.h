// Answers node agents: registering, heartbeats and the identities that go with them; and the leader's watch over who
// stays silent.
#pragma once

#include <atomic>
#include <memory>
#include <random>
#include <stop_token>

#include "drover/mutex.h"
#include "drover/plugin.h"
#include "drover/v1/node_service.pb.h"
#include "heartbeats.h"
#include "introductions.h"
#include "nodes.pb.h"

namespace drover::nodes {

class Registry {
 public:
  Registry(const Table<v1::Node>& nodes, Introductions& introductions)
      : nodes_(nodes), introductions_(introductions) {}
  Status declare(Declarations& declare);
  Status start(Host& host, const HeartbeatOptions& options);
  // Watches deadlines while this server leads.
  void lead(std::stop_token stop);

  // The parts of it: the deadlines of a new leader, and what has become of the nodes whose deadline has passed. The
  // latter returns false when there is none.
  void expect_nodes();
  bool mark_silent();
  // From here on nodes get identities, if every server knows what that is. [lead]
  void begin_identities();

 private:
  struct Given {
    v1::NodeIdentity row;
    std::string token;  // empty: the node keeps the one that it has
  };
  // The change of the node's identity, if there is one. `next`: as it describes itself now.
  std::optional<Given> next_identity(const v1::Node& known, const v1::Node& next, const std::string& shown, bool asks,
                                     const ReadView& view) const;
  int64_t identity_ttl(const v1::Node& node, const ReadView& view) const;
  Result<Write<v1::HeartbeatResponse>> register_node(const v1::RegisterNodeRequest& request, Call& call);
  Result<v1::NodeProofResponse> prove(const v1::NodeProof& request, Call& call);
  Result<Write<v1::HeartbeatResponse>> heartbeat(const v1::HeartbeatRequest& request, Call& call);
  v1::HeartbeatResponse answer(const v1::Node& node, const std::string& identity = "");
  v1::NodeStatusUpdated with_status(const v1::Node& node, v1::NodeStatus status, std::string message,
                                    const ReadView& view) const;
  void invalidate(const std::string& node_id);
  void watch_again(const std::string& node_id);

  const Table<v1::Node>& nodes_;
  Introductions& introductions_;
  Keyring* keys_ = nullptr;  // null: there is none here
  std::atomic<bool> gives_identities_{false};
  TableId node_pools_;
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
