#include "rules.h"

#include <string>
#include <utility>

#include "drover/api/namespaces.pb.h"
#include "drover/findings.h"
#include "drover/messages.h"
#include "drover/model/namespace.h"
#include "drover/sha256.h"
#include "drover/v1/namespace.pb.h"

namespace drover::namespaces {
namespace {

constexpr size_t kMaxDescription = 256;

// Clients compare it to see that two namespaces are the same.
void set_hash(v1::Namespace& row) {
  v1::Namespace content = row;
  content.clear_hash();
  content.clear_create_index();
  content.clear_modify_index();
  row.set_hash(sha256(serialize(content)));
}

Status check(const v1::NamespaceSpec& spec) {
  Findings findings("Invalid namespace \"" + spec.name() + "\"");
  findings.require(is_namespace_name(spec.name()),
                   "invalid name \"" + spec.name() + "\". Must match regex ^[a-zA-Z0-9-]{1,128}$");
  findings.require(spec.description().size() <= kMaxDescription,
                   "description longer than " + std::to_string(kMaxDescription));
  findings.require(spec.quota().empty(),
                   "namespace \"" + spec.name() + "\" using non-existent quota \"" + spec.quota() +
                       "\": there are no quotas");
  const auto is_unsaid = [](const std::string& json) { return json.empty() || json == "null"; };
  findings.require(is_unsaid(spec.node_pool_configuration()),
                   "NodePoolConfiguration: Node Pools Governance is unlicensed.");
  findings.require(is_unsaid(spec.vault_configuration()), "VaultConfiguration: Multi-Cluster Vault is unlicensed.");
  findings.require(is_unsaid(spec.consul_configuration()), "ConsulConfiguration: Multi-Cluster Consul is unlicensed.");
  const v1::NamespaceCapabilities& may = spec.capabilities();
  for (const auto& [list, name] : {std::pair(&may.enabled_task_drivers(), "EnabledTaskDrivers"),
                                   {&may.disabled_task_drivers(), "DisabledTaskDrivers"},
                                   {&may.enabled_network_modes(), "EnabledNetworkModes"},
                                   {&may.disabled_network_modes(), "DisabledNetworkModes"}}) {
    for (const std::string& each : *list)
      findings.require(!each.empty(), "Capabilities." + std::string(name) + " has an empty name");
  }
  return findings.status();
}

}  // namespace

Result<v1::Namespace> accepted(const v1::NamespaceSpec& spec) {
  DROVER_RETURN_IF_ERROR(check(spec));
  v1::Namespace row;
  row.set_name(spec.name());
  row.set_description(spec.description());
  if (spec.has_capabilities()) *row.mutable_capabilities() = spec.capabilities();
  *row.mutable_meta() = spec.meta();
  set_hash(row);
  return row;
}

v1::Namespace unchanged_default() {
  v1::Namespace row = default_namespace();
  set_hash(row);
  return row;
}

}  // namespace drover::namespaces
