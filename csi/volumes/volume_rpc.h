// Answers people about volumes: shows them, makes them known, has their storage create, change and delete them.
#pragma once

#include <optional>
#include <string>

#include "controllers.h"
#include "drover/keyring.h"
#include "drover/plugin.h"
#include "secrets.h"
#include "tables.h"

namespace drover::v1 {
class CreateSnapshotsRequest;
class CsiPluginRequest;
class CsiPluginResponse;
class DeleteSnapshotRequest;
class DeleteVolumeRequest;
class DeregisterVolumeRequest;
class DetachVolumeRequest;
class ExplainVolumeResponse;
class ListCsiPluginsRequest;
class ListCsiPluginsResponse;
class ListExternalVolumesRequest;
class ListExternalVolumesResponse;
class ListSnapshotsRequest;
class ListSnapshotsResponse;
class ListVolumesRequest;
class ListVolumesResponse;
class ReadVolumeRequest;
class ReadVolumeResponse;
class SnapshotsResponse;
class Volume;
class VolumeDoneResponse;
class VolumeSnapshot;
class VolumesRequest;
class VolumesResponse;
}  // namespace drover::v1

namespace drover::volumes {

class VolumeRpc {
 public:
  explicit VolumeRpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  void start(Host& host, Keyring& keys);

  Result<v1::ListVolumesResponse> list(const v1::ListVolumesRequest& request, Call& call);
  Result<v1::ReadVolumeResponse> get(const v1::ReadVolumeRequest& request, Call& call);
  Result<v1::ExplainVolumeResponse> explain(const v1::ReadVolumeRequest& request, Call& call);
  Result<v1::VolumesResponse> register_volumes(const v1::VolumesRequest& request, Call& call);
  Result<v1::VolumesResponse> create(const v1::VolumesRequest& request, Call& call);
  Result<Write<v1::VolumeDoneResponse>> deregister(const v1::DeregisterVolumeRequest& request, Call& call);
  Result<v1::VolumeDoneResponse> erase(const v1::DeleteVolumeRequest& request, Call& call);
  Result<Write<v1::VolumeDoneResponse>> detach(const v1::DetachVolumeRequest& request, Call& call);
  Result<v1::ListExternalVolumesResponse> list_external(const v1::ListExternalVolumesRequest& request, Call& call);
  Result<v1::SnapshotsResponse> create_snapshots(const v1::CreateSnapshotsRequest& request, Call& call);
  Result<v1::ListSnapshotsResponse> list_snapshots(const v1::ListSnapshotsRequest& request, Call& call);
  Result<v1::VolumeDoneResponse> delete_snapshot(const v1::DeleteSnapshotRequest& request, Call& call);

  Result<v1::ListCsiPluginsResponse> list_plugins(const v1::ListCsiPluginsRequest& request, Call& call);
  Result<v1::CsiPluginResponse> get_plugin(const v1::CsiPluginRequest& request, Call& call);

 private:
  // A volume on its way into the state.
  struct Draft;

  Result<v1::CsiVolume> find(const ReadView& view, const std::string& name_space, const std::string& id) const;
  Result<Draft> draft(const v1::Volume& said, bool creates, Call& call) const;
  Status add_secrets(const v1::Volume& said, Draft& draft) const;
  Status validate(const Draft& draft, Call& call) const;
  Status expand(Draft& draft, Call& call) const;
  Status expand_on_nodes(const Draft& draft, Call& call) const;
  Status create_at_storage(Draft& draft, const v1::Volume& said, Call& call) const;
  Result<v1::VolumeSnapshot> snapshot(const v1::VolumeSnapshot& said, Call& call) const;
  Result<uint64_t> put(std::span<const Draft> drafts, uint64_t term, Call& call) const;
  Controllers controllers() const { return Controllers(*host_, tables_); }

  const Tables& tables_;
  Host* host_ = nullptr;
  Keyring* keys_ = nullptr;
};

}  // namespace drover::volumes
