// The check providers of this node, by the types of checks that they run: plugins inside the agent and programs, which
// come and go. [any]
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drover/check_provider.h"
#include "drover/mutex.h"

namespace drover {
class Host;
}

namespace drover::checks {

class Providers {
 public:
  // `changed`: the types may be others; called on any thread, must not wait.
  void start(Host& host, std::function<void()> changed);
  void stop();

  struct Found {
    CheckProvider* provider = nullptr;  // null: nobody runs checks of that type
    std::shared_ptr<const v1::CheckType> type{};
  };
  // One inside the agent goes before a program; of several programs the newest.
  Found find(const std::string& type) const;
  std::vector<std::string> types() const;  // sorted

 private:
  Host* host_ = nullptr;  // constant after start
  mutable Mutex mutex_;
  mutable bool is_stale_ DROVER_GUARDED_BY(mutex_) = true;
  mutable std::map<std::string, Found> found_ DROVER_GUARDED_BY(mutex_);
  std::function<void()> changed_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::checks
