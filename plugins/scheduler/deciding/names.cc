#include "names.h"

#include <charconv>
#include <iterator>

#include "drover/v1/allocation.pb.h"

namespace drover::scheduler {

std::optional<int64_t> name_index(std::string_view name) {
  const size_t open = name.rfind('[');
  if (open == std::string_view::npos || !name.ends_with(']')) return std::nullopt;
  int64_t index = 0;
  const char* last = name.data() + name.size() - 1;
  auto [end, error] = std::from_chars(name.data() + open + 1, last, index);
  if (error != std::errc() || end != last || index < 0) return std::nullopt;
  return index;
}

std::string alloc_name(std::string_view job_id, std::string_view group, int64_t index) {
  return std::string(job_id) + "." + std::string(group) + "[" + std::to_string(index) + "]";
}

bool NameIndex::is_taken(int64_t index) const {
  if (index >= kFew) return high_.contains(index);
  return static_cast<size_t>(index) < low_.size() && low_[static_cast<size_t>(index)];
}

bool NameIndex::take(int64_t index) {
  if (index >= kFew) return high_.insert(index).second;
  if (is_taken(index)) return false;
  const auto at = static_cast<size_t>(index);
  if (at >= low_.size()) low_.resize(at + 1);
  return low_[at] = true;
}

void NameIndex::release(int64_t index) {
  high_.erase(index);
  if (index < kFew && is_taken(index)) low_[static_cast<size_t>(index)] = false;
}

void NameIndex::take(const Allocs& allocs) {
  for (const v1::Allocation* alloc : allocs) {
    if (const auto index = name_index(alloc->name())) take(*index);
  }
}

void NameIndex::release(const std::string& name) {
  if (const auto index = name_index(name)) release(*index);
}

std::vector<std::string> NameIndex::next(int64_t number) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count_ && number > 0; ++i) {
    if (!take(i)) continue;
    names.push_back(name(i));
    --number;
  }
  for (int64_t i = 0; i < number; ++i) {
    names.push_back(name(i));
    take(i);
  }
  return names;
}

std::vector<std::string> NameIndex::next_canaries(int64_t number, const Allocs& canaries, const Allocs& replaced) {
  std::set<int64_t> used;  // by canaries
  for (const v1::Allocation* canary : canaries) used.insert(name_index(canary->name()).value_or(-1));
  std::set<int64_t> preferred;
  for (const v1::Allocation* alloc : replaced) {
    if (const auto index = name_index(alloc->name())) preferred.insert(*index);
  }
  std::vector<std::string> names;
  const auto use = [&](int64_t index) {
    if (number == 0 || !used.insert(index).second) return;
    names.push_back(name(index));
    take(index);
    --number;
  };
  for (const int64_t index : preferred) use(index);
  for (int64_t i = 0; i < count_ && number > 0; ++i) {
    if (!is_taken(i)) use(i);
  }
  for (int64_t i = count_; number > 0; ++i) use(i);
  return names;
}

std::set<std::string> NameIndex::highest(int64_t number) {
  std::set<std::string> names;
  while (number > 0 && !high_.empty()) {
    const auto last = std::prev(high_.end());
    names.insert(name(*last));
    high_.erase(last);
    --number;
  }
  for (auto i = static_cast<int64_t>(low_.size()) - 1; i >= 0 && number > 0; --i) {
    if (!is_taken(i)) continue;
    names.insert(name(i));
    release(i);
    --number;
  }
  return names;
}

}  // namespace drover::scheduler
