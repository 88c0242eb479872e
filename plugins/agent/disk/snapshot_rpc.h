// Answers ClientDisk.Snapshot: sends what allocations of this node leave to their successors elsewhere. Owned by the
// plugin.
#pragma once

#include <atomic>

#include "client.h"
#include "drover/methods.h"

namespace drover::v1 {
class DiskSnapshotPart;
class DiskSnapshotRequest;
}  // namespace drover::v1

namespace drover::agent {

class SnapshotRpc {
 public:
  // Before this the handler answers unavailable. Requires: it outlives every call.
  void attach(const Client& client);

  // Errors: not_found; permission_denied for a node that runs no successor of the allocation.
  Status snapshot(const v1::DiskSnapshotRequest& request, Call& call, Replies<v1::DiskSnapshotPart>& replies);

 private:
  std::atomic<const Client*> client_{nullptr};
};

}  // namespace drover::agent
