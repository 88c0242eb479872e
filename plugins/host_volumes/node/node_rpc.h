// Answers the calls of servers to this node about host volumes. [any]
#pragma once

#include "drover/plugin.h"
#include "node/made_volumes.h"

namespace drover::v1 {
class DeleteNodeHostVolumeRequest;
class DeleteNodeHostVolumeResponse;
class MakeHostVolumeRequest;
class MakeHostVolumeResponse;
}  // namespace drover::v1

namespace drover::host_volumes {

class NodeRpc {
 public:
  explicit NodeRpc(MadeVolumes& volumes) : volumes_(volumes) {}
  Status declare(Declarations& declare);

  Result<v1::MakeHostVolumeResponse> make(const v1::MakeHostVolumeRequest& request, Call& call);
  Result<v1::DeleteNodeHostVolumeResponse> erase(const v1::DeleteNodeHostVolumeRequest& request, Call& call);

 private:
  MadeVolumes& volumes_;
};

}  // namespace drover::host_volumes
