// Begins the cluster when the servers that shall form it are there: decide_bootstrap, carried out.
#pragma once

#include <string>
#include <vector>

#include "bootstrap.h"
#include "core.h"
#include "drover/plugin.h"

namespace drover::gossip {

// [gossip]
class Founder {
 public:
  explicit Founder(Host& host) : host_(host) {}

  // Looks at the members, tells the core what this server announces, and begins the cluster once.
  void beat(Core& core);

 private:
  Host& host_;
  SteadyTime next_look_{};
  uint64_t seen_version_ = 0;
  std::vector<RaftServer> announced_;
  std::string last_disagreement_;
  bool has_begun_ = false;
};

}  // namespace drover::gossip
