#include "server/rules.h"

#include "drover/api/host_volumes.pb.h"
#include "drover/findings.h"
#include "drover/model/constraint.h"
#include "drover/model/csi_volume.h"
#include "drover/model/host_volume.h"
#include "drover/v1/host_volume.pb.h"
#include "words.h"

namespace drover::host_volumes {
namespace {

constexpr size_t kMaxName = 128;  // bytes
constexpr const char* kUsualPlugin = "mkdir";

void check_constraint(const v1::Constraint& constraint, Findings& findings) {
  const std::string& operand = constraint.operand();
  if (operand == "distinct_hosts" || operand == "distinct_property") {
    return findings.require(
        false, "invalid constraint " + operand + ": host volumes of the same name are always on distinct hosts");
  }
  if (constraint.r_target().find("${") != std::string::npos) return;
  const std::string problem = problem_of_operand(operand, constraint.r_target());
  findings.require(problem.empty(), "invalid constraint: " + problem);
}

void check_capability(const v1::CsiVolumeCapability& capability, Findings& findings) {
  findings.require(is_csi_attachment_mode(capability.attachment_mode()),
                   "invalid attachment mode: \"" + capability.attachment_mode() + "\"");
  findings.require(is_host_access_mode(capability.access_mode()),
                   "invalid access mode: \"" + capability.access_mode() + "\"");
}

// Collects what an operator may set again and again.
void take_changeable(const v1::DescribedHostVolume& said, v1::DynamicHostVolume& row) {
  row.set_requested_capacity_min(said.requested_capacity_min_bytes());
  row.set_requested_capacity_max(said.requested_capacity_max_bytes());
  if (!said.parameters().empty()) *row.mutable_parameters() = said.parameters();
  if (!said.requested_capabilities().empty()) *row.mutable_requested_capabilities() = said.requested_capabilities();
}

void take_registered(const v1::DescribedHostVolume& said, Purpose purpose, v1::DynamicHostVolume& row) {
  row.set_is_registered(purpose == Purpose::registering);
  if (purpose != Purpose::registering) return;
  row.set_host_path(said.host_path());
  row.set_capacity(said.capacity_bytes());
}

}  // namespace

Status check_volume(const v1::DescribedHostVolume& said, Purpose purpose) {
  Findings findings("volume validation failed");
  findings.require(!said.name().empty(), "missing name");
  findings.require(said.name().size() <= kMaxName, "name is longer than 128 bytes");
  findings.require(is_plain_text(said.name()), "name has control characters");
  findings.require(said.id().empty() || said.id().size() == 16, "invalid ID");
  findings.require(said.node_id().empty() || said.node_id().size() == 16, "invalid node ID");
  findings.require(said.plugin_id().empty() || is_file_name(said.plugin_id()),
                   "invalid plugin ID \"" + said.plugin_id() + "\": it is the name of a file");
  findings.require(said.requested_capacity_min_bytes() >= 0 && said.requested_capacity_max_bytes() >= 0,
                   "a capacity is below zero");
  findings.require(said.requested_capacity_max_bytes() == 0 ||
                       said.requested_capacity_min_bytes() <= said.requested_capacity_max_bytes(),
                   "capacity_max (" + std::to_string(said.requested_capacity_max_bytes()) +
                       ") must be larger than capacity_min (" + std::to_string(said.requested_capacity_min_bytes()) +
                       ")");
  for (const v1::CsiVolumeCapability& capability : said.requested_capabilities())
    check_capability(capability, findings);
  for (const v1::Constraint& constraint : said.constraints()) check_constraint(constraint, findings);
  if (purpose == Purpose::registering) {
    findings.require(!said.node_id().empty(), "cannot register volume: node ID is required");
    findings.require(!said.host_path().empty(), "cannot register volume: host path is required");
    findings.require(said.host_path().empty() || (said.host_path().starts_with('/') && is_plain_text(said.host_path())),
                     "host path must be an absolute path");
  }
  return findings.status();
}

v1::DynamicHostVolume new_volume(const v1::DescribedHostVolume& said, Purpose purpose) {
  v1::DynamicHostVolume row;
  row.set_namespace_(said.namespace_());
  row.set_name(said.name());
  row.set_plugin_id(said.plugin_id().empty() && purpose == Purpose::creating ? kUsualPlugin : said.plugin_id());
  row.set_node_pool(said.node_pool());
  *row.mutable_constraints() = said.constraints();
  take_changeable(said, row);
  take_registered(said, purpose, row);
  if (row.requested_capabilities().empty()) {
    v1::CsiVolumeCapability& usual = *row.add_requested_capabilities();
    usual.set_attachment_mode("file-system");
    usual.set_access_mode("single-node-writer");
  }
  return row;
}

Result<v1::DynamicHostVolume> changed_volume(const v1::DynamicHostVolume& row, const v1::DescribedHostVolume& said,
                                             Purpose purpose) {
  Findings findings("validating volume update failed");
  const auto stays = [&](const std::string& is, const std::string& wanted, const char* name) {
    findings.require(wanted.empty() || wanted == is, std::string(name) + " cannot be updated");
  };
  stays(row.name(), said.name(), "name");
  stays(row.node_id(), said.node_id(), "node ID");
  stays(row.node_pool(), said.node_pool(), "node pool");
  stays(row.plugin_id(), said.plugin_id(), "plugin ID");
  const int64_t most = said.requested_capacity_max_bytes();
  findings.require(most == 0 || most >= row.capacity(), "capacity_max (" + std::to_string(most) +
                                                            ") cannot be less than existing provisioned capacity (" +
                                                            std::to_string(row.capacity()) + ")");
  findings.require(row.is_registered() == (purpose == Purpose::registering),
                   row.is_registered() ? "it was registered, and is registered again rather than created"
                                       : "it was created, and is created again rather than registered");
  DROVER_RETURN_IF_ERROR(findings.status());
  v1::DynamicHostVolume changed = row;
  changed.clear_last_error();
  take_changeable(said, changed);
  take_registered(said, purpose, changed);
  return changed;
}

}  // namespace drover::host_volumes
