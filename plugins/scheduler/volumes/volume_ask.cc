#include "volumes/volume_ask.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "volumes/coming_claims.h"

namespace drover::scheduler {
namespace {

using Kind = VolumeProblem::Kind;

Kind kind_of(CsiFit fit) {
  switch (fit) {
    case CsiFit::wrong_capability:
      return Kind::capability;
    case CsiFit::other_mode:
      return Kind::other_mode;
    case CsiFit::read_only:
      return Kind::read_only;
    case CsiFit::no_reader:
      return Kind::no_reader;
    case CsiFit::no_writer:
      return Kind::no_writer;
    default:
      return Kind::unschedulable;
  }
}

// True when nodes that have none of both answer the same.
bool is_like(const Storage::Volume* one, const Storage::Volume* other) {
  if (!one || !other || !one->row || !other->row) return one == other;
  const auto is_same = [](const v1::CsiTopology& a, const v1::CsiTopology& b) {
    using Sorted = std::map<std::string, std::string>;
    return Sorted(a.segments().begin(), a.segments().end()) == Sorted(b.segments().begin(), b.segments().end());
  };
  return one->row->plugin_id() == other->row->plugin_id() &&
         std::ranges::equal(one->row->topologies(), other->row->topologies(), is_same);
}

}  // namespace

VolumeAsk::VolumeAsk(const v1::Job& job, const v1::TaskGroup& group, Storage* storage)
    : job_(job), group_(group), storage_(storage), hosts_(job, group, storage) {
  std::map<std::string, const v1::VolumeRequest*> sorted;
  for (const auto& [name, request] : group.volumes()) {
    if (request.type() == "csi") sorted[name] = &request;
  }
  for (const auto& [name, request] : sorted) requests_.push_back(request);
}

// Those of the job do not stand in its own way: an allocation may be replaced. Those of this evaluation do.
std::optional<VolumeProblem> VolumeAsk::problem_of(const Asked& asked) {
  VolumeProblem problem{.kind = Kind::missing, .volume = asked.id, .reads = asked.request->read_only()};
  if (!asked.volume || !asked.volume->row) return problem;
  const Storage::Volume& volume = *asked.volume;
  problem.plugin = volume.row->plugin_id();
  std::vector<v1::CsiClaim> claims;
  std::optional<size_t> collected;  // the first writer that is
  for (size_t i = 0; i < volume.claims.size(); ++i) {
    const v1::CsiClaim& claim = volume.claims[i];
    const bool is_known = i >= volume.made || storage_->has_alloc(claim.alloc_id());
    const bool is_own = claim.job_id() == job_.id() && claim.namespace_() == job_.namespace_();
    if (is_own && i < volume.settled && storage_->has_alloc(claim.alloc_id())) continue;
    if (!is_known && !claim.read_only() && !collected) collected = claims.size();
    claims.push_back(claim);
  }
  const bool may_be_used = storage_->plugin(problem.plugin).may_be_used();
  const CsiFit fit = csi_fit(*volume.row, may_be_used, claims, *asked.request);
  if (fit == CsiFit::fits) return std::nullopt;
  problem.kind = kind_of(fit);
  if (problem.kind == Kind::no_writer && collected) problem.kind = Kind::collected;
  if (!claims.empty()) {
    const v1::CsiClaim& holder = claims[collected.value_or(0)];
    problem.holder = holder.alloc_id();
    problem.holder_job = holder.job_id();
  }
  return problem;
}

VolumeAsk::Asked VolumeAsk::asked(const v1::VolumeRequest& request, std::string_view alloc_name) {
  Asked asked{.request = &request, .id = csi_volume_id(request, alloc_name)};
  if (storage_) asked.volume = &storage_->volume(job_.namespace_(), asked.id);
  asked.problem = problem_of(asked);
  return asked;
}

VolumeAsk::Stale VolumeAsk::ask_for(std::string_view alloc_name) {
  Stale stale{.all = hosts_.ask_for(alloc_name) || !alloc_name_};
  alloc_name_ = alloc_name;
  const std::vector<Asked> before = std::exchange(asked_, {});
  for (size_t i = 0; i < requests_.size(); ++i) {
    asked_.push_back(asked(*requests_[i], alloc_name));
    if (stale.all) continue;
    const Asked &old = before[i], &now = asked_[i];
    const auto text = [](const Asked& one) { return one.problem ? text_without_node(*one.problem) : std::string(); };
    stale.all = text(old) != text(now) || (old.id != now.id && !is_like(old.volume, now.volume));
    if (stale.all || old.id == now.id || !now.volume) continue;
    std::ranges::set_symmetric_difference(old.volume->nodes, now.volume->nodes,
                                          std::inserter(stale.nodes, stale.nodes.end()));
  }
  return stale;
}

// How many volumes of the same plugin the requests before this one bring to the node.
size_t VolumeAsk::added_by_others(size_t at, const std::string& node_id) const {
  std::set<std::string> added;
  for (size_t i = 0; i < at; ++i) {
    const Storage::Volume& other = *asked_[i].volume;
    if (other.row->plugin_id() != asked_[at].volume->row->plugin_id() || other.nodes.contains(node_id)) continue;
    if (asked_[i].id != asked_[at].id) added.insert(asked_[i].id);
  }
  return added.size();
}

std::optional<VolumeProblem> VolumeAsk::check_node(const Asked& asked, const v1::Node& node, size_t at) {
  VolumeProblem problem{.kind = Kind::missing, .volume = asked.id, .reads = asked.request->read_only()};
  if (!asked.volume || !asked.volume->row) return problem;
  const v1::CsiVolume& volume = *asked.volume->row;
  const auto refuse = [&](Kind kind) {
    problem.kind = kind;
    return problem;
  };
  problem.plugin = volume.plugin_id();
  const auto plugin = node.csi_node_plugins().find(volume.plugin_id());
  if (plugin == node.csi_node_plugins().end()) return refuse(Kind::no_plugin);
  if (!plugin->second.healthy()) return refuse(Kind::unhealthy);
  const int64_t limit = plugin->second.node_info().max_volumes();
  const bool has_limit = limit > 0 && limit < std::numeric_limits<int64_t>::max();
  if (has_limit && !asked.volume->nodes.contains(node.id()) &&
      storage_->volumes_on(node.id(), volume.plugin_id()) + added_by_others(at, node.id()) >=
          static_cast<size_t>(limit)) {
    full_.insert(volume.plugin_id());
    problem.limit = static_cast<size_t>(limit);
    return refuse(Kind::full);
  }
  if (!csi_reaches(volume, plugin->second.node_info().accessible_topology())) return refuse(Kind::topology);
  return asked.problem;
}

std::optional<VolumeProblem> VolumeAsk::check(const v1::Node& node) {
  if (!alloc_name_) (void)ask_for("");
  for (size_t i = 0; i < asked_.size(); ++i) {
    if (auto problem = check_node(asked_[i], node, i)) return problem;
  }
  return hosts_.check(node);
}

void VolumeAsk::take(const std::string& alloc_id, const std::string& node_id) {
  v1::Allocation alloc;
  alloc.set_id(alloc_id);
  alloc.set_name(alloc_name_.value_or(""));
  alloc.set_namespace_(job_.namespace_());
  alloc.set_job_id(job_.id());
  alloc.set_node_id(node_id);
  storage_->name(alloc.id(), alloc.name());
  for (const v1::CsiClaim& claim : claims_of(group_, alloc)) storage_->take(claim);
}

void VolumeAsk::describe(RoomWait& wait) const {
  bool is_cause = false;
  for (const Asked& asked : asked_) {
    if (!asked.problem) continue;
    is_cause = true;
    wait.volumes.insert(asked.id);
    if (asked.problem->kind == Kind::unschedulable) wait.plugins.insert(asked.problem->plugin);
  }
  wait.plugins.insert(full_.begin(), full_.end());
  wait.volumes.insert(hosts_.lacking().begin(), hosts_.lacking().end());
  wait.only_storage = wait.only_storage.value_or(true) && is_cause;
}

}  // namespace drover::scheduler
