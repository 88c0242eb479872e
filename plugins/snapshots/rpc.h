// The operator's calls: save and restore. One restore at a time. [call threads]
#pragma once

#include <atomic>

#include "drover/api/snapshots.pb.h"
#include "drover/plugin.h"

namespace drover::snapshots {

class Rpc {
 public:
  Status declare(Declarations& declare);
  Status start(Host& host);
  bool is_restoring() const { return is_restoring_; }

 private:
  Status save(const v1::SaveSnapshotRequest& request, Call& call, Replies<v1::SaveSnapshotResponse>& replies);
  Status restore(const v1::RestoreSnapshotRequest& request, Call& call, Replies<v1::RestoreSnapshotResponse>& replies);
  Status receive_and_restore(const v1::RestoreSnapshotRequest& first, Call& call, MessageStream& pieces);

  Host* host_ = nullptr;
  std::string folder_;  // for temporary files
  uint64_t most_bytes_ = 0;
  std::atomic<bool> is_restoring_{false};
};

}  // namespace drover::snapshots
