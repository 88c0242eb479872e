#include "identity.h"

#include "csi/v1/csi.pb.h"
#include "hostpath.pb.h"
#include "plugin.h"

namespace drover::hostpath {
namespace {

constexpr const char* kName = "hostpath.csi.drover";

using Reported = csi::v1::PluginCapability;

}  // namespace

Result<csi::v1::GetPluginInfoResponse> Identity::info(const csi::v1::GetPluginInfoRequest&) {
  csi::v1::GetPluginInfoResponse response;
  response.set_name(kName);
  response.set_vendor_version(DROVER_HOSTPATH_VERSION);
  return response;
}

Result<csi::v1::GetPluginCapabilitiesResponse> Identity::capabilities(const csi::v1::GetPluginCapabilitiesRequest&) {
  csi::v1::GetPluginCapabilitiesResponse response;
  const auto add = [&](Reported::Service::Type type) {
    response.add_capabilities()->mutable_service()->set_type(type);
  };
  const bool has_controller = plugin_.settings.has_controller || plugin_.settings.controller_elsewhere;
  if (has_controller) {
    add(Reported::Service::CONTROLLER_SERVICE);
    response.add_capabilities()->mutable_volume_expansion()->set_type(Reported::VolumeExpansion::ONLINE);
  }
  if (!plugin_.settings.topology.empty()) add(Reported::Service::VOLUME_ACCESSIBILITY_CONSTRAINTS);
  return response;
}

Result<csi::v1::ProbeResponse> Identity::probe(const csi::v1::ProbeRequest&) {
  const Status status = plugin_.store.read([](const State&) { return ok_status(); });
  if (!status.ok()) return failed_precondition(status.message());
  csi::v1::ProbeResponse response;
  response.mutable_ready()->set_value(true);
  return response;
}

}  // namespace drover::hostpath
