// Answers the calls of servers to this node about volumes: asks the plugins that run here. [any]
#pragma once

#include "drover/leader_terms.h"
#include "drover/plugin.h"
#include "keeper/keeper.h"

namespace drover::v1 {
class CsiAttachRequest;
class CsiAttachResponse;
class CsiCreateRequest;
class CsiCreateResponse;
class CsiCreateSnapshotRequest;
class CsiDeleteRequest;
class CsiDeleteSnapshotRequest;
class CsiDetachRequest;
class CsiDoneResponse;
class CsiExpandRequest;
class CsiExpandResponse;
class CsiListRequest;
class CsiListResponse;
class CsiListSnapshotsRequest;
class CsiListSnapshotsResponse;
class CsiNodeExpandRequest;
class CsiReleaseRequest;
class CsiSnapshotResponse;
class CsiValidateRequest;
}  // namespace drover::v1

namespace drover::mounts {

class NodeRpc {
 public:
  // All outlives it.
  struct Setup {
    Host& host;
    const Instances& instances;
    Turns& turns;
    Keeper& keeper;
  };
  Status declare(Declarations& declare);
  void start(const Setup& setup) { setup_.emplace(setup); }

 private:
  class ControllerCall;

  // Those that a controller answers: controller_calls.cc.
  Result<v1::CsiAttachResponse> attach(const v1::CsiAttachRequest& request, Call& call);
  Result<v1::CsiDoneResponse> detach(const v1::CsiDetachRequest& request, Call& call);
  Result<v1::CsiDoneResponse> validate(const v1::CsiValidateRequest& request, Call& call);
  Result<v1::CsiCreateResponse> create(const v1::CsiCreateRequest& request, Call& call);
  Result<v1::CsiDoneResponse> remove(const v1::CsiDeleteRequest& request, Call& call);
  Result<v1::CsiListResponse> list(const v1::CsiListRequest& request, Call& call);
  Result<v1::CsiExpandResponse> expand(const v1::CsiExpandRequest& request, Call& call);
  Result<v1::CsiSnapshotResponse> create_snapshot(const v1::CsiCreateSnapshotRequest& request, Call& call);
  Result<v1::CsiDoneResponse> remove_snapshot(const v1::CsiDeleteSnapshotRequest& request, Call& call);
  Result<v1::CsiListSnapshotsResponse> list_snapshots(const v1::CsiListSnapshotsRequest& request, Call& call);
  // Those that this node answers itself.
  Result<v1::CsiDoneResponse> release(const v1::CsiReleaseRequest& request, Call& call);
  Result<v1::CsiExpandResponse> expand_here(const v1::CsiNodeExpandRequest& request, Call& call);
  Result<Until> until(const Call& call) const;

  std::optional<Setup> setup_;
  LeaderTerms leaders_;
};

}  // namespace drover::mounts
