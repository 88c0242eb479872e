// A node that the servers know, for tests.
#pragma once

#include "drover/node_calls.h"

namespace drover::testing {

class FakeNode final : public NodeCalls {
 public:
  std::optional<NodeProofOf> proof() const override {
    return NodeProofOf{.id = Uuid::from_bytes(std::string(16, 'n')), .secret = std::string(16, 's'), .name = "n"};
  }
  Variables variables() const override { return {}; }
  CallContext context(std::string method, std::chrono::nanoseconds, std::stop_token stop) const override {
    CallContext context;
    context.method = std::move(method);
    context.stop = std::move(stop);
    return context;
  }
};

}  // namespace drover::testing
