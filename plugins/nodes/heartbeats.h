// The nodes that are alive. Kept by the leader, outside the log: a node silent past its deadline is reported once.
//
// Pure: time comes in with each call. Owned by one thread at a time.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drover/clock.h"

namespace drover::nodes {

struct HeartbeatOptions {
  std::chrono::nanoseconds minimum_ttl = std::chrono::seconds(10);
  double max_per_second = 50;  // heartbeats that this leader wants to receive at most
  std::chrono::nanoseconds grace = std::chrono::seconds(10);
  std::chrono::nanoseconds failover_ttl = std::chrono::seconds(300);
};

class Heartbeats {
 public:
  explicit Heartbeats(const HeartbeatOptions& options) : options_(options) {}

  // The node was heard. Returns how long it may stay silent: longer the more nodes there are, spread by `random` in
  // [0, 1) so that they do not beat in step.
  std::chrono::nanoseconds heard(const std::string& node, SteadyTime now, double random);
  // A new leader gives every node it knows of a long first deadline.
  void expect(const std::string& node, SteadyTime now);
  void forget(const std::string& node) { deadlines_.erase(node); }

  // The nodes whose deadline has passed; each is reported once.
  std::vector<std::string> expired(SteadyTime now);
  std::optional<SteadyTime> next_deadline() const;
  size_t size() const { return deadlines_.size(); }

 private:
  const HeartbeatOptions options_;
  std::map<std::string, SteadyTime> deadlines_;
};

}  // namespace drover::nodes
