// Evaluations that come later, for allocations that are looked at again: one for all that are due at about the same
// time. Pure.
#pragma once

#include <string>
#include <vector>

#include "placed.h"
#include "reconcile.h"

namespace drover::scheduler {

class FollowUps {
 public:
  FollowUps(const Scheduler::Input& input, Changes& changes) : input_(input), changes_(changes) {}

  void add(const std::vector<Later>& later, const char* trigger, const char* why);
  // Writes the evaluations, and names them in their allocations. True when there is one.
  bool write(const AllocIndex& allocs);

 private:
  struct One {
    Later later;
    const char* trigger;
    const char* why;
  };
  const Scheduler::Input& input_;
  Changes& changes_;
  std::vector<One> all_;
};

}  // namespace drover::scheduler
