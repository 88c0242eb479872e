#include "plans/sticky_claims.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "drover/model/csi_volume.h"
#include "drover/model/job.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/job.pb.h"
#include "scheduler.pb.h"

namespace drover::scheduler {
namespace {

class Finder {
 public:
  Finder(const v1::PlanApplied& command, const ReadView& view, const Tables& tables)
      : command_(command), view_(view), tables_(tables) {}

  void add(const v1::Allocation& alloc, v1::HostVolumesClaimed& claims) {
    const v1::TaskGroup* group = group_of(alloc);
    const auto is_sticky = [](const auto& volume) { return volume.second.type() == "host" && volume.second.sticky(); };
    if (!group || std::ranges::none_of(group->volumes(), is_sticky)) return;
    const auto node = Table<v1::Node>(tables_.nodes).get(view_, alloc.node_id());
    if (!node) return;
    for (const auto& [name, request] : group->volumes()) {
      if (request.type() != "host" || !request.sticky()) continue;
      const auto volume = node->host_volumes().find(csi_volume_id(request, alloc.name()));
      if (volume == node->host_volumes().end() || volume->second.id().empty()) continue;
      add(alloc, volume->second, *claims.add_claims());
    }
  }

 private:
  static void add(const v1::Allocation& alloc, const v1::HostVolume& volume, v1::HostVolumeClaim& claim) {
    claim.set_id(Uuid::random().bytes());
    claim.set_namespace_(alloc.namespace_());
    claim.set_job_id(alloc.job_id());
    claim.set_task_group_name(alloc.task_group());
    claim.set_alloc_id(alloc.id());
    claim.set_volume_id(volume.id());
    claim.set_volume_name(volume.name());
  }

  // The group in the version that the plan brings along, or that is there.
  const v1::TaskGroup* group_of(const v1::Allocation& alloc) {
    const auto [at, is_new] = jobs_.try_emplace({alloc.namespace_(), alloc.job_id(), alloc.job_version()});
    if (is_new) {
      const std::string key = job_version_key(alloc.namespace_(), alloc.job_id(), alloc.job_version());
      at->second = Table<v1::Job>(tables_.job_versions).get(view_, key);
    }
    if (!at->second && command_.has_registration()) at->second = command_.registration().job();
    return at->second ? find_group(*at->second, alloc.task_group()) : nullptr;
  }

  const v1::PlanApplied& command_;
  const ReadView& view_;
  const Tables& tables_;
  std::map<std::tuple<std::string, std::string, uint64_t>, std::optional<v1::Job>> jobs_;
};

}  // namespace

v1::HostVolumesClaimed sticky_claims_of(const v1::PlanApplied& command, const ReadView& view, const Tables& tables) {
  v1::HostVolumesClaimed claims;
  if (!tables.host_volumes || !view.scan(*tables.host_volumes, kPrimary, KeyRange::all())->valid()) return claims;
  Finder finder(command, view, tables);
  for (const v1::Allocation& alloc : command.placed()) finder.add(alloc, claims);
  return claims;
}

}  // namespace drover::scheduler
