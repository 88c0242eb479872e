// Volumes, the claims on them and the plugins behind them, as one evaluation sees and changes them. Pure; one owner.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drover/model/csi_volume.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/host_volume.pb.h"

namespace drover::v1 {
class Job;
}

namespace drover::scheduler {

class Cluster;
struct Holding;

// The part of the snapshot that is read for groups with volumes of the type "csi". Without it there are no volumes.
struct StorageRows {
  std::function<std::optional<v1::CsiVolume>(const std::string& name_space, const std::string& id)> volume = {};
  // On the volume; and of the node's allocations.
  std::function<std::vector<v1::CsiClaim>(const std::string& name_space, const std::string& id)> claims = {};
  std::function<std::vector<v1::CsiClaim>(const std::string& node_id)> claims_on = {};
  std::function<bool(const std::string& alloc_id)> has_alloc = {};
  // Dynamic host volumes. False: there are none, and nothing of them is asked.
  bool has_host_volumes = false;
  std::function<std::optional<v1::DynamicHostVolume>(const std::string& name_space, const std::string& id)>
      host_volume = {};
  std::function<std::vector<v1::HostVolumeClaim>(const std::string& name_space, const std::string& job_id,
                                                 const std::string& group)>
      sticky_claims = {};
  // Null, nothing: not known any more.
  std::function<const v1::Job*(const std::string& name_space, const std::string& id, uint64_t version)> job = {};
  std::function<std::optional<std::string>(const std::string& alloc_id)> alloc_name = {};
};

class Storage {
 public:
  // Requires: the cluster outlives it; its nodes stay as they are.
  Storage(const Cluster& cluster, StorageRows rows) : cluster_(cluster), rows_(std::move(rows)) {}

  struct Volume {
    std::optional<v1::CsiVolume> row;  // nothing: there is none
    // The first `made` are in the state, then follow those that are to come; from `settled` on they are of this
    // evaluation.
    std::vector<v1::CsiClaim> claims;
    size_t made = 0, settled = 0;
    std::set<std::string> nodes = {};  // that it is on, or will be
  };
  // Valid until take().
  const Volume& volume(const std::string& name_space, const std::string& id);
  const CsiPluginState& plugin(const std::string& id);
  // False: the allocation was collected.
  bool has_alloc(const std::string& id) const { return rows_.has_alloc && rows_.has_alloc(id); }
  // How many volumes of the plugin are on the node, or will be. A volume that several claim there counts once.
  size_t volumes_on(const std::string& node_id, const std::string& plugin_id);

  // This evaluation places an allocation that makes the claim.
  void take(const v1::CsiClaim& claim);

  bool has_host_volumes() const { return rows_.has_host_volumes; }
  // Null: there is none in that namespace.
  const v1::DynamicHostVolume* host_volume(const std::string& name_space, const std::string& id);
  std::vector<v1::HostVolumeClaim> sticky_claims(const std::string& name_space, const std::string& job_id,
                                                 const std::string& group) const;
  // An allocation on the node that writes to the volume, or, if `is_sole` is false, is the only one that may.
  const Holding* writer_beside(const std::string& node_id, const v1::DynamicHostVolume& volume, bool is_sole) const;
  // True when an allocation of the group is on the node.
  bool runs_on(const std::string& node_id, const v1::Job& job, const std::string& group) const;
  // This evaluation places an allocation of that name.
  void name(const std::string& alloc_id, const std::string& name) { names_[alloc_id] = name; }

 private:
  using Key = std::pair<std::string, std::string>;
  // By plugin the storage's names of the volumes.
  using OnNode = std::map<std::string, std::set<std::string>>;
  OnNode& on_node(const std::string& node_id);
  void count_on(OnNode& there, const v1::CsiClaim& claim);
  bool writes(const Holding& holding, const v1::DynamicHostVolume& volume, bool is_sole) const;

  const Cluster& cluster_;
  const StorageRows rows_;
  std::map<Key, Volume> volumes_;
  std::map<std::string, CsiPluginState> plugins_;
  std::map<std::string, OnNode> on_nodes_;
  std::map<Key, std::optional<v1::DynamicHostVolume>> host_volumes_;
  std::map<std::string, std::string> names_;  // of allocations that this evaluation places
};

}  // namespace drover::scheduler
