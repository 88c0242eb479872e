// The network mode "bridge" without other programs: a bridge, a wire to each allocation, addresses from the operator's
// subnets, and rules that map ports and masquerade.
//
// A lease per allocation in the plugin's own store is the truth; the packet filter is made from all of them, whole, at
// each change and at the agent's start.
#pragma once

#include "attachment.h"
#include "config.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "native/leases.h"
#include "native/packet_filter.h"

namespace drover::networks {

class Links;

class NativeBridge final : public NetworkKind {
 public:
  // Requires: both outlive it.
  NativeBridge(const Config& config, LocalStore& store) : config_(config), store_(store) {}

  // Reads the leases; puts the rules of those that there are in place. Errors: of the store.
  Status start();

  Status begin(const Wanted& wanted, StoredAttachment& out) override;
  Status attach(const Wanted& wanted, StoredAttachment& out) override;
  Status found(const Wanted& wanted, const StoredAttachment& attachment) override;
  Status detach(const Wanted& wanted, const StoredAttachment& attachment) override;

 private:
  Result<StoredLease> lease_for(const Wanted& wanted) DROVER_REQUIRES(mutex_);
  Status raise_bridge(Links& here) DROVER_REQUIRES(mutex_);
  Status connect(const Wanted& wanted, const StoredLease& lease) DROVER_REQUIRES(mutex_);
  Status release(const std::string& allocation) DROVER_REQUIRES(mutex_);
  Status filter() DROVER_REQUIRES(mutex_);
  void admit() DROVER_REQUIRES(mutex_);
  std::string range_address(const Subnet& subnet, uint32_t number) const;

  const Config& config_;
  LocalStore& store_;
  Mutex mutex_;
  PacketFilter packet_filter_ DROVER_GUARDED_BY(mutex_);
  Leases leases_ DROVER_GUARDED_BY(mutex_);
  uint32_t last_ DROVER_GUARDED_BY(mutex_) = 1;  // number that was given
};

}  // namespace drover::networks
