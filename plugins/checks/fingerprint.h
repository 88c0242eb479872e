// The types of checks that this node runs, as attributes of the node: "check.http" = "1".
#pragma once

#include "drover/mutex.h"
#include "drover/node_fingerprint.h"
#include "drover/task_environment.h"
#include "providers.h"

namespace drover {
class Host;
}

namespace drover::checks {

// [any]
class ChecksFingerprint final : public NodeFingerprint {
 public:
  void start(const Host& host, const Providers& providers);
  Status describe(v1::Node& node) override;
  bool refresh(v1::Node& node) override;
  void watch(std::function<void()> changed) override;
  void changed() const;

  // node_variables() of the node as it was described last.
  Variables variables() const;

 private:
  const Providers* providers_ = nullptr;  // constant after start
  std::string region_;
  mutable Mutex mutex_;
  std::function<void()> changed_ DROVER_GUARDED_BY(mutex_);
  Variables variables_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::checks
