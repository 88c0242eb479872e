// The types of checks that this node runs, as attributes of the node: "check.http" = "1".
#pragma once

#include "drover/mutex.h"
#include "drover/node_fingerprint.h"
#include "providers.h"

namespace drover::checks {

// [any]
class ChecksFingerprint final : public NodeFingerprint {
 public:
  void start(const Providers& providers) { providers_ = &providers; }
  Status describe(v1::Node& node) override;
  bool refresh(v1::Node& node) override;
  void watch(std::function<void()> changed) override;
  void changed() const;

 private:
  const Providers* providers_ = nullptr;  // constant after start
  mutable Mutex mutex_;
  std::function<void()> changed_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::checks
