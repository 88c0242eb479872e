#include "heartbeats.h"

#include <algorithm>

namespace drover::nodes {

std::chrono::nanoseconds Heartbeats::heard(const std::string& node, SteadyTime now, double random) {
  const auto by_rate = std::chrono::nanoseconds(
      static_cast<int64_t>(static_cast<double>(deadlines_.size()) / options_.max_per_second * 1e9));
  const auto base = std::max(options_.minimum_ttl, by_rate);
  const auto ttl = base + std::chrono::nanoseconds(static_cast<int64_t>(static_cast<double>(base.count()) * random));
  deadlines_[node] = now + ttl + options_.grace;
  return ttl;
}

void Heartbeats::expect(const std::string& node, SteadyTime now) {
  deadlines_.emplace(node, now + options_.failover_ttl);
}

std::vector<std::string> Heartbeats::expired(SteadyTime now) {
  std::vector<std::string> nodes;
  for (const auto& [node, deadline] : deadlines_) {
    if (deadline <= now) nodes.push_back(node);
  }
  for (const std::string& node : nodes) deadlines_.erase(node);
  return nodes;
}

std::optional<SteadyTime> Heartbeats::next_deadline() const {
  std::optional<SteadyTime> next;
  for (const auto& [node, deadline] : deadlines_) next = next ? std::min(*next, deadline) : deadline;
  return next;
}

}  // namespace drover::nodes
