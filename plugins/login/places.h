// Places for logins that wait for a plugin. Each holds a thread; one method whose provider is slow leaves room for the
// others.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "drover/mutex.h"
#include "drover/result.h"

namespace drover::login {

// [any]
class Places {
 public:
  static constexpr int kMost = 64;
  static constexpr int kMostOfOne = 16;  // of one method

  // The place is free again when the last copy of the answer is gone. Errors: resource_exhausted. Requires: this
  // outlives the answer.
  Result<std::shared_ptr<void>> take(const std::string& method) {
    {
      const MutexLock lock(mutex_);
      const auto at = taken_.find(method);
      if (all_ >= kMost || (at != taken_.end() && at->second >= kMostOfOne))
        return resource_exhausted("too many logins at once; try again later");
      ++all_;
      ++taken_[method];
    }
    return std::shared_ptr<void>(nullptr, [this, method](void*) { leave(method); });
  }

 private:
  void leave(const std::string& method) {
    const MutexLock lock(mutex_);
    --all_;
    const auto at = taken_.find(method);
    if (--at->second == 0) taken_.erase(at);
  }

  Mutex mutex_;
  int all_ DROVER_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int> taken_ DROVER_GUARDED_BY(mutex_);  // by method; none of them is 0
};

}  // namespace drover::login
