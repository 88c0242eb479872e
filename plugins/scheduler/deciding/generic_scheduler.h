// The schedulers of service and batch jobs: reconciles, then places. Pure.
#pragma once

#include "drover/scheduler.h"

namespace drover::scheduler {

class GenericScheduler final : public Scheduler {
 public:
  // Batch jobs end: what completed is done, and fewer conflicts are worth another try.
  explicit GenericScheduler(bool is_batch) : is_batch_(is_batch) {}

  Decision decide(const Input& input, Board& board) const override;
  int attempts() const override { return is_batch_ ? 2 : 5; }

 private:
  const bool is_batch_;
};

}  // namespace drover::scheduler
