// Faults of refusals: another code, or no refusal at all.
#include "faults.h"

namespace drover::csi_kit {
namespace {

// The right code becomes `internal`, which tells a host nothing.
template <typename Request>
Fault does_not_say(Code right) {
  return says<Request>(right, Code::internal);
}

void add_missing_fields(Faults& out) {
  const auto put = [&]<typename Request>(std::initializer_list<std::string_view> checks, const Request*) {
    for (const std::string_view each : checks) out[each] = does_not_say<Request>(Code::invalid_argument);
  };
  using namespace ::csi::v1;
  put({"errors.create-name", "errors.create-capabilities", "errors.create-mode", "errors.create-type"},
      static_cast<CreateVolumeRequest*>(nullptr));
  put({"errors.delete-id"}, static_cast<DeleteVolumeRequest*>(nullptr));
  put({"errors.validate-id", "errors.validate-capabilities"}, static_cast<ValidateVolumeCapabilitiesRequest*>(nullptr));
  put({"errors.attach-id", "errors.attach-node", "errors.attach-capability"},
      static_cast<ControllerPublishVolumeRequest*>(nullptr));
  put({"errors.detach-id"}, static_cast<ControllerUnpublishVolumeRequest*>(nullptr));
  put({"errors.snapshot-name", "errors.snapshot-source"}, static_cast<CreateSnapshotRequest*>(nullptr));
  put({"errors.delete-snapshot-id"}, static_cast<DeleteSnapshotRequest*>(nullptr));
  put({"errors.expand-id", "errors.expand-range"}, static_cast<ControllerExpandVolumeRequest*>(nullptr));
  put({"errors.get-id"}, static_cast<ControllerGetVolumeRequest*>(nullptr));
  put({"errors.stage-id", "errors.stage-path", "errors.stage-capability"},
      static_cast<NodeStageVolumeRequest*>(nullptr));
  put({"errors.unstage-id", "errors.unstage-path"}, static_cast<NodeUnstageVolumeRequest*>(nullptr));
  put({"errors.publish-id", "errors.publish-target", "errors.publish-capability"},
      static_cast<NodePublishVolumeRequest*>(nullptr));
  put({"errors.unpublish-id", "errors.unpublish-target"}, static_cast<NodeUnpublishVolumeRequest*>(nullptr));
  put({"errors.stats-id", "errors.stats-path"}, static_cast<NodeGetVolumeStatsRequest*>(nullptr));
}

void add_unknowns(Faults& out) {
  out["errors.validate-unknown"] = does_not_say<v1::ValidateVolumeCapabilitiesRequest>(Code::not_found);
  out["errors.attach-unknown"] = out["errors.attach-unknown-node"] =
      does_not_say<v1::ControllerPublishVolumeRequest>(Code::not_found);
  out["errors.snapshot-unknown"] = does_not_say<v1::CreateSnapshotRequest>(Code::not_found);
  out["errors.get-unknown"] = does_not_say<v1::ControllerGetVolumeRequest>(Code::not_found);
  out["errors.get-snapshot-unknown"] = does_not_say<v1::GetSnapshotRequest>(Code::not_found);
  out["errors.expand-unknown"] = does_not_say<v1::ControllerExpandVolumeRequest>(Code::not_found);
  out["errors.restore-unknown"] = out["errors.clone-unknown"] = does_not_say<v1::CreateVolumeRequest>(Code::not_found);
  out["errors.create-range"] = out["errors.create-too-large"] =
      does_not_say<v1::CreateVolumeRequest>(Code::out_of_range);
}

void add_hostile(Faults& out) {
  using Create = v1::CreateVolumeRequest;
  using Validate = v1::ValidateVolumeCapabilitiesRequest;
  out["hostile.control-characters"] = out["hostile.unknown-mode"] = out["hostile.negative"] =
      says<Create>(Code::invalid_argument, Code::ok);
  out["hostile.long-id"] = fails<Validate>(Code::unavailable);
  out["hostile.path-as-id"] = says<Validate>(Code::invalid_argument, Code::ok);
  out["hostile.secret"] = on<Create>(everywhere<Create>, [](Passing& passing) -> Result<std::string> {
    auto answer = passing.forward(passing.request);
    if (answer.ok()) return answer;
    return answer.status().with_context("cannot log in as " + request_of<Create>(passing).secrets().at("password"));
  });
}

}  // namespace

Faults error_faults() {
  Faults out;
  add_missing_fields(out);
  add_unknowns(out);
  add_hostile(out);
  return out;
}

}  // namespace drover::csi_kit
