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

namespace drover::scheduler {

class Cluster;

// The part of the snapshot that is read for groups with volumes of the type "csi". Without it there are no volumes.
struct StorageRows {
  std::function<std::optional<v1::CsiVolume>(const std::string& name_space, const std::string& id)> volume = {};
  // On the volume; and of the node's allocations.
  std::function<std::vector<v1::CsiClaim>(const std::string& name_space, const std::string& id)> claims = {};
  std::function<std::vector<v1::CsiClaim>(const std::string& node_id)> claims_on = {};
  std::function<bool(const std::string& alloc_id)> has_alloc = {};
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

 private:
  using Key = std::pair<std::string, std::string>;
  // By plugin the storage's names of the volumes.
  using OnNode = std::map<std::string, std::set<std::string>>;
  OnNode& on_node(const std::string& node_id);
  void count_on(OnNode& there, const v1::CsiClaim& claim);

  const Cluster& cluster_;
  const StorageRows rows_;
  std::map<Key, Volume> volumes_;
  std::map<std::string, CsiPluginState> plugins_;
  std::map<std::string, OnNode> on_nodes_;
};

}  // namespace drover::scheduler
