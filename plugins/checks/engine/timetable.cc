#include "engine/timetable.h"

namespace drover::checks {
namespace {

// `time`, up to `part` of it earlier or later.
std::chrono::nanoseconds spread(std::chrono::nanoseconds time, double part, double chance) {
  const double factor = 1 + part * (2 * chance - 1);
  return std::chrono::nanoseconds(static_cast<int64_t>(static_cast<double>(time.count()) * factor));
}

}  // namespace

std::chrono::nanoseconds first_delay(std::chrono::nanoseconds interval, double chance) {
  return spread(interval / 2, 0.2, chance);
}

std::chrono::nanoseconds next_delay(std::chrono::nanoseconds interval, double chance) {
  return spread(interval, 0.05, chance);
}

void Timetable::put(uint64_t key, SteadyTime at) {
  remove(key);
  times_[key] = at;
  order_.emplace(at, key);
}

void Timetable::remove(uint64_t key) {
  const auto at = times_.find(key);
  if (at == times_.end()) return;
  order_.erase({at->second, key});
  times_.erase(at);
}

std::vector<uint64_t> Timetable::take_due(SteadyTime now, size_t most) {
  std::vector<uint64_t> due;
  while (due.size() < most && !order_.empty() && order_.begin()->first <= now) {
    due.push_back(order_.begin()->second);
    times_.erase(order_.begin()->second);
    order_.erase(order_.begin());
  }
  return due;
}

std::optional<SteadyTime> Timetable::next() const {
  return order_.empty() ? std::nullopt : std::optional(order_.begin()->first);
}

}  // namespace drover::checks
