// This node's metadata, which can be changed while the agent runs and keeps its changes over restarts.
//
//   Apply ──▶ the agent's disk ──▶ changed ──▶ the node registers anew ──▶ constraints see it
//
// Owned by the plugin. [any]
#pragma once

#include <functional>
#include <string>

#include "agent_store.h"
#include "drover/methods.h"
#include "drover/mutex.h"
#include "node_meta/meta_change.h"

namespace drover::v1 {
class ApplyNodeMetaRequest;
class NodeMetaRequest;
class NodeMetaResponse;
}  // namespace drover::v1

namespace drover::agent {

class NodeMeta {
 public:
  // `changed`: may not block. Before this the handlers answer unavailable. Errors: those of the store.
  Status open(AgentStore& store, Variables configured, std::function<void()> changed);

  // The configuration with the changes applied.
  Variables all() const;

  Result<v1::NodeMetaResponse> read(const v1::NodeMetaRequest& request, Call& call);
  Result<v1::NodeMetaResponse> apply(const v1::ApplyNodeMetaRequest& request, Call& call);

 private:
  v1::NodeMetaResponse response() const DROVER_REQUIRES(mutex_);

  mutable Mutex mutex_;
  AgentStore* store_ DROVER_GUARDED_BY(mutex_) = nullptr;
  std::function<void()> changed_ DROVER_GUARDED_BY(mutex_);
  Variables configured_ DROVER_GUARDED_BY(mutex_);
  MetaChanges changes_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::agent
