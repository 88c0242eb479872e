// Which numbers of users the tasks of this node have. A number whose task is over is given out again, but not while
// there are others: files of that task may lie about.
//
//   free ──take──▶ a task's ──retire──▶ left over ──the lease goes──▶ free
//                      └──── the lease goes ──────────────────────────▶
//
// Pure, but for its lock. [any]
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "drover/mutex.h"
#include "drover/result.h"
#include "users/user_range.h"

namespace drover::agent {

class UserPool {
 public:
  // One task's hold of a number.
  class Lease {
   public:
    Lease(UserPool& pool, uint32_t id) : pool_(pool), id_(id) {}
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    uint32_t id() const { return id_; }
    // The task is over; what it has written may still be there. Idempotent.
    void retire();

   private:
    UserPool& pool_;
    const uint32_t id_;
    bool is_retired_ = false;
  };

  // The one that was free for longest, as far as this pool knows. Errors: resource_exhausted when tasks have all.
  Result<std::unique_ptr<Lease>> take(const UserRange& range);
  // One that a former agent gave out; it may lie outside the range of today.
  std::unique_ptr<Lease> keep(uint32_t id);

 private:
  struct Use {
    int tasks = 0;     // more than one: a former agent's mistake
    int remains = 0;   // of tasks that are over
  };
  std::optional<uint32_t> find(const UserRange& range, const std::function<bool(const Use&)>& fits) const
      DROVER_REQUIRES(mutex_);
  void change(uint32_t id, int tasks, int remains);

  mutable Mutex mutex_;
  std::map<uint32_t, Use> uses_ DROVER_GUARDED_BY(mutex_);  // of those that are not free
  uint32_t next_ DROVER_GUARDED_BY(mutex_) = 0;             // the first one to be looked at
};

}  // namespace drover::agent
