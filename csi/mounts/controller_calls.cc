// The servers' calls that a controller plugin on this node answers.
#include <algorithm>

#include "csi/protocol/client.h"
#include "csi/protocol/convert.h"
#include "drover/pause.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node_csi.pb.h"
#include "node_rpc.h"

namespace drover::mounts {
namespace {

constexpr int kTries = 3;
constexpr std::chrono::milliseconds kFirstPause{100};

template <typename Request>
Status set_capability(const v1::CsiVolumeCapability& wanted, const v1::MountOptions& options, Request& request) {
  DROVER_TRY(*request.mutable_volume_capability(),
             csi::capability_of(wanted.access_mode(), wanted.attachment_mode(), options));
  return ok_status();
}

template <typename Wanted, typename Request>
Status add_capabilities(const Wanted& wanted, Request& request) {
  for (const v1::CsiVolumeCapability& one : wanted.capabilities()) {
    DROVER_TRY(*request.add_volume_capabilities(),
               csi::capability_of(one.access_mode(), one.attachment_mode(), wanted.mount_options()));
  }
  return ok_status();
}

template <typename Wanted>
csi::v1::CapacityRange range_of(const Wanted& wanted) {
  csi::v1::CapacityRange range;
  range.set_required_bytes(wanted.capacity_min());
  range.set_limit_bytes(wanted.capacity_max());
  return range;
}

}  // namespace

// One call of a server to the newest controller of a plugin: after its turn, within its time.
class NodeRpc::ControllerCall {
 public:
  // `turn`: empty for a call that need not wait for others. `term`: of the leader that asks; 0: of no matter.
  static Result<ControllerCall> begin(NodeRpc& rpc, const std::string& plugin_id, const std::string& turn,
                                      const Call& call, uint64_t term = 0) {
    DROVER_TRY(const Until until, rpc.until(call));
    std::optional<Turns::Turn> mine;
    if (!turn.empty()) {
      DROVER_TRY(Turns::Turn taken, rpc.setup_->turns.take(turn, until.end, until.stop));
      mine.emplace(std::move(taken));
    }
    DROVER_RETURN_IF_ERROR(rpc.leaders_.heed(term));
    DROVER_TRY(Instances::Found plugin, rpc.setup_->instances.find(Side::controller, plugin_id));
    return ControllerCall(rpc.setup_->host.clock(), until, std::move(mine), std::move(plugin));
  }

  const v1::CsiControllerInfo& can() const { return plugin_.info->controller_info(); }

  // A try may take all the time that is left. It is repeated while the plugin is away or has too much to do.
  template <typename Response, typename Request>
  Result<Response> ask(const Request& request) {
    auto pause = kFirstPause;
    for (int tries = 1;; ++tries, pause *= 2) {
      const auto left = std::max<std::chrono::nanoseconds>(until_.end - clock_.steady(), {});
      auto answer =
          plugin_.instance->client->call<Response>(request, {.each_try = left, .tries = 1}, until_.stop);
      const Code code = answer.status().code();
      if (tries == kTries || (code != Code::unavailable && code != Code::resource_exhausted)) return answer;
      if (!pause_until(std::min(clock_.steady() + pause, until_.end), until_.stop)) return answer;
    }
  }

 private:
  ControllerCall(Clock& clock, Until until, std::optional<Turns::Turn> turn, Instances::Found plugin)
      : clock_(clock), until_(std::move(until)), turn_(std::move(turn)), plugin_(std::move(plugin)) {}

  Clock& clock_;
  Until until_;
  std::optional<Turns::Turn> turn_;
  Instances::Found plugin_;
};

Result<v1::CsiAttachResponse> NodeRpc::attach(const v1::CsiAttachRequest& wanted, Call& call) {
  DROVER_TRY(ControllerCall controller,
             ControllerCall::begin(*this, wanted.plugin_id(),
                                   turn_of_volume(wanted.plugin_id(), wanted.external_volume_id()), call,
                                   wanted.leader_term()));
  csi::v1::ControllerPublishVolumeRequest request;
  request.set_volume_id(wanted.external_volume_id());
  request.set_node_id(wanted.external_node_id());
  request.set_readonly(wanted.read_only() && controller.can().supports_read_only_attach());
  *request.mutable_secrets() = wanted.secrets();
  *request.mutable_volume_context() = wanted.volume_context();
  DROVER_RETURN_IF_ERROR(set_capability(wanted.capability(), wanted.mount_options(), request));
  auto answer = controller.ask<csi::v1::ControllerPublishVolumeResponse>(request);
  // As the servers say it where a node cannot be reached, they would try again for ever.
  if (answer.status().code() == Code::not_found) return invalid_argument(answer.status().message());
  if (!answer) return answer.status();
  v1::CsiAttachResponse out;
  *out.mutable_publish_context() = std::move(*answer->mutable_publish_context());
  return out;
}

// A volume that its storage does not know is attached nowhere; neither is one of a storage that does not attach.
Result<v1::CsiDoneResponse> NodeRpc::detach(const v1::CsiDetachRequest& wanted, Call& call) {
  DROVER_TRY(ControllerCall controller,
             ControllerCall::begin(*this, wanted.plugin_id(),
                                   turn_of_volume(wanted.plugin_id(), wanted.external_volume_id()), call,
                                   wanted.leader_term()));
  csi::v1::ControllerUnpublishVolumeRequest request;
  request.set_volume_id(wanted.external_volume_id());
  request.set_node_id(wanted.external_node_id());
  *request.mutable_secrets() = wanted.secrets();
  const Status status = controller.ask<csi::v1::ControllerUnpublishVolumeResponse>(request).status();
  if (!status.ok() && status.code() != Code::not_found && status.code() != Code::unimplemented) return status;
  return v1::CsiDoneResponse();
}

Result<v1::CsiDoneResponse> NodeRpc::validate(const v1::CsiValidateRequest& wanted, Call& call) {
  DROVER_TRY(ControllerCall controller,
             ControllerCall::begin(*this, wanted.plugin_id(),
                                   turn_of_volume(wanted.plugin_id(), wanted.external_volume_id()), call));
  csi::v1::ValidateVolumeCapabilitiesRequest request;
  request.set_volume_id(wanted.external_volume_id());
  *request.mutable_secrets() = wanted.secrets();
  *request.mutable_parameters() = wanted.parameters();
  *request.mutable_volume_context() = wanted.volume_context();
  DROVER_RETURN_IF_ERROR(add_capabilities(wanted, request));
  DROVER_TRY(const auto answer, controller.ask<csi::v1::ValidateVolumeCapabilitiesResponse>(request));
  DROVER_RETURN_IF_ERROR(csi::confirmed(request, answer));
  return v1::CsiDoneResponse();
}

Result<v1::CsiCreateResponse> NodeRpc::create(const v1::CsiCreateRequest& wanted, Call& call) {
  DROVER_TRY(ControllerCall controller,
             ControllerCall::begin(*this, wanted.plugin_id(), turn_of_name(wanted.plugin_id(), wanted.name()), call));
  if (!controller.can().supports_create_delete())
    return unimplemented("the plugin \"" + wanted.plugin_id() + "\" cannot create volumes");
  csi::v1::CreateVolumeRequest request;
  request.set_name(wanted.name());
  *request.mutable_secrets() = wanted.secrets();
  *request.mutable_parameters() = wanted.parameters();
  if (wanted.capacity_min() > 0 || wanted.capacity_max() > 0) *request.mutable_capacity_range() = range_of(wanted);
  if (!wanted.snapshot_id().empty())
    request.mutable_volume_content_source()->mutable_snapshot()->set_snapshot_id(wanted.snapshot_id());
  if (!wanted.clone_id().empty())
    request.mutable_volume_content_source()->mutable_volume()->set_volume_id(wanted.clone_id());
  if (wanted.has_topologies())
    *request.mutable_accessibility_requirements() = csi::requirement_of(wanted.topologies());
  DROVER_RETURN_IF_ERROR(add_capabilities(wanted, request));
  DROVER_TRY(const auto answer, controller.ask<csi::v1::CreateVolumeResponse>(request));
  return csi::created_of(answer);
}

Result<v1::CsiDoneResponse> NodeRpc::remove(const v1::CsiDeleteRequest& wanted, Call& call) {
  DROVER_TRY(ControllerCall controller,
             ControllerCall::begin(*this, wanted.plugin_id(),
                                   turn_of_volume(wanted.plugin_id(), wanted.external_volume_id()), call));
  if (!controller.can().supports_create_delete())
    return unimplemented("the plugin \"" + wanted.plugin_id() + "\" cannot delete volumes");
  csi::v1::DeleteVolumeRequest request;
  request.set_volume_id(wanted.external_volume_id());
  *request.mutable_secrets() = wanted.secrets();
  DROVER_RETURN_IF_ERROR(controller.ask<csi::v1::DeleteVolumeResponse>(request).status());
  return v1::CsiDoneResponse();
}

Result<v1::CsiListResponse> NodeRpc::list(const v1::CsiListRequest& wanted, Call& call) {
  DROVER_TRY(ControllerCall controller, ControllerCall::begin(*this, wanted.plugin_id(), "", call));
  if (!controller.can().supports_list_volumes())
    return unimplemented("the plugin \"" + wanted.plugin_id() + "\" cannot list volumes");
  csi::v1::ListVolumesRequest request;
  request.set_max_entries(wanted.max_entries());
  request.set_starting_token(wanted.starting_token());
  DROVER_TRY(const auto answer, controller.ask<csi::v1::ListVolumesResponse>(request));
  return csi::listed_of(answer);
}

Result<v1::CsiExpandResponse> NodeRpc::expand(const v1::CsiExpandRequest& wanted, Call& call) {
  DROVER_TRY(ControllerCall controller,
             ControllerCall::begin(*this, wanted.plugin_id(),
                                   turn_of_volume(wanted.plugin_id(), wanted.external_volume_id()), call));
  if (!controller.can().supports_expand())
    return unimplemented("the plugin \"" + wanted.plugin_id() + "\" cannot expand volumes");
  csi::v1::ControllerExpandVolumeRequest request;
  request.set_volume_id(wanted.external_volume_id());
  *request.mutable_secrets() = wanted.secrets();
  *request.mutable_capacity_range() = range_of(wanted);
  if (wanted.has_capability())
    DROVER_RETURN_IF_ERROR(set_capability(wanted.capability(), wanted.mount_options(), request));
  DROVER_TRY(const auto answer, controller.ask<csi::v1::ControllerExpandVolumeResponse>(request));
  v1::CsiExpandResponse out;
  out.set_capacity(answer.capacity_bytes());
  out.set_needs_node(answer.node_expansion_required());
  return out;
}

Result<v1::CsiSnapshotResponse> NodeRpc::create_snapshot(const v1::CsiCreateSnapshotRequest& wanted, Call& call) {
  DROVER_TRY(ControllerCall controller,
             ControllerCall::begin(*this, wanted.plugin_id(),
                                   turn_of_volume(wanted.plugin_id(), wanted.external_volume_id()), call));
  if (!controller.can().supports_create_delete_snapshot())
    return unimplemented("the plugin \"" + wanted.plugin_id() + "\" cannot create snapshots");
  csi::v1::CreateSnapshotRequest request;
  request.set_source_volume_id(wanted.external_volume_id());
  request.set_name(wanted.name());
  *request.mutable_secrets() = wanted.secrets();
  *request.mutable_parameters() = wanted.parameters();
  DROVER_TRY(const auto answer, controller.ask<csi::v1::CreateSnapshotResponse>(request));
  v1::CsiSnapshotResponse out;
  DROVER_TRY(*out.mutable_snapshot(), csi::snapshot_of(answer.snapshot()));
  return out;
}

Result<v1::CsiDoneResponse> NodeRpc::remove_snapshot(const v1::CsiDeleteSnapshotRequest& wanted, Call& call) {
  DROVER_TRY(ControllerCall controller,
             ControllerCall::begin(*this, wanted.plugin_id(),
                                   turn_of_snapshot(wanted.plugin_id(), wanted.snapshot_id()), call));
  if (!controller.can().supports_create_delete_snapshot())
    return unimplemented("the plugin \"" + wanted.plugin_id() + "\" cannot delete snapshots");
  csi::v1::DeleteSnapshotRequest request;
  request.set_snapshot_id(wanted.snapshot_id());
  *request.mutable_secrets() = wanted.secrets();
  DROVER_RETURN_IF_ERROR(controller.ask<csi::v1::DeleteSnapshotResponse>(request).status());
  return v1::CsiDoneResponse();
}

Result<v1::CsiListSnapshotsResponse> NodeRpc::list_snapshots(const v1::CsiListSnapshotsRequest& wanted, Call& call) {
  DROVER_TRY(ControllerCall controller, ControllerCall::begin(*this, wanted.plugin_id(), "", call));
  if (!controller.can().supports_list_snapshots())
    return unimplemented("the plugin \"" + wanted.plugin_id() + "\" cannot list snapshots");
  csi::v1::ListSnapshotsRequest request;
  request.set_max_entries(wanted.max_entries());
  request.set_starting_token(wanted.starting_token());
  *request.mutable_secrets() = wanted.secrets();
  DROVER_TRY(const auto answer, controller.ask<csi::v1::ListSnapshotsResponse>(request));
  v1::CsiListSnapshotsResponse out;
  for (const auto& entry : answer.entries()) {
    DROVER_TRY(*out.add_snapshots(), csi::snapshot_of(entry.snapshot()));
  }
  out.set_next_token(answer.next_token());
  return out;
}

}  // namespace drover::mounts
