// A part of the description of this machine that a plugin knows about: attributes and resources of the node.
//
// Registered as declare.extend<NodeFingerprint>(name, fingerprint).
#pragma once

#include <functional>
#include <string_view>

#include "drover/result.h"

namespace drover::v1 {
class Node;
}

namespace drover {

class NodeFingerprint {
 public:
  static constexpr std::string_view kExtensionPoint = "node_fingerprint";
  virtual ~NodeFingerprint() = default;

  // Adds what it finds to a node that holds what the agent itself has found. Called while the agent starts, after its
  // plugin has started. Errors keep the agent from starting: for what the operator has to put right.
  virtual Status describe(v1::Node& node) = 0;

  // Brings the same up to date while the agent runs: every half minute, and after `changed` of watch(). True when
  // something has changed.
  virtual bool refresh(v1::Node& node) { return (void)node, false; }
  // `changed` has the node described anew; it may be called from any thread and does not wait. An empty one ends it.
  virtual void watch(std::function<void()> changed) { (void)changed; }
};

}  // namespace drover
