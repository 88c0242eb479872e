// Faults of identity, controller, volumes, attachment, expansion and lists.
#include "faults.h"

#include "drover/uuid.h"

namespace drover::csi_kit {
namespace {

using Rpc = v1::ControllerServiceCapability::RPC;
const std::string kLarge(5000, 'x');

// Both of a list that has pages, by the kind of entry.
template <typename List>
void add_paging(Faults& out, const std::map<std::string_view, std::string_view>& names) {
  const auto put = [&](std::string_view what, Fault fault) {
    if (const auto name = names.find(what); name != names.end()) out[name->second] = std::move(fault);
  };
  put("all", edits<List>([](const List&, auto& answer) { answer.mutable_entries()->RemoveLast(); }));
  put("one-by-one", hears<List>([](List& request) { request.set_max_entries(2); }));
  put("two-by-two", edits<List>([](const List&, auto& answer) { *answer.add_entries() = answer.entries(0); },
                                [](const Passing&, const List& request) { return !request.starting_token().empty(); }));
  put("goes-on", edits<List>([](const List&, auto& answer) { answer.clear_next_token(); }));
  put("token", hears<List>([](List& request) { request.clear_starting_token(); }));
  put("deleted", fails<List>(Code::internal,
                             [](const Passing&, const List& request) { return !request.starting_token().empty(); }));
}

void add_identity(Faults& out) {
  using Info = v1::GetPluginInfoRequest;
  using Capabilities = v1::GetPluginCapabilitiesRequest;
  out["identity.name"] = edits<Info>([](const Info&, auto& answer) { answer.set_name("-my plugin"); });
  out["identity.version"] = edits<Info>([](const Info&, auto& answer) { answer.clear_vendor_version(); });
  out["identity.same-info"] = edits_later<Info>([](const Info&, auto& answer) { answer.set_name("other"); });
  out["identity.capabilities"] = edits<Capabilities>([](const auto&, auto& answer) { answer.add_capabilities(); });
  out["identity.same-capabilities"] =
      edits_later<Capabilities>([](const auto&, auto& answer) { answer.clear_capabilities(); });
  out["identity.ready"] =
      edits<v1::ProbeRequest>([](const auto&, auto& answer) { answer.mutable_ready()->set_value(false); });
  out["identity.serves"] = both(fails<v1::ControllerGetCapabilitiesRequest>(Code::unimplemented),
                                fails<v1::NodeGetCapabilitiesRequest>(Code::unimplemented));
  out["identity.says-controller"] = edits<Capabilities>([](const auto&, auto& answer) { answer.clear_capabilities(); });
  out["hostile.garbage-identity"] = pretends<Info>();
  out["concurrency.reads"] = fails_later<Capabilities>(Code::aborted, 3);
}

void add_controller(Faults& out) {
  using Capabilities = v1::ControllerGetCapabilitiesRequest;
  using Room = v1::GetCapacityRequest;
  out["controller.capabilities"] =
      edits<Capabilities>([](const auto&, auto& answer) { *answer.add_capabilities() = answer.capabilities(0); });
  out["controller.same-capabilities"] =
      edits_later<Capabilities>([](const auto&, auto& answer) { answer.clear_capabilities(); });
  out["controller.consistent"] = edits<Capabilities>([](const auto&, auto& answer) {
    answer.clear_capabilities();
    answer.add_capabilities()->mutable_rpc()->set_type(Rpc::PUBLISH_READONLY);
  });
  out["controller.room"] = edits<Room>([](const auto&, auto& answer) { answer.set_available_capacity(-1); });
  out["controller.room-for"] = fails<Room>(
      Code::internal, [](const Passing&, const Room& request) { return !request.volume_capabilities().empty(); });
  out["controller.no-modify"] = says<v1::ControllerModifyVolumeRequest>(Code::unimplemented, Code::internal);
  out["controller.no-groups"] = says<v1::CreateVolumeGroupSnapshotRequest>(Code::unimplemented, Code::internal);
}

void add_volumes(Faults& out) {
  using Create = v1::CreateVolumeRequest;
  using Delete = v1::DeleteVolumeRequest;
  using Validate = v1::ValidateVolumeCapabilitiesRequest;
  out["volumes.create"] = edits<Create>([](const auto&, auto& answer) { answer.mutable_volume()->clear_volume_id(); });
  out["volumes.capacity"] =
      edits<Create>([](const auto&, auto& answer) { answer.mutable_volume()->set_capacity_bytes(1); });
  out["volumes.limit"] =
      edits<Create>([](const auto&, auto& answer) { answer.mutable_volume()->set_capacity_bytes(int64_t{1} << 50); });
  out["volumes.no-demand"] = fails<Create>(
      Code::invalid_argument, [](const Passing&, const Create& request) { return !request.has_capacity_range(); });
  out["volumes.context-size"] = edits<Create>(
      [](const auto&, auto& answer) { (*answer.mutable_volume()->mutable_volume_context())["large"] = kLarge; });
  out["volumes.places"] =
      edits<Create>([](const auto&, auto& answer) { answer.mutable_volume()->clear_accessible_topology(); });
  out["volumes.long-name"] = fails<Create>(
      Code::invalid_argument, [](const Passing&, const Create& request) { return request.name().size() > 100; });
  out["volumes.unicode-name"] = fails<Create>(Code::invalid_argument, [](const Passing&, const Create& request) {
    return request.name().find("ö") != std::string::npos;
  });
  const auto same = [](const auto&, auto& answer) { answer.mutable_volume()->set_volume_id("the-same"); };
  const auto other = [](const auto&, auto& answer) {
    answer.mutable_volume()->set_volume_id(Uuid::random().to_string());
  };
  out["volumes.two-names"] = out["concurrency.names"] = edits<Create>(same);
  out["idempotency.create"] = out["restart.volume"] = edits_later<Create>(other);
  out["concurrency.same-name"] = edits<Create>(other);
  out["volumes.validate"] = edits<Validate>([](const auto&, auto& answer) { answer.clear_confirmed(); });
  out["volumes.validate-context"] = edits<Validate>(
      [](const auto&, auto& answer) { (*answer.mutable_confirmed()->mutable_volume_context())["a"] = "b"; });
  out["volumes.get"] = edits<v1::ControllerGetVolumeRequest>(same);
  out["volumes.deleted"] = out["clean.volumes"] = pretends<Delete>();
  out["volumes.name-again"] = fails_again<Create>(Code::already_exists);
  out["idempotency.create-otherwise"] = says<Create>(Code::already_exists, Code::ok);
  out["idempotency.delete"] = fails_later<Delete>(Code::not_found);
  out["idempotency.delete-unknown"] = out["restart.delete"] = fails<Delete>(Code::not_found);
  out["concurrency.delete"] = fails_later<Delete>(Code::internal, 3);
  out["hostile.garbage-controller"] = pretends<Create>();
}

void add_attachment(Faults& out) {
  using Attach = v1::ControllerPublishVolumeRequest;
  using Detach = v1::ControllerUnpublishVolumeRequest;
  using List = v1::ListVolumesRequest;
  out["publish.attach"] = fails<Attach>(Code::internal);
  out["publish.context-size"] =
      edits<Attach>([](const auto&, auto& answer) { (*answer.mutable_publish_context())["large"] = kLarge; });
  out["publish.detach"] = out["restart.detach"] = out["clean.attachments"] = fails<Detach>(Code::internal);
  out["publish.again"] = fails_later<Attach>(Code::internal);
  out["publish.other-way"] =
      fails<Attach>(Code::internal, [](const Passing&, const Attach& request) { return request.readonly(); });
  out["publish.listed"] = edits<List>([](const auto&, auto& answer) {
    for (auto& each : *answer.mutable_entries()) each.clear_status();
  });
  out["publish.unlisted"] = pretends<Detach>();
  out["publish.from-all"] =
      pretends<Detach>([](const Passing&, const Detach& request) { return request.node_id().empty(); });
  out["publish.in-use"] = says<v1::DeleteVolumeRequest>(Code::failed_precondition, Code::ok);
  out["idempotency.attach"] =
      edits_later<Attach>([](const auto&, auto& answer) { (*answer.mutable_publish_context())["time"] = "another"; });
  out["idempotency.attach-otherwise"] = says<Attach>(Code::already_exists, Code::ok);
  out["idempotency.detach"] = fails_later<Detach>(Code::internal);
  out["idempotency.detach-unknown"] = fails<Detach>(Code::internal);
  out["concurrency.attach"] = fails_later<Attach>(Code::internal, 3);
}

void add_expansion(Faults& out) {
  using Expand = v1::ControllerExpandVolumeRequest;
  using Get = v1::ControllerGetVolumeRequest;
  out["expansion.grows"] = edits<Expand>([](const auto&, auto& answer) { answer.set_capacity_bytes(1); });
  out["expansion.again"] = fails_again<Expand>(Code::invalid_argument);
  out["expansion.never-less"] = edits<Expand>([](const Expand& request, auto& answer) {
    answer.set_capacity_bytes(request.capacity_range().required_bytes());
  });
  out["expansion.impossible"] = says<Expand>(Code::out_of_range, Code::ok);
  out["expansion.seen"] = edits<Get>([](const auto&, auto& answer) { answer.mutable_volume()->set_capacity_bytes(1); });
  out["expansion.on-node"] = fails<v1::NodeExpandVolumeRequest>(Code::internal);
}

}  // namespace

Faults controller_faults() {
  Faults out;
  add_identity(out);
  add_controller(out);
  add_volumes(out);
  add_attachment(out);
  add_expansion(out);
  add_paging<v1::ListVolumesRequest>(out, {{"all", "paging.volumes-all"},
                                           {"one-by-one", "paging.volumes-one-by-one"},
                                           {"two-by-two", "paging.volumes-two-by-two"},
                                           {"goes-on", "paging.volumes-goes-on"},
                                           {"token", "paging.volumes-token"},
                                           {"deleted", "paging.volumes-deleted"}});
  add_paging<v1::ListSnapshotsRequest>(out, {{"all", "paging.snapshots-all"},
                                             {"one-by-one", "paging.snapshots-one-by-one"},
                                             {"goes-on", "paging.snapshots-goes-on"},
                                             {"token", "paging.snapshots-token"}});
  return out;
}

}  // namespace drover::csi_kit
