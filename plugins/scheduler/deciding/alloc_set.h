// Allocations of a decision, each at most once: what has been dealt with already. Pure; one owner.
#pragma once

#include <unordered_set>
#include <vector>

#include "disconnects.h"

namespace drover::scheduler {

class AllocSet {
 public:
  AllocSet() = default;
  explicit AllocSet(const Allocs& allocs) : members_(allocs.begin(), allocs.end()) {}
  bool contains(Alloc alloc) const { return members_.contains(alloc); }
  bool insert(Alloc alloc) { return members_.insert(alloc).second; }
  void erase_from(Allocs& allocs) const {
    std::erase_if(allocs, [this](Alloc alloc) { return contains(alloc); });
  }

 private:
  std::unordered_set<Alloc> members_;
};

}  // namespace drover::scheduler
