#include "volumes/plugin_status.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <set>

#include "drover/api/volumes.pb.h"
#include "object_output.h"
#include "output.h"
#include "volumes/volume_text.h"

namespace drover::cli {
namespace {

std::string health(int32_t healthy, int32_t expected) {
  return std::to_string(healthy) + "/" + std::to_string(expected);
}

Result<Answer<v1::ListCsiPluginsResponse>> list(Run& run, const Parameters& further = {}) {
  v1::ListCsiPluginsRequest request;
  request.set_type("csi");
  return run.client.call<v1::CsiPlugins::List>(request, further);
}

// The capabilities that some instance has, in the words of the storage interface.
void add_capabilities(const google::protobuf::Message& info, std::set<std::string>& capabilities) {
  const google::protobuf::Descriptor& type = *info.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (field.cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_BOOL) continue;
    if (!info.GetReflection()->GetBool(info, &field)) continue;
    std::string name = field.name();
    std::ranges::replace(name, '_', ' ');
    capabilities.insert(std::move(name));
  }
}

std::string capabilities_text(const v1::CsiPlugin& plugin) {
  std::set<std::string> controller, node;
  for (const auto& [id, info] : plugin.controllers()) add_capabilities(info.controller_info(), controller);
  for (const auto& [id, info] : plugin.nodes()) {
    add_capabilities(info.node_info(), node);
    if (info.requires_topologies()) node.insert("volume accessibility constraints");
  }
  std::string text;
  for (const auto& [title, all] :
       {std::pair("Controller Capabilities", &controller), std::pair("Node Capabilities", &node)}) {
    if (all->empty()) continue;
    text += std::string("\n") + title + "\n";
    for (const std::string& each : *all) text += "  " + each + "\n";
  }
  return text;
}

std::string instances_text(const v1::CsiPlugin& plugin) {
  std::vector<std::vector<std::string>> rows = {{"Node ID", "Part", "Healthy", "Description", "Version"}};
  const auto add = [&](const auto& instances, const char* part) {
    for (const auto& [node, info] : sorted(instances))
      rows.push_back({node, part, yes_no(info.healthy()), info.health_description(), info.provider_version()});
  };
  add(plugin.controllers(), "controller");
  add(plugin.nodes(), "node");
  return rows.size() > 1 ? "\nInstances\n" + format_list(rows) : "";
}

std::string places_text(const v1::CsiPlugin& plugin) {
  std::vector<std::vector<std::string>> rows = {{"Node ID", "Accessible Topology"}};
  for (const auto& [node, info] : sorted(plugin.nodes())) {
    const v1::CsiTopology& place = info.node_info().accessible_topology();
    if (!place.segments().empty()) rows.push_back({node, topology_text(place)});
  }
  return rows.size() > 1 ? "\nAccessible Topologies\n" + format_list(rows) : "";
}

}  // namespace

std::string storage_plugins_text(const v1::ListCsiPluginsResponse& plugins) {
  if (plugins.plugins().empty()) return "Container Storage Interface\nNo CSI plugins\n";
  std::vector<std::vector<std::string>> rows = {
      {"ID", "Provider", "Controllers Healthy/Expected", "Nodes Healthy/Expected"}};
  for (const v1::CsiPluginStub& plugin : plugins.plugins()) {
    rows.push_back({plugin.id(), plugin.provider(), health(plugin.controllers_healthy(), plugin.controllers_expected()),
                    health(plugin.nodes_healthy(), plugin.nodes_expected())});
  }
  return "Container Storage Interface\n" + format_list(rows);
}

std::string storage_plugin_text(const v1::CsiPlugin& plugin, bool is_short, bool verbose) {
  std::string text = format_pairs({{"ID", plugin.id()},
                                   {"Provider", plugin.provider()},
                                   {"Version", plugin.version()},
                                   {"Controllers Healthy", std::to_string(plugin.controllers_healthy())},
                                   {"Controllers Expected", std::to_string(plugin.controllers_expected())},
                                   {"Nodes Healthy", std::to_string(plugin.nodes_healthy())},
                                   {"Nodes Expected", std::to_string(plugin.nodes_expected())}});
  if (is_short) return text;
  if (verbose) text += capabilities_text(plugin) + places_text(plugin) + instances_text(plugin);
  std::vector<std::vector<std::string>> rows = {kAllocColumns};
  for (const v1::AllocationListStub& alloc : plugin.allocations()) rows.push_back(alloc_row(alloc, verbose));
  return text + "\nAllocations\n" + (rows.size() > 1 ? format_list(rows) : "No allocations placed\n");
}

int list_storage_plugins(Run& run, bool is_asked) {
  const auto plugins = list(run);
  if (!plugins) return is_asked ? run.fail("Error querying CSI plugins", plugins.status()) : 0;
  if (is_asked) {
    if (auto code = print_object(run, *plugins)) return *code;
  } else if (plugins->message.plugins().empty()) {
    return 0;
  }
  run.out << (is_asked ? "" : "\n") << storage_plugins_text(plugins->message);
  return 0;
}

Result<Answer<v1::CsiPluginResponse>> find_storage_plugin(Run& run, const std::string& typed) {
  v1::CsiPluginRequest request;
  request.set_plugin_id(typed);
  auto found = run.client.call<v1::CsiPlugins::Get>(request);
  if (found || found.status().code() != Code::not_found) return found;
  DROVER_TRY(const auto matching, list(run, {{"prefix", typed}}));
  const auto& plugins = matching.message.plugins();
  if (plugins.empty()) return not_found("No plugins with prefix or ID \"" + typed + "\" found");
  if (plugins.size() > 1)
    return invalid_argument("Prefix matched multiple plugins\n\n" + storage_plugins_text(matching.message));
  request.set_plugin_id(plugins[0].id());
  return run.client.call<v1::CsiPlugins::Get>(request);
}

int show_storage_plugin(Run& run, const Answer<v1::CsiPluginResponse>& found) {
  if (auto code = print_object(run, found)) return *code;
  run.out << storage_plugin_text(found.message.plugin(), run.arguments.on("short"), run.verbose());
  return 0;
}

}  // namespace drover::cli
