// Finds nodes that refuse plans again and again: what the servers know of them cannot be right. Pure; one owner.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <string>

#include "drover/clock.h"

namespace drover::scheduler {

struct RejectionOptions {
  bool enabled = false;
  int64_t node_threshold = 100;
  std::chrono::nanoseconds node_window = std::chrono::minutes(5);
};

class Rejections {
 public:
  explicit Rejections(RejectionOptions options) : options_(options) {}

  // A plan's part on the node was refused. True when the node is to be closed for new work: it was refused too often
  // within the window, and not too many nodes were closed lately.
  bool add(const std::string& node_id, SteadyTime now);

 private:
  struct Node {
    std::string id;
    std::deque<SteadyTime> times;
  };
  bool may_close(SteadyTime now);

  const RejectionOptions options_;
  std::list<Node> nodes_;  // the last refused one first; few are kept
  double closings_ = kMostAtOnce;
  SteadyTime counted_{};

  static constexpr size_t kNodes = 50;
  static constexpr double kMostAtOnce = 10;  // nodes that may be closed in a row
  static constexpr double kPerSecond = 5.0 / (30 * 60);
};

}  // namespace drover::scheduler
