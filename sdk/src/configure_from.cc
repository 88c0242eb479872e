// The configuration of a plugin of the exact tier: what a host does for the other forms.
#include "drover/config.h"
#include "drover/configurable.h"
#include "drover/hclspec.h"
#include "drover/plugin.h"

#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover {

Status configure_from(const Host& host, Configurable& plugin) {
  hashicorp::nomad::plugins::base::proto::SetConfigRequest request;
  const ConfigBlock* own = host.configuration("plugin");
  const hclspec::Spec schema = plugin.config_schema();
  if (schema.ByteSizeLong() != 0) {
    DROVER_RETURN_IF_ERROR(hclspec::check(schema));
    auto config = hclspec::decode(schema, own ? value_of(*own) : hcl::Value(hcl::Object()));
    if (!config) return config.status().with_context("config");
    request.set_msgpack_config(hclspec::to_msgpack(*config));
  } else if (own) {
    return invalid_argument("config: the plugin takes no configuration");
  }
  return plugin.configure(request);
}

}  // namespace drover
