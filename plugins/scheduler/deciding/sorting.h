// Allocations in an order of keys. Pure.
#pragma once

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "disconnects.h"
#include "names.h"

namespace drover::scheduler {

// Sorts by keys that are made once each.
template <typename KeyOf>
void sort_by(Allocs& allocs, KeyOf key_of) {
  std::vector<std::pair<decltype(key_of(allocs.front())), Alloc>> keyed;
  keyed.reserve(allocs.size());
  for (Alloc alloc : allocs) keyed.emplace_back(key_of(alloc), alloc);
  if (std::ranges::is_sorted(keyed, {}, [](const auto& one) { return one.first; })) return;
  std::ranges::stable_sort(keyed, {}, [](const auto& one) { return one.first; });
  std::ranges::transform(keyed, allocs.begin(), [](const auto& one) { return one.second; });
}

inline void order_by_name(Allocs& allocs) {
  sort_by(allocs, [](Alloc alloc) {
    return std::tuple(name_index(alloc->name()).value_or(0), alloc->create_index(), std::string_view(alloc->id()));
  });
}

}  // namespace drover::scheduler
