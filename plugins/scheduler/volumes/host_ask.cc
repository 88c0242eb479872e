#include "volumes/host_ask.h"

#include <algorithm>
#include <map>

#include "drover/model/csi_volume.h"
#include "drover/model/host_volume.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "placing/cluster.h"

namespace drover::scheduler {
namespace {

using Kind = VolumeProblem::Kind;

Kind kind_of(HostVolumeFit fit) {
  return fit == HostVolumeFit::wrong_capability ? Kind::host_capability : Kind::host_mode;
}

bool writes(const v1::VolumeRequest& request) { return !request.read_only(); }

}  // namespace

HostVolumeAsk::HostVolumeAsk(const v1::Job& job, const v1::TaskGroup& group, Storage* storage)
    : job_(job), group_(group), storage_(storage) {
  std::map<std::string, const v1::VolumeRequest*> sorted;
  bool is_sticky = false;
  for (const auto& [name, request] : group.volumes()) {
    if (request.type() != "host") continue;
    sorted[name] = &request;
    is_sticky = is_sticky || request.sticky();
  }
  // A cluster without dynamic volumes has nothing that is sticky either, so such a group is asked about all the same.
  if (sorted.empty() || !storage || (!is_sticky && !storage->has_host_volumes())) return;
  for (const auto& [name, request] : sorted) requests_.push_back(request);
  if (is_sticky) claims_ = storage->sticky_claims(job.namespace_(), job.id(), group.name());
}

// Claims on volumes that are gone bind nobody.
std::set<std::string> HostVolumeAsk::find_owed() const {
  std::set<std::string> owed;
  for (const v1::HostVolumeClaim& claim : claims_) {
    const v1::DynamicHostVolume* volume = storage_->host_volume(job_.namespace_(), claim.volume_id());
    if (volume && !storage_->runs_on(volume->node_id(), job_, group_.name())) owed.insert(volume->id());
  }
  return owed;
}

bool HostVolumeAsk::ask_for(std::string_view alloc_name) {
  if (empty()) return false;
  const bool has_own =
      std::ranges::any_of(requests_, [](const v1::VolumeRequest* request) { return request->per_alloc(); });
  std::set<std::string> owed = find_owed();
  const bool is_other = owed != owed_ || (has_own && alloc_name_ != alloc_name);
  owed_ = std::move(owed);
  alloc_name_ = alloc_name;
  return is_other;
}

std::optional<VolumeProblem> HostVolumeAsk::check(const v1::VolumeRequest& request, const v1::Node& node) const {
  VolumeProblem problem{
      .kind = Kind::host_missing, .volume = csi_volume_id(request, alloc_name_), .reads = request.read_only()};
  const auto refuse = [&](Kind kind) {
    problem.kind = kind;
    return problem;
  };
  const auto offered = node.host_volumes().find(problem.volume);
  if (offered == node.host_volumes().end()) return std::nullopt;  // a question of kinds of nodes
  if (offered->second.id().empty()) {
    if (request.sticky()) return refuse(Kind::host_not_dynamic);
    return std::nullopt;
  }
  const v1::DynamicHostVolume* volume = storage_->host_volume(job_.namespace_(), offered->second.id());
  if (!volume) return problem;  // of another namespace, or forgotten
  if (host_volume_state(*volume, &node) != HostVolumeState::ready) return refuse(Kind::host_not_ready);
  if (const HostVolumeFit fit = host_volume_fit(*volume, request); fit != HostVolumeFit::fits)
    return refuse(kind_of(fit));
  if (writes(request)) {
    if (const auto holder = storage_->writer_beside(node.id(), *volume, is_sole_writer(request))) {
      problem.holder = holder->id;
      problem.holder_job = holder->job_id;
      return refuse(Kind::host_writer);
    }
  }
  if (request.sticky() && !owed_.empty() && !owed_.contains(volume->id())) return refuse(Kind::host_sticky);
  return std::nullopt;
}

std::optional<VolumeProblem> HostVolumeAsk::check(const v1::Node& node) {
  for (const v1::VolumeRequest* request : requests_) {
    auto problem = check(*request, node);
    if (!problem) continue;
    lacking_.insert(problem->volume);
    return problem;
  }
  return std::nullopt;
}

}  // namespace drover::scheduler
