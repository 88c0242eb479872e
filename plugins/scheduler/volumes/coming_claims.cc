#include "volumes/coming_claims.h"

#include <algorithm>

#include "drover/model/csi_volume.h"
#include "drover/v1/allocation.pb.h"

namespace drover::scheduler {

bool wants_storage(const v1::TaskGroup& group) {
  return std::ranges::any_of(group.volumes(), [](const auto& volume) { return volume.second.type() == "csi"; });
}

bool has_own_volumes(const v1::TaskGroup& group) {
  return std::ranges::any_of(group.volumes(), [](const auto& volume) { return volume.second.per_alloc(); });
}

std::vector<v1::CsiClaim> claims_of(const v1::TaskGroup& group, const v1::Allocation& alloc) {
  std::vector<v1::CsiClaim> claims;
  for (const auto& [name, request] : group.volumes()) {
    if (request.type() != "csi") continue;
    v1::CsiClaim& claim = claims.emplace_back();
    claim.set_namespace_(alloc.namespace_());
    claim.set_volume_id(csi_volume_id(request, alloc.name()));
    claim.set_alloc_id(alloc.id());
    claim.set_job_id(alloc.job_id());
    claim.set_node_id(alloc.node_id());
    claim.set_read_only(request.read_only());
    claim.set_access_mode(request.access_mode());
    claim.set_attachment_mode(request.attachment_mode());
  }
  return claims;
}

void ComingClaims::put_job(const v1::Job& version) {
  Groups groups;
  for (const v1::TaskGroup& group : version.task_groups()) {
    if (!wants_storage(group)) continue;
    v1::TaskGroup& kept = groups[group.name()];
    kept.set_name(group.name());
    *kept.mutable_volumes() = group.volumes();
  }
  if (!groups.empty()) jobs_[{version.namespace_(), version.id(), version.version()}] = std::move(groups);
}

void ComingClaims::erase_job(const v1::Job& version) {
  if (!jobs_.empty()) jobs_.erase({version.namespace_(), version.id(), version.version()});
}

ComingClaims::ByVolume& ComingClaims::edit() {
  if (std::exchange(is_shared_, false)) coming_ = std::make_shared<ByVolume>(*coming_);
  return *coming_;
}

void ComingClaims::put(const v1::Allocation& alloc) {
  if (jobs_.empty()) return;
  const auto job = jobs_.find({alloc.namespace_(), alloc.job_id(), alloc.job_version()});
  if (job == jobs_.end()) return;
  const auto group = job->second.find(alloc.task_group());
  if (group == job->second.end()) return;
  erase(alloc.id());
  for (v1::CsiClaim& claim : claims_of(group->second, alloc)) {
    const Volume volume{claim.namespace_(), claim.volume_id()};
    volumes_[alloc.id()].push_back(volume);
    edit()[volume].push_back(std::move(claim));
  }
}

void ComingClaims::erase_from(const Volume& volume, const std::string& alloc_id) {
  ByVolume& coming = edit();
  const auto at = coming.find(volume);
  if (at == coming.end()) return;
  std::erase_if(at->second, [&](const v1::CsiClaim& claim) { return claim.alloc_id() == alloc_id; });
  if (at->second.empty()) coming.erase(at);
}

void ComingClaims::erase(const std::string& alloc_id) {
  if (volumes_.empty()) return;
  const auto at = volumes_.find(alloc_id);
  if (at == volumes_.end()) return;
  for (const Volume& volume : at->second) erase_from(volume, alloc_id);
  volumes_.erase(at);
}

void ComingClaims::made(const v1::CsiClaim& claim) {
  const auto at = volumes_.find(claim.alloc_id());
  if (at == volumes_.end()) return;
  const Volume volume{claim.namespace_(), claim.volume_id()};
  if (std::erase(at->second, volume) > 0) erase_from(volume, claim.alloc_id());
  if (at->second.empty()) volumes_.erase(at);
}

void ComingClaims::clear_but(const std::set<std::string>& alloc_ids) {
  jobs_.clear();
  std::vector<std::string> gone;
  for (const auto& [id, volumes] : volumes_) {
    if (!alloc_ids.contains(id)) gone.push_back(id);
  }
  for (const std::string& id : gone) erase(id);
}

}  // namespace drover::scheduler
