// When a server without a leader looks for others in Consul. Pure: time comes in.
//
//   leader known ──▶ quiet for kPatience ──no leader──▶ looks ──joined──▶ quiet for kPatience
//                                                          └ nobody, an error ──▶ quiet for kRetry, and up to half more
//
// A server that is part of no cluster yet looks at once.
#pragma once

#include <chrono>

#include "drover/clock.h"

namespace drover::consul {

class JoinTurns {
 public:
  static constexpr std::chrono::seconds kPatience{15}, kRetry{45};

  // True: look now. `found` is to follow.
  bool is_due(bool has_leader, bool is_member, SteadyTime now);
  // `chance`: from 0 to 1.
  void found(bool has_joined, double chance, SteadyTime now);

 private:
  SteadyTime not_before_{};
};

}  // namespace drover::consul
