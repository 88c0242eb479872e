// node meta read, node meta apply.
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/api/client.pb.h"
#include "drover/api/nodes.pb.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

using nlohmann::json;

// The node that -node-id names; empty: the agent's own.
Result<std::string> wanted_node(Run& run) {
  if (!run.arguments.is_set("node-id")) return std::string();
  DROVER_TRY(const auto found, find_node(run, run.arguments.value("node-id")));
  return found.message.node().node().id();
}

void print_section(Run& run, const char* title, const std::vector<std::pair<std::string, std::string>>& pairs) {
  run.out << title << "\n";
  if (!pairs.empty()) run.out << format_pairs(pairs);
}

int meta_read(Run& run) {
  const auto node = wanted_node(run);
  if (!node) return run.fail("Error reading node", node.status());
  v1::NodeMetaRequest request;
  request.set_node_id(*node);
  auto meta = run.client.call<v1::NodeMetadata::Read>(request);
  if (!meta) return run.fail("Error reading dynamic node metadata", meta.status());
  if (auto code = print_object(run, *meta)) return *code;
  const auto all = sorted(meta->message.meta()), fixed = sorted(meta->message.static_());
  std::vector<std::pair<std::string, std::string>> dynamic;
  const json changes = json::parse(meta->message.dynamic());
  for (const auto& [key, value] : changes.items())
    dynamic.emplace_back(key, value.is_null() ? "<unset>" : value.get<std::string>());
  print_section(run, "All Meta", {all.begin(), all.end()});
  print_section(run, "\nDynamic Meta", dynamic);
  print_section(run, "\nStatic Meta", {fixed.begin(), fixed.end()});
  return 0;
}

int meta_apply(Run& run) {
  json wanted = json::object();
  for (const std::string& pair : run.arguments.positional()) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) return run.usage("\"" + pair + "\" is not of the form key=value.");
    wanted[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  std::string unset = run.arguments.value("unset");
  while (!unset.empty()) {
    const std::string key = unset.substr(0, unset.find(','));
    unset.erase(0, key.size() + 1);
    if (wanted.contains(key)) return run.usage("\"" + key + "\" cannot be set and unset at the same time.");
    if (!key.empty()) wanted[key] = nullptr;
  }
  if (wanted.empty()) return run.usage("Name values as key=value, or keys with -unset.");
  const auto node = wanted_node(run);
  if (!node) return run.fail("Error reading node", node.status());
  v1::ApplyNodeMetaRequest request;
  request.set_node_id(*node);
  request.set_meta(wanted.dump(-1, ' ', false, json::error_handler_t::replace));
  const auto applied = run.client.call<v1::NodeMetadata::Apply>(request);
  return applied ? 0 : run.fail("Error applying dynamic node metadata", applied.status());
}

}  // namespace

std::vector<Definition> node_meta_commands() {
  const Flag node = with_value("node-id", "", "The node; default: that of the agent");
  return {{"node meta read", "Shows a node's metadata and where it comes from.", "", "", with_object_flags({node}), 0,
           0, meta_read},
          {"node meta apply",
           "Changes a node's metadata; changes outlive restarts of its agent.",
           "<key=value>…",
           "",
           {with_value("unset", "", "Keys to unset, separated by commas"), node},
           0,
           1000,
           meta_apply}};
}

}  // namespace drover::cli
