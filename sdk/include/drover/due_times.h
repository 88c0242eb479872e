// Things that are to be looked at, each at its time: finds those that are due without looking at the others. Pure.
// [owner]
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "drover/clock.h"

namespace drover {

template <typename Name>
class DueTimes {
 public:
  // At that time, or earlier where it is due earlier already.
  void by(const Name& name, SteadyTime when) {
    const auto [at, is_new] = when_.try_emplace(name, when);
    if (!is_new && at->second <= when) return;
    if (!is_new) order_.erase({at->second, name});
    at->second = when;
    order_.emplace(when, name);
  }
  void forget(const Name& name) {
    const auto at = when_.find(name);
    if (at == when_.end()) return;
    order_.erase({at->second, name});
    when_.erase(at);
  }
  void clear() {
    when_.clear();
    order_.clear();
  }

  // The time of the first; nothing when there is none.
  std::optional<SteadyTime> next() const {
    return order_.empty() ? std::nullopt : std::optional(order_.begin()->first);
  }
  // Those due at `now`, by time; they are forgotten.
  std::vector<Name> take(SteadyTime now) {
    std::vector<Name> due;
    while (!order_.empty() && order_.begin()->first <= now) {
      due.push_back(order_.begin()->second);
      when_.erase(due.back());
      order_.erase(order_.begin());
    }
    return due;
  }

 private:
  std::map<Name, SteadyTime> when_;
  std::set<std::pair<SteadyTime, Name>> order_;
};

}  // namespace drover
