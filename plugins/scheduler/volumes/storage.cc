#include "volumes/storage.h"

#include <algorithm>

#include "drover/model/host_volume.h"
#include "drover/model/job.h"
#include "drover/v1/job.pb.h"
#include "placing/cluster.h"
#include "volumes/coming_claims.h"

namespace drover::scheduler {
namespace {

bool is_of(const std::vector<v1::CsiClaim>& claims, const std::string& alloc_id) {
  return std::ranges::any_of(claims, [&](const v1::CsiClaim& claim) { return claim.alloc_id() == alloc_id; });
}

}  // namespace

const Storage::Volume& Storage::volume(const std::string& name_space, const std::string& id) {
  const auto [at, is_new] = volumes_.try_emplace({name_space, id});
  Volume& volume = at->second;
  if (!is_new) return volume;
  if (rows_.volume) volume.row = rows_.volume(name_space, id);
  if (!volume.row) return volume;
  if (rows_.claims) volume.claims = rows_.claims(name_space, id);
  volume.made = volume.claims.size();
  if (const auto& coming = cluster_.coming_claims()) {
    const auto to_come = coming->find(at->first);
    if (to_come != coming->end()) {
      for (const v1::CsiClaim& claim : to_come->second) {
        if (!is_of(volume.claims, claim.alloc_id())) volume.claims.push_back(claim);
      }
    }
  }
  volume.settled = volume.claims.size();
  for (const v1::CsiClaim& claim : volume.claims) volume.nodes.insert(claim.node_id());
  // The mode in which it is used is that of whoever comes first.
  if (volume.made == 0 && volume.settled > 0) {
    volume.row->set_access_mode(volume.claims[0].access_mode());
    volume.row->set_attachment_mode(volume.claims[0].attachment_mode());
  }
  return volume;
}

const CsiPluginState& Storage::plugin(const std::string& id) {
  const auto [at, is_new] = plugins_.try_emplace(id);
  CsiPluginState& state = at->second;
  if (is_new) cluster_.visit([&](const ClusterNode& node) { count_csi_plugin(*node.node, id, state); });
  return state;
}

void Storage::count_on(OnNode& there, const v1::CsiClaim& claim) {
  if (!claim.plugin_id().empty()) {
    there[claim.plugin_id()].insert(claim.external_volume_id());
    return;
  }
  const Volume& claimed = volume(claim.namespace_(), claim.volume_id());
  if (claimed.row) there[claimed.row->plugin_id()].insert(csi_remote_id(*claimed.row));
}

Storage::OnNode& Storage::on_node(const std::string& node_id) {
  const auto [at, is_new] = on_nodes_.try_emplace(node_id);
  if (!is_new) return at->second;
  if (rows_.claims_on) {
    for (const v1::CsiClaim& claim : rows_.claims_on(node_id)) count_on(at->second, claim);
  }
  if (const auto& coming = cluster_.coming_claims()) {
    for (const auto& [volume, claims] : *coming) {
      for (const v1::CsiClaim& claim : claims) {
        if (claim.node_id() == node_id) count_on(at->second, claim);
      }
    }
  }
  return at->second;
}

size_t Storage::volumes_on(const std::string& node_id, const std::string& plugin_id) {
  const OnNode& there = on_node(node_id);
  const auto at = there.find(plugin_id);
  return at == there.end() ? 0 : at->second.size();
}

void Storage::take(const v1::CsiClaim& claim) {
  (void)volume(claim.namespace_(), claim.volume_id());
  count_on(on_node(claim.node_id()), claim);
  Volume& taken = volumes_.at({claim.namespace_(), claim.volume_id()});
  if (!taken.row) return;
  if (taken.claims.empty()) {
    taken.row->set_access_mode(claim.access_mode());
    taken.row->set_attachment_mode(claim.attachment_mode());
  }
  taken.nodes.insert(claim.node_id());
  taken.claims.push_back(claim);
}

const v1::DynamicHostVolume* Storage::host_volume(const std::string& name_space, const std::string& id) {
  const auto [at, is_new] = host_volumes_.try_emplace({name_space, id});
  if (is_new && rows_.host_volume) at->second = rows_.host_volume(name_space, id);
  return at->second ? &*at->second : nullptr;
}

std::vector<v1::HostVolumeClaim> Storage::sticky_claims(const std::string& name_space, const std::string& job_id,
                                                        const std::string& group) const {
  return rows_.sticky_claims ? rows_.sticky_claims(name_space, job_id, group) : std::vector<v1::HostVolumeClaim>();
}

// The worst is assumed of whom the job is not known any more, or the name.
bool Storage::writes(const Holding& holding, const v1::DynamicHostVolume& volume, bool is_sole) const {
  if (holding.name_space != volume.namespace_()) return false;
  const v1::Job* job = rows_.job ? rows_.job(holding.name_space, holding.job_id, holding.job_version) : nullptr;
  const v1::TaskGroup* group = job ? find_group(*job, holding.group) : nullptr;
  if (!group) return true;
  std::optional<std::string> name;
  if (const auto placed = names_.find(holding.id); placed != names_.end()) name = placed->second;
  if (!name && rows_.alloc_name) name = rows_.alloc_name(holding.id);
  // The volume's own number stands for the unknown one.
  const auto use = host_volume_use(*group, name.value_or(volume.name()), volume.name());
  return use && use->writes && (is_sole || use->is_sole);
}

const Holding* Storage::writer_beside(const std::string& node_id, const v1::DynamicHostVolume& volume,
                                      bool is_sole) const {
  const bool may_be_sole =
      std::ranges::any_of(volume.requested_capabilities(), [](const v1::CsiVolumeCapability& capability) {
        return capability.access_mode() == "single-node-single-writer";
      });
  const auto slot = may_be_sole ? cluster_.slot_of(node_id) : std::nullopt;
  if (!slot) return nullptr;
  for (const auto& holding : cluster_.at(*slot).holdings) {
    if (writes(*holding, volume, is_sole)) return holding.get();
  }
  return nullptr;
}

bool Storage::runs_on(const std::string& node_id, const v1::Job& job, const std::string& group) const {
  const auto slot = cluster_.slot_of(node_id);
  return slot && std::ranges::any_of(cluster_.at(*slot).holdings, [&](const auto& holding) {
           return holding->group == group && holding->job_id == job.id() && holding->name_space == job.namespace_();
         });
}

}  // namespace drover::scheduler
