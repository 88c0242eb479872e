#include "volume_rules.h"

#include <algorithm>

#include "drover/api/volumes.pb.h"
#include "drover/findings.h"
#include "drover/model/csi_volume.h"
#include "drover/plain_text.h"
#include "drover/v1/csi.pb.h"

namespace drover::volumes {
namespace {

constexpr size_t kMaxId = 128;  // bytes

void check_id(const char* what, const std::string& id, bool is_required, Findings& findings) {
  findings.require(!is_required || !id.empty(), std::string("missing ") + what);
  findings.require(id.size() <= kMaxId, std::string(what) + " is longer than 128 bytes");
  findings.require(is_plain_text(id), std::string(what) + " has control characters");
}

void check_capability(const v1::CsiVolumeCapability& capability, Findings& findings) {
  findings.require(is_csi_access_mode(capability.access_mode()),
                   "access mode '" + capability.access_mode() + "' is none");
  findings.require(is_csi_attachment_mode(capability.attachment_mode()),
                   "attachment mode '" + capability.attachment_mode() + "' is none");
}

template <typename Terms>
void check_topologies(const char* which, const Terms& terms, Findings& findings) {
  for (const v1::CsiTopology& term : terms)
    findings.require(!term.segments().empty(), std::string(which) + " topology is missing segments field");
}

template <typename Map>
bool is_same_map(const Map& one, const Map& other) {
  return one.size() == other.size() && std::ranges::all_of(one, [&](const auto& entry) {
           const auto at = other.find(entry.first);
           return at != other.end() && at->second == entry.second;
         });
}

template <typename Terms>
bool are_same_topologies(const Terms& one, const Terms& other) {
  return std::ranges::equal(one, other, [](const v1::CsiTopology& a, const v1::CsiTopology& b) {
    return is_same_map(a.segments(), b.segments());
  });
}

// Collects what an operator may set again and again.
void take_changeable(const v1::Volume& said, v1::CsiVolume& row) {
  *row.mutable_mount_options() = said.mount_options();
  if (!said.context().empty()) *row.mutable_context() = said.context();
  *row.mutable_requested_capabilities() = said.requested_capabilities();
  row.set_requested_capacity_min(said.requested_capacity_min());
  row.set_requested_capacity_max(said.requested_capacity_max());
}

}  // namespace

Status check_volume(const v1::Volume& said, Purpose purpose) {
  Findings findings("volume validation");
  check_id("volume ID", said.id(), true, findings);
  check_id("plugin ID", said.plugin_id(), true, findings);
  check_id("external ID", said.external_id(), false, findings);
  check_id("name", said.name(), false, findings);
  findings.require(!said.namespace_().empty() && said.namespace_() != "*", "missing namespace");
  findings.require(said.snapshot_id().empty() || said.clone_id().empty(),
                   "only one of snapshot_id and clone_id is allowed");
  findings.require(purpose == Purpose::registering || said.external_id().empty(),
                   "external_id is chosen by the storage: it is for volumes that are registered");
  findings.require(!said.requested_capabilities().empty(), "must include at least one capability block");
  for (const v1::CsiVolumeCapability& capability : said.requested_capabilities())
    check_capability(capability, findings);
  check_topologies("required", said.requested_topologies().required(), findings);
  check_topologies("preferred", said.requested_topologies().preferred(), findings);
  findings.require(said.requested_capacity_min() >= 0 && said.requested_capacity_max() >= 0,
                   "a capacity is below zero");
  findings.require(
      said.requested_capacity_max() == 0 || said.requested_capacity_min() <= said.requested_capacity_max(),
      "capacity_min is larger than capacity_max");
  return findings.status();
}

bool asks_for_topologies(const v1::Volume& said) {
  return !said.requested_topologies().required().empty() || !said.requested_topologies().preferred().empty();
}

v1::CsiVolume new_volume(const v1::Volume& said, Purpose purpose) {
  v1::CsiVolume row;
  row.set_id(said.id());
  row.set_namespace_(said.namespace_());
  row.set_name(said.name().empty() ? said.id() : said.name());
  row.set_external_id(said.external_id());
  row.set_plugin_id(said.plugin_id());
  if (said.has_requested_topologies()) *row.mutable_requested_topologies() = said.requested_topologies();
  if (purpose == Purpose::registering)
    *row.mutable_topologies() = said.topologies().empty() ? said.requested_topologies().required() : said.topologies();
  *row.mutable_parameters() = said.parameters();
  row.set_clone_id(said.clone_id());
  row.set_snapshot_id(said.snapshot_id());
  row.set_capacity(said.capacity());
  take_changeable(said, row);
  return row;
}

Result<v1::CsiVolume> changed_volume(const v1::CsiVolume& row, const v1::Volume& said) {
  Findings findings("volume requested update was invalid");
  const auto stays = [&](const std::string& is, const std::string& wanted, const char* name) {
    findings.require(wanted.empty() || wanted == is, std::string(name) + " cannot be updated");
  };
  stays(row.name(), said.name(), "volume name");
  stays(row.external_id(), said.external_id(), "external ID");
  stays(row.plugin_id(), said.plugin_id(), "plugin ID");
  stays(row.clone_id(), said.clone_id(), "clone ID");
  stays(row.snapshot_id(), said.snapshot_id(), "snapshot ID");
  findings.require(said.parameters().empty() || is_same_map(said.parameters(), row.parameters()),
                   "parameters cannot be updated");
  const v1::CsiTopologyRequest& topologies = said.requested_topologies();
  findings.require(!asks_for_topologies(said) ||
                       (are_same_topologies(topologies.required(), row.requested_topologies().required()) &&
                        are_same_topologies(topologies.preferred(), row.requested_topologies().preferred())),
                   "topology request cannot be updated");
  findings.require(
      said.requested_capacity_max() == 0 || row.capacity() == 0 || said.requested_capacity_max() >= row.capacity(),
      "capacity_max is smaller than the volume's capacity: volumes do not shrink");
  const bool keeps_mode =
      row.access_mode().empty() ||
      std::ranges::any_of(said.requested_capabilities(), [&](const v1::CsiVolumeCapability& capability) {
        return capability.access_mode() == row.access_mode() && capability.attachment_mode() == row.attachment_mode();
      });
  findings.require(keeps_mode, "the capability in use (" + row.access_mode() + ", " + row.attachment_mode() +
                                   ") cannot be taken away");
  DROVER_RETURN_IF_ERROR(findings.status());
  v1::CsiVolume changed = row;
  if (changed.topologies().empty()) *changed.mutable_topologies() = said.topologies();
  if (changed.external_id().empty()) changed.set_external_id(said.external_id());
  take_changeable(said, changed);
  return changed;
}

bool wants_more(const v1::CsiVolume& row, int64_t asked_before) {
  return row.requested_capacity_min() > (row.capacity() > 0 ? row.capacity() : asked_before);
}

}  // namespace drover::volumes
