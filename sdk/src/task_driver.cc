#include "drover/task_driver.h"

#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover {

using Spec = hashicorp::nomad::plugins::shared::hclspec::Spec;

Spec TaskDriver::config_schema() const { return {}; }

Status TaskDriver::configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest&) { return ok_status(); }

Spec TaskDriver::task_config_schema() const { return {}; }

}  // namespace drover
