#include "drover/model/csi_volume.h"

#include <strings.h>

#include <algorithm>
#include <array>

#include "drover/schema.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover {
namespace {

struct Use {
  int readers = 0, writers = 0;
};

Use use_of(std::span<const v1::CsiClaim> claims) {
  Use use;
  for (const v1::CsiClaim& claim : claims) ++(claim.read_only() ? use.readers : use.writers);
  return use;
}

bool may_read(std::string_view mode, const Use& use) {
  if (mode == "single-node-reader-only") return use.readers == 0;
  if (mode == "single-node-writer") return use.readers == 0 && use.writers == 0;
  return true;
}

bool may_write(std::string_view mode, const Use& use) {
  if (mode == "single-node-writer" || mode == "multi-node-single-writer") return use.writers == 0;
  return true;
}

void count(const v1::CsiInfo& info, bool is_ready, int32_t& all, int32_t& healthy, CsiPluginState& state) {
  ++all;
  if (is_ready && info.healthy()) ++healthy;
  state.controller_required |= info.requires_controller_plugin();
  state.has_topologies |= info.requires_topologies();
  if (state.provider.empty() || info.healthy()) {
    state.provider = info.provider();
    state.version = info.provider_version();
  }
}

}  // namespace

std::string csi_volume_id(const v1::VolumeRequest& request, std::string_view alloc_name) {
  if (!request.per_alloc()) return request.source();
  const size_t at = alloc_name.rfind('[');
  return request.source() + std::string(at == std::string_view::npos ? std::string_view() : alloc_name.substr(at));
}

void count_csi_plugin(const v1::Node& node, const std::string& plugin_id, CsiPluginState& state) {
  const bool is_ready = node.status() == v1::NODE_STATUS_READY;
  const auto controller = node.csi_controller_plugins().find(plugin_id);
  if (controller != node.csi_controller_plugins().end())
    count(controller->second, is_ready, state.controllers, state.controllers_healthy, state);
  const auto on_node = node.csi_node_plugins().find(plugin_id);
  if (on_node != node.csi_node_plugins().end())
    count(on_node->second, is_ready, state.nodes, state.nodes_healthy, state);
}

CsiPluginState csi_plugin_state(const ReadView& view, TableId nodes, std::string_view plugin_id) {
  CsiPluginState state;
  const std::string id(plugin_id);
  Table<v1::Node>(nodes).scan(view, kNodesByCsiPlugin, of_csi_plugin(plugin_id),
                              [&](const v1::Node& node, std::string_view) {
                                count_csi_plugin(node, id, state);
                                return true;
                              });
  return state;
}

const std::string& csi_remote_id(const v1::CsiVolume& volume) {
  return volume.external_id().empty() ? volume.id() : volume.external_id();
}

bool runs_csi_plugin(const v1::Job& job) {
  return std::ranges::any_of(job.task_groups(), [](const v1::TaskGroup& group) {
    return std::ranges::any_of(group.tasks(), [](const v1::Task& task) { return task.has_csi_plugin_config(); });
  });
}

CsiFit csi_fit(const v1::CsiVolume& volume, bool plugin_may_be_used, std::span<const v1::CsiClaim> claims,
               const v1::VolumeRequest& request) {
  const bool is_meant = std::ranges::any_of(volume.requested_capabilities(), [&](const v1::CsiVolumeCapability& each) {
    return each.access_mode() == request.access_mode() && each.attachment_mode() == request.attachment_mode();
  });
  if (!is_meant) return CsiFit::wrong_capability;
  if (!plugin_may_be_used) return CsiFit::unschedulable;
  if (!request.read_only() && !csi_mode_writes(request.access_mode())) return CsiFit::read_only;
  const Use use = use_of(claims);
  if (use.readers + use.writers > 0 &&
      (volume.access_mode() != request.access_mode() || volume.attachment_mode() != request.attachment_mode()))
    return CsiFit::other_mode;
  if (request.read_only()) return may_read(request.access_mode(), use) ? CsiFit::fits : CsiFit::no_reader;
  return may_write(request.access_mode(), use) ? CsiFit::fits : CsiFit::no_writer;
}

bool csi_reaches(const v1::CsiVolume& volume, const v1::CsiTopology& node) {
  if (volume.topologies().empty()) return true;
  return std::ranges::any_of(volume.topologies(), [&](const v1::CsiTopology& term) {
    return std::ranges::all_of(term.segments(), [&](const auto& segment) {
      return std::ranges::any_of(node.segments(), [&](const auto& own) {
        return own.second == segment.second && ::strcasecmp(own.first.c_str(), segment.first.c_str()) == 0;
      });
    });
  });
}

bool is_csi_access_mode(std::string_view word) {
  constexpr std::array<std::string_view, 5> kWords = {"single-node-reader-only", "single-node-writer",
                                                      "multi-node-reader-only", "multi-node-single-writer",
                                                      "multi-node-multi-writer"};
  return std::ranges::find(kWords, word) != kWords.end();
}

bool is_csi_attachment_mode(std::string_view word) { return word == "file-system" || word == "block-device"; }

bool csi_mode_writes(std::string_view access_mode) { return access_mode.ends_with("-writer"); }

}  // namespace drover
