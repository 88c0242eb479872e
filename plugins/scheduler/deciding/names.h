// The names of a group's allocations: which are taken, and which come next. Pure; one owner.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drover::v1 {
class Allocation;
}

namespace drover::scheduler {

// "job.group[7]" → 7; nothing when the name is not of that form.
std::optional<int64_t> name_index(std::string_view name);
std::string alloc_name(std::string_view job_id, std::string_view group, int64_t index);

class NameIndex {
 public:
  using Allocs = std::vector<const v1::Allocation*>;

  NameIndex(std::string_view job_id, std::string_view group, int64_t count) : count_(count) {
    prefix_.append(job_id).append(".").append(group);
  }

  void take(const Allocs& allocs);
  void release(const std::string& name);

  // Takes free names below the count, the lowest first; when there are none left, again from 0.
  std::vector<std::string> next(int64_t number);
  // Takes names for canaries: of allocations that they will replace, then free ones, then from the count on.
  std::vector<std::string> next_canaries(int64_t number, const Allocs& canaries, const Allocs& replaced);
  // Releases the highest taken names, and returns them.
  std::set<std::string> highest(int64_t number);

 private:
  static constexpr int64_t kFew = 1 << 20;  // indexes below stand in a bitmap

  std::string name(int64_t index) const { return prefix_ + "[" + std::to_string(index) + "]"; }
  bool is_taken(int64_t index) const;
  // False when it was taken already.
  bool take(int64_t index);
  void release(int64_t index);

  std::string prefix_;
  int64_t count_;
  std::vector<bool> low_;   // taken ones
  std::set<int64_t> high_;  // the same
};

}  // namespace drover::scheduler
