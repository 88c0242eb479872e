#include "claims/claiming.h"

#include <algorithm>

#include "controllers.h"
#include "drover/methods.h"
#include "drover/model/csi_volume.h"
#include "drover/model/job.h"
#include "drover/model/node.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/node_csi.pb.h"
#include "drover/workload.h"

namespace drover::volumes {
namespace {

// The request of the allocation's job that means the volume. A node gets no volume that its allocation did not ask for.
Result<v1::VolumeRequest> request_of(const ReadView& view, const Tables& tables, const v1::Allocation& alloc,
                                     const v1::CsiClaimRequest& asked) {
  const auto job = Table<v1::Job>(tables.job_versions)
                       .get(view, job_version_key(alloc.namespace_(), alloc.job_id(), alloc.job_version()));
  const v1::TaskGroup* group = job ? find_group(*job, alloc.task_group()) : nullptr;
  if (group) {
    for (const auto& [label, request] : group->volumes()) {
      if (request.type() == "csi" && csi_volume_id(request, alloc.name()) == asked.name().volume_id() &&
          request.read_only() == asked.read_only() && request.access_mode() == asked.access_mode() &&
          request.attachment_mode() == asked.attachment_mode())
        return request;
    }
  }
  return invalid_argument("the allocation's job does not ask for the volume " + asked.name().volume_id() + " so");
}

// The volume's options, with the job's in their place where it has any.
v1::MountOptions merged(const v1::MountOptions& volume, const v1::MountOptions& job) {
  v1::MountOptions options = volume;
  if (!job.fs_type().empty()) options.set_fs_type(job.fs_type());
  if (!job.mount_flags().empty()) *options.mutable_mount_flags() = job.mount_flags();
  return options;
}

Status refusal(CsiFit fit, const v1::CsiVolume& volume, const v1::VolumeRequest& request) {
  switch (fit) {
    case CsiFit::fits:
      return ok_status();
    case CsiFit::wrong_capability:
      return invalid_argument("volume " + volume.id() + " has no capability " + request.access_mode() + " with " +
                              request.attachment_mode());
    case CsiFit::read_only:
      return invalid_argument("the access mode " + request.access_mode() + " lets nobody write");
    case CsiFit::unschedulable:
      return failed_precondition("volume is currently unschedulable: the plugin \"" + volume.plugin_id() +
                                 "\" has no healthy node plugin, or lacks a controller");
    case CsiFit::other_mode:
      return failed_precondition("volume is in use with the access mode " + volume.access_mode() +
                                 " and the attachment mode " + volume.attachment_mode());
    default:
      return failed_precondition(std::string(kNoClaimLeft));
  }
}

// True when the plugin attaches volumes to nodes by controllers.
bool does_attach(const ReadView& view, const Tables& tables, const std::string& plugin_id) {
  return std::ranges::any_of(controllers_of(view, tables.nodes, plugin_id),
                             [](const ControllerPlace& place) { return place.info.supports_attach_detach(); });
}

// A claim that is there already: the same again, unless it is on its way back.
Result<v1::CsiClaim> again(v1::CsiClaim claim) {
  if (claim.step() == v1::CSI_CLAIM_STEP_CLAIMED || claim.step() == v1::CSI_CLAIM_STEP_ATTACHED) return claim;
  return failed_precondition("the allocation's former claim on the volume is being given back");
}

}  // namespace

Result<v1::CsiClaim> claim_of_caller(const ReadView& view, const Tables& tables, const v1::CsiClaimName& name,
                                     int64_t now) {
  const auto node = Table<v1::Node>(tables.nodes).get(view, name.node_id());
  if (!node || !is_proof_of(*node, name.secret_id(), now)) return access_denied();
  std::optional<v1::CsiClaim> found;
  tables.claims.scan(view, kClaimsByAlloc, of_id(name.alloc_id()), [&](v1::CsiClaim& claim, std::string_view) {
    if (claim.volume_id() == name.volume_id()) found = std::move(claim);
    return !found;
  });
  if (!found) return not_found("there is no such claim");
  if (found->node_id() != name.node_id()) return access_denied();
  return *std::move(found);
}

Result<v1::CsiClaim> decide_claim(const ReadView& view, const Tables& tables, const v1::CsiClaimRequest& request,
                                  int64_t now) {
  const v1::CsiClaimName& name = request.name();
  DROVER_TRY(const v1::Allocation alloc, allocation_of_caller(view, tables.nodes, tables.allocs, name.node_id(),
                                                              name.secret_id(), name.alloc_id(), now));
  DROVER_TRY(const v1::VolumeRequest wanted, request_of(view, tables, alloc, request));
  const auto volume = tables.volumes.get(view, csi_volume_key(alloc.namespace_(), name.volume_id()));
  if (!volume) return not_found(std::string(kUnknownVolume) + ": " + name.volume_id());
  std::vector<v1::CsiClaim> others = claims_on(view, tables, alloc.namespace_(), name.volume_id());
  const auto own = std::ranges::find(others, name.alloc_id(), [](const v1::CsiClaim& each) { return each.alloc_id(); });
  if (own != others.end()) return again(std::move(*own));
  const CsiPluginState plugin = csi_plugin_state(view, tables.nodes, volume->plugin_id());
  DROVER_RETURN_IF_ERROR(refusal(csi_fit(*volume, plugin.may_be_used(), others, wanted), *volume, wanted));
  const auto node = Table<v1::Node>(tables.nodes).get(view, name.node_id());
  const auto here = node->csi_node_plugins().find(volume->plugin_id());
  if (here == node->csi_node_plugins().end() || !here->second.healthy())
    return failed_precondition("the node has no healthy plugin \"" + volume->plugin_id() + "\"");

  v1::CsiClaim claim;
  claim.set_namespace_(alloc.namespace_());
  claim.set_volume_id(name.volume_id());
  claim.set_alloc_id(alloc.id());
  claim.set_job_id(alloc.job_id());
  claim.set_node_id(name.node_id());
  claim.set_external_node_id(here->second.node_info().id());
  claim.set_plugin_id(volume->plugin_id());
  claim.set_external_volume_id(csi_remote_id(*volume));
  claim.set_read_only(wanted.read_only());
  claim.set_access_mode(wanted.access_mode());
  claim.set_attachment_mode(wanted.attachment_mode());
  *claim.mutable_mount_options() = merged(volume->mount_options(), wanted.mount_options());
  claim.set_attaches(plugin.controller_required && does_attach(view, tables, volume->plugin_id()));
  *claim.mutable_volume_context() = volume->context();
  claim.set_step(claim.attaches() ? v1::CSI_CLAIM_STEP_CLAIMED : v1::CSI_CLAIM_STEP_ATTACHED);
  claim.set_since(now);
  return claim;
}

}  // namespace drover::volumes
