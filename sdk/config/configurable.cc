#include "drover/configurable.h"

#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover {

hashicorp::nomad::plugins::shared::hclspec::Spec Configurable::config_schema() const { return {}; }

void Configurable::set_agent(const AgentInfo&) {}

Status Configurable::configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest&) { return ok_status(); }

}  // namespace drover
