// Small tasks of one kind that come many at a time: those of a moment become one task of the pool, which wakes one thread
// instead of as many as there are. [any]
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "drover/executor.h"
#include "drover/mutex.h"

namespace drover {

class TaskBatches {
 public:
  // The executor outlives it.
  explicit TaskBatches(Executor& executor) : executor_(executor) {}

  // In the order of the calls on one thread. Where more come than one thread should take alone, others go on beside it.
  void post(std::function<void()> task) {
    std::shared_ptr<Batch> batch;
    {
      const MutexLock lock(shared_->mutex);
      batch = shared_->open.lock();
      if (batch && batch->size() < kMost) return batch->push_back(std::move(task));
      shared_->open = batch = std::make_shared<Batch>(1, std::move(task));
    }
    executor_.post([shared = shared_, batch = std::move(batch)] {
      {
        const MutexLock lock(shared->mutex);
        if (shared->open.lock() == batch) shared->open.reset();
      }
      for (const auto& one : *batch) one();
    });
  }

 private:
  static constexpr size_t kMost = 32;
  using Batch = std::vector<std::function<void()>>;
  struct Shared {
    Mutex mutex;
    std::weak_ptr<Batch> open DROVER_GUARDED_BY(mutex);  // for which a task is on its way
  };

  Executor& executor_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace drover
