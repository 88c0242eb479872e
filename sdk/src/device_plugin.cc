#include "drover/device_plugin.h"

#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover {

hashicorp::nomad::plugins::shared::hclspec::Spec DevicePlugin::config_schema() const { return {}; }

Status DevicePlugin::configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest&) { return ok_status(); }

}  // namespace drover
