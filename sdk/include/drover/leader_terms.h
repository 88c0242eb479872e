// A node's memory of who leads its servers, so that an order of a former leader that comes late does nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "drover/result.h"

namespace drover {

// [any]
class LeaderTerms {
 public:
  // `term`: of the server that asks; 0: it does not say, and is obeyed. Errors: aborted, when a later leader has asked
  // already.
  Status heed(uint64_t term) {
    uint64_t latest = latest_.load();
    while (latest < term && !latest_.compare_exchange_weak(latest, term)) {
    }
    if (term == 0 || term >= latest) return ok_status();
    return aborted("the server that asks does not lead any more");
  }

 private:
  std::atomic<uint64_t> latest_{0};
};

}  // namespace drover
