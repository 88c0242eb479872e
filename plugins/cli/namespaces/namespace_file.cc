#include "namespaces/namespace_file.h"

#include "drover/api/namespaces.pb.h"
#include "drover/config.h"
#include "drover/json.h"
#include "drover/v1/namespace.pb.h"

namespace drover::cli {
namespace {

// A block that is known elsewhere, whatever stands in it.
ConfigOption refused(std::string name, std::string why) {
  return {.name = std::move(name), .type = ConfigType::string_map, .help = "Not here.", .refusal = std::move(why)};
}

ConfigSchema namespace_schema() {
  using enum ConfigType;
  return {.options = {{.name = "name", .help = "The name of the namespace."},
                      {.name = "description", .help = "What it is for."},
                      {.name = "quota", .help = "The name of a quota."},
                      {.name = "meta", .type = string_map, .help = "For people and their tools."},
                      {.name = "capabilities",
                       .type = block,
                       .help = "What the jobs of the namespace may use.",
                       .options = {{.name = "enabled_task_drivers", .type = string_list, .help = "These drivers only."},
                                   {.name = "disabled_task_drivers", .type = string_list, .help = "All but these."},
                                   {.name = "enabled_network_modes", .type = string_list, .help = "These modes only."},
                                   {.name = "disabled_network_modes", .type = string_list, .help = "All but these."}}},
                      refused("node_pool_config", "Node Pools Governance is unlicensed."),
                      refused("vault", "Multi-Cluster Vault is unlicensed."),
                      refused("consul", "Multi-Cluster Consul is unlicensed.")}};
}

void read_capabilities(const ConfigBlock& block, v1::NamespaceCapabilities& may) {
  for (const auto& [option, list] : {std::pair("enabled_task_drivers", may.mutable_enabled_task_drivers()),
                                     {"disabled_task_drivers", may.mutable_disabled_task_drivers()},
                                     {"enabled_network_modes", may.mutable_enabled_network_modes()},
                                     {"disabled_network_modes", may.mutable_disabled_network_modes()}}) {
    for (const std::string& name : block.string_list(option)) list->Add(std::string(name));
  }
}

}  // namespace

Result<v1::NamespaceSpec> read_namespace_file(const std::string& name, const std::string& text) {
  DROVER_TRY(const ConfigBlock raw, parse_config(name, text));
  DROVER_TRY(const ConfigBlock file, apply_schema(raw, namespace_schema()));
  v1::NamespaceSpec spec;
  spec.set_name(file.string("name"));
  spec.set_description(file.string("description"));
  spec.set_quota(file.string("quota"));
  for (const auto& [key, value] : file.string_map("meta")) (*spec.mutable_meta())[key] = value;
  // Without a line it was not written.
  if (const ConfigBlock* may = file.block("capabilities"); may && may->place.line > 0)
    read_capabilities(*may, *spec.mutable_capabilities());
  if (spec.name().empty()) return invalid_argument(name + ": says no name; write name = \"…\"");
  return spec;
}

Result<v1::NamespaceSpec> read_namespace_json(const std::string& text) {
  v1::NamespaceSpec spec;
  DROVER_RETURN_IF_ERROR(json_to_message(text, spec));
  return spec;
}

}  // namespace drover::cli
