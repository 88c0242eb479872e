// The service Identity: what the plugin is, the same from each of its instances. [any]
#pragma once

#include "drover/result.h"

namespace csi::v1 {
class GetPluginCapabilitiesRequest;
class GetPluginCapabilitiesResponse;
class GetPluginInfoRequest;
class GetPluginInfoResponse;
class ProbeRequest;
class ProbeResponse;
}  // namespace csi::v1

namespace drover::hostpath {

struct Plugin;

class Identity {
 public:
  explicit Identity(Plugin& plugin) : plugin_(plugin) {}

  Result<csi::v1::GetPluginInfoResponse> info(const csi::v1::GetPluginInfoRequest& request);
  Result<csi::v1::GetPluginCapabilitiesResponse> capabilities(const csi::v1::GetPluginCapabilitiesRequest& request);
  // Errors: failed_precondition when the plugin's folder cannot be used.
  Result<csi::v1::ProbeResponse> probe(const csi::v1::ProbeRequest& request);

 private:
  Plugin& plugin_;
};

}  // namespace drover::hostpath
