#include "controllers.h"

#include "drover/schema.h"
#include "drover/v1/node.pb.h"

namespace drover::volumes {

std::vector<ControllerPlace> controllers_of(const ReadView& view, TableId nodes, const std::string& plugin_id) {
  std::vector<ControllerPlace> places;
  const auto visit = [&](const v1::Node& node, std::string_view) {
    const auto at = node.csi_controller_plugins().find(plugin_id);
    if (node.status() != v1::NODE_STATUS_READY || at == node.csi_controller_plugins().end() || !at->second.healthy())
      return true;
    places.push_back({.node_id = node.id(), .info = at->second.controller_info()});
    return true;
  };
  Table<v1::Node>(nodes).scan(view, kNodesByCsiPlugin, of_csi_plugin(plugin_id), visit);
  return places;
}

CallContext node_call(Host& host, const char* method, std::stop_token stop) {
  CallContext context;
  context.method = std::string("/drover.v1.NodeCsi/") + method;
  context.deadline = host.clock().steady() + kCallTime;
  context.stop = std::move(stop);
  context.from_server = true;
  return context;
}

}  // namespace drover::volumes
