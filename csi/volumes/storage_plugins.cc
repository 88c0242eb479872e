#include "storage_plugins.h"

#include <algorithm>

#include "drover/keys.h"
#include "drover/model/allocation.h"
#include "drover/model/job.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::volumes {
namespace {

struct Parts {
  bool controller = false, node = false;
};

Parts parts_of(const v1::TaskGroup& group, const std::string& plugin_id) {
  Parts parts;
  for (const v1::Task& task : group.tasks()) {
    const v1::CsiPluginConfig& config = task.csi_plugin_config();
    if (!task.has_csi_plugin_config() || config.id() != plugin_id) continue;
    parts.controller |= config.type() != "node";
    parts.node |= config.type() != "controller";
  }
  return parts;
}

void add_job(const ReadView& view, const Tables& tables, const v1::Job& job, const std::string& plugin_id,
             StoragePlugin& plugin) {
  Table<v1::Allocation>(tables.allocs)
      .scan(view, kAllocsByJob, of_job(job.namespace_(), job.id()), [&](v1::Allocation& alloc, std::string_view) {
        const v1::TaskGroup* group = find_group(job, alloc.task_group());
        if (!group || terminal(alloc)) return true;
        const Parts parts = parts_of(*group, plugin_id);
        plugin.controllers_expected += parts.controller;
        plugin.nodes_expected += parts.node;
        if (parts.controller || parts.node) plugin.allocations.push_back(std::move(alloc));
        return true;
      });
}

// An instance that the agent itself runs is expected since it is there.
void add_node(const v1::Node& node, const std::string& plugin_id, StoragePlugin& plugin) {
  const auto count = [&](const auto& infos, int32_t& expected) {
    const auto at = infos.find(plugin_id);
    if (at != infos.end() && at->second.alloc_id().empty()) ++expected;
  };
  count(node.csi_controller_plugins(), plugin.controllers_expected);
  count(node.csi_node_plugins(), plugin.nodes_expected);
  count_csi_plugin(node, plugin_id, plugin.state);
  plugin.modify_index = std::max(plugin.modify_index, node.modify_index());
}

void add_ids(const ReadView& view, TableId table, uint32_t index, std::set<std::string>& ids) {
  for (auto at = view.scan(table, index, KeyRange::all()); at->valid(); at->next()) {
    if (auto id = KeyReader(at->key()).text()) ids.insert(*std::move(id));
  }
}

}  // namespace

StoragePlugin storage_plugin(const ReadView& view, const Tables& tables, const std::string& plugin_id) {
  StoragePlugin plugin;
  Table<v1::Node>(tables.nodes)
      .scan(view, kNodesByCsiPlugin, of_csi_plugin(plugin_id), [&](const v1::Node& node, std::string_view) {
        add_node(node, plugin_id, plugin);
        return true;
      });
  Table<v1::Job>(tables.jobs)
      .scan(view, kJobsByCsiPlugin, of_csi_plugin(plugin_id), [&](const v1::Job& job, std::string_view) {
        add_job(view, tables, job, plugin_id, plugin);
        if (plugin.create_index == 0 || job.create_index() < plugin.create_index)
          plugin.create_index = job.create_index();
        plugin.modify_index = std::max(plugin.modify_index, job.modify_index());
        return true;
      });
  if (plugin.create_index == 0) plugin.create_index = plugin.modify_index;
  return plugin;
}

std::set<std::string> storage_plugin_ids(const ReadView& view, const Tables& tables) {
  std::set<std::string> ids;
  add_ids(view, tables.nodes, kNodesByCsiPlugin, ids);
  add_ids(view, tables.jobs, kJobsByCsiPlugin, ids);
  return ids;
}

}  // namespace drover::volumes
