// Answers people about host volumes: shows them, has nodes make and delete them, keeps the claims of sticky groups.
#pragma once

#include "drover/plugin.h"
#include "server/rules.h"
#include "server/steps.h"
#include "server/tables.h"

namespace drover::v1 {
class DeleteHostVolumeClaimRequest;
class DeleteHostVolumeClaimResponse;
class DeleteHostVolumeRequest;
class DeleteHostVolumeResponse;
class HostVolumeRequest;
class HostVolumeResponse;
class ListHostVolumeClaimsRequest;
class ListHostVolumeClaimsResponse;
class ListHostVolumesRequest;
class ListHostVolumesResponse;
class ReadHostVolumeRequest;
class ReadHostVolumeResponse;
}  // namespace drover::v1

namespace drover::host_volumes {

class Rpc {
 public:
  Rpc(const Tables& tables, Steps& steps) : tables_(tables), steps_(steps) {}
  Status declare(Declarations& declare);
  void start(Host& host) { host_ = &host; }

  Result<v1::ListHostVolumesResponse> list(const v1::ListHostVolumesRequest& request, Call& call);
  Result<v1::ReadHostVolumeResponse> get(const v1::ReadHostVolumeRequest& request, Call& call);
  Result<v1::HostVolumeResponse> create(const v1::HostVolumeRequest& request, Call& call);
  Result<v1::HostVolumeResponse> register_volume(const v1::HostVolumeRequest& request, Call& call);
  Result<v1::DeleteHostVolumeResponse> erase(const v1::DeleteHostVolumeRequest& request, Call& call);
  Result<v1::ListHostVolumeClaimsResponse> list_claims(const v1::ListHostVolumeClaimsRequest& request, Call& call);
  Result<Write<v1::DeleteHostVolumeClaimResponse>> erase_claim(const v1::DeleteHostVolumeClaimRequest& request,
                                                               Call& call);

 private:
  Result<v1::DynamicHostVolume> find(const ReadView& view, const std::string& name_space, const std::string& id) const;
  Result<v1::HostVolumeResponse> make(const v1::HostVolumeRequest& request, Purpose purpose, Call& call);
  Result<v1::DynamicHostVolume> draft(const v1::DescribedHostVolume& said, Purpose purpose, const ReadView& view) const;
  Status place(const v1::DescribedHostVolume& said, const ReadView& view, v1::DynamicHostVolume& row) const;
  Status begin(const v1::DynamicHostVolume& row, uint64_t term, uint64_t& index);
  Result<uint64_t> forget(const v1::DynamicHostVolume& row, uint64_t term);
  // The row after `index`.
  Result<v1::HostVolumeResponse> answer(const v1::DynamicHostVolume& row, uint64_t index, Call& call) const;

  const Tables& tables_;
  Steps& steps_;
  Host* host_ = nullptr;
};

}  // namespace drover::host_volumes
