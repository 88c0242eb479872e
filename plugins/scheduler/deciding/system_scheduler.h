// The schedulers of system and sysbatch jobs: each node is a place of its own. Pure.
#pragma once

#include "drover/scheduler.h"

namespace drover::scheduler {

class SystemScheduler final : public Scheduler {
 public:
  // Sysbatch jobs end: a node that has done its part is left alone, and fewer conflicts are worth another try.
  explicit SystemScheduler(bool is_sysbatch) : is_sysbatch_(is_sysbatch) {}

  Decision decide(const Input& input, Board& board) const override;
  int attempts() const override { return is_sysbatch_ ? 2 : 5; }
  bool waits_after_conflicts() const override { return false; }

 private:
  const bool is_sysbatch_;
};

}  // namespace drover::scheduler
