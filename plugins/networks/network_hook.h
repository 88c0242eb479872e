// The hook "networks" of allocations: connects a network that the agent or a driver has made (its hook "network") to a
// bridge of this machine or to a CNI network, tells the tasks its address, and undoes all that when they have ended.
#pragma once

#include <string>

#include "attachment.h"
#include "config.h"
#include "drover/alloc_hook.h"

namespace drover::networks {

struct Kinds {
  NetworkKind& bridge;  // of the mode "bridge", for new allocations
  NetworkKind& cni;
  NetworkKind& native;
};

class NetworkHook final : public AllocHook {
 public:
  // Before the first allocation. All outlive the hook.
  void start(const Config& config, Kinds kinds);

  HookInfo info() const override;
  std::unique_ptr<Part> attach(HookedAlloc& alloc, HookState& state) override;

 private:
  friend class AttachedNetwork;
  const Config* config_ = nullptr;
  std::optional<Kinds> kinds_;
};

}  // namespace drover::networks
