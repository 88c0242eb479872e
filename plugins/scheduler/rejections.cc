#include "rejections.h"

#include <algorithm>

namespace drover::scheduler {

bool Rejections::add(const std::string& node_id, SteadyTime now) {
  if (!options_.enabled) return false;
  auto at = std::ranges::find(nodes_, node_id, &Node::id);
  if (at == nodes_.end()) {
    nodes_.push_front({.id = node_id, .times = {}});
    if (nodes_.size() > kNodes) nodes_.pop_back();
  } else {
    nodes_.splice(nodes_.begin(), nodes_, at);
  }
  std::deque<SteadyTime>& times = nodes_.front().times;
  while (!times.empty() && now - times.front() > options_.node_window) times.pop_front();
  times.push_back(now);
  if (static_cast<int64_t>(times.size()) < options_.node_threshold || !may_close(now)) return false;
  nodes_.pop_front();
  return true;
}

bool Rejections::may_close(SteadyTime now) {
  const std::chrono::duration<double> passed = now - counted_;
  closings_ = std::min(kMostAtOnce, closings_ + passed.count() * kPerSecond);
  counted_ = now;
  if (closings_ < 1) return false;
  closings_ -= 1;
  return true;
}

}  // namespace drover::scheduler
