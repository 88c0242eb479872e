// The calls of this agent's node to the servers, with its proof of identity: for plugins that say or read something on
// the node's behalf. Provided by the agent; asked for when it is needed, since plugins of hooks start before it. [any]
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "drover/methods.h"
#include "drover/task_environment.h"
#include "drover/uuid.h"

namespace drover {

struct NodeProofOf {
  Uuid id;
  std::string secret;  // what proves it now, an identity or sixteen bytes; never logged
  std::string name;
};

class NodeCalls {
 public:
  static constexpr std::string_view kExtensionPoint = "node_calls";
  virtual ~NodeCalls() = default;
  // Nothing until the servers know the node. Asked for with each call: identities are replaced.
  virtual std::optional<NodeProofOf> proof() const = 0;
  // A context for a call of this node that takes at most so long.
  virtual CallContext context(std::string method, std::chrono::nanoseconds timeout, std::stop_token stop) const = 0;
  // The description of this node, as references in jobs are filled in from: node_variables(). Empty before the start.
  virtual Variables variables() const = 0;
};

// Told of the node's registrations, those after the servers had lost sight of it among them: what the servers keep on
// the node's word may be gone then. Any number of plugins extend it.
class NodeRegistered {
 public:
  static constexpr std::string_view kExtensionPoint = "node_registered";
  virtual ~NodeRegistered() = default;
  // Must not wait. [the agent's thread]
  virtual void registered() = 0;
};

}  // namespace drover
