// The storage plugins of the cluster, put together from what nodes and jobs say. Nothing of it is kept. Functions of a
// snapshot.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "drover/model/csi_volume.h"
#include "tables.h"

namespace drover::v1 {
class Allocation;
}

namespace drover::volumes {

// A plugin's instances, and those that there should be.
struct StoragePlugin {
  CsiPluginState state;
  int32_t controllers_expected = 0, nodes_expected = 0;
  std::vector<v1::Allocation> allocations;  // that run it, or are to
  uint64_t create_index = 0, modify_index = 0;
  bool is_known() const { return state.controllers + state.nodes + controllers_expected + nodes_expected > 0; }
};
StoragePlugin storage_plugin(const ReadView& view, const Tables& tables, const std::string& plugin_id);

// All identifiers that a node or a job that is not stopped names, in order.
std::set<std::string> storage_plugin_ids(const ReadView& view, const Tables& tables);

}  // namespace drover::volumes
