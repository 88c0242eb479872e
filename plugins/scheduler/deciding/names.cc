#include "names.h"

#include <charconv>

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

void NameIndex::take(const Allocs& allocs) {
  for (const v1::Allocation* alloc : allocs) {
    if (const auto index = name_index(alloc->name())) taken_.insert(*index);
  }
}

void NameIndex::release(const std::string& name) {
  if (const auto index = name_index(name)) taken_.erase(*index);
}

std::vector<std::string> NameIndex::next(int64_t number) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count_ && number > 0; ++i) {
    if (!taken_.insert(i).second) continue;
    names.push_back(name(i));
    --number;
  }
  for (int64_t i = 0; i < number; ++i) {
    names.push_back(name(i));
    taken_.insert(i);
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
    taken_.insert(index);
    --number;
  };
  for (const int64_t index : preferred) use(index);
  for (int64_t i = 0; i < count_ && number > 0; ++i) {
    if (!taken_.contains(i)) use(i);
  }
  for (int64_t i = count_; number > 0; ++i) use(i);
  return names;
}

std::set<std::string> NameIndex::highest(int64_t number) {
  std::set<std::string> names;
  while (number-- > 0 && !taken_.empty()) {
    const auto last = std::prev(taken_.end());
    names.insert(name(*last));
    taken_.erase(last);
  }
  return names;
}

}  // namespace drover::scheduler
