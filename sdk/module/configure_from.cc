// The configuration of a plugin of the exact tier: what a host does for the other forms.
#include <algorithm>

#include "drover/config.h"
#include "drover/configurable.h"
#include "drover/hclspec.h"
#include "drover/plugin.h"

#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover {
namespace {

using hclspec::Spec;

ConfigType type_of(std::string_view expression) {
  static const std::map<std::string_view, ConfigType> types = {{"string", ConfigType::string},
                                                               {"number", ConfigType::number},
                                                               {"bool", ConfigType::boolean},
                                                               {"list(string)", ConfigType::string_list},
                                                               {"map(string)", ConfigType::string_map}};
  const auto found = types.find(expression);
  return found == types.end() ? ConfigType::any : found->second;
}

// As an operator writes it; empty for what is more than a word.
std::string default_text(std::string literal) {
  if (literal.starts_with('"')) literal = literal.substr(1, literal.size() - 2);
  return literal.find_first_of("\"\\${[") == std::string::npos ? literal : std::string();
}

std::vector<ConfigOption> options_of(const Spec& spec);

ConfigOption block_of(const std::string& name, ConfigType type, bool is_required, const Spec& nested) {
  if (!nested.has_object()) return {.name = name, .type = ConfigType::any, .required = is_required};
  return {.name = name, .type = type, .required = is_required, .options = options_of(nested)};
}

ConfigOption option_of(const std::string& name, const Spec& spec) {
  switch (spec.block_case()) {
    case Spec::kAttr:
      return {.name = spec.attr().name(),
              .type = type_of(spec.attr().type()),
              .help = spec.attr().help(),
              .required = spec.attr().required()};
    case Spec::kDefault: {
      ConfigOption option = option_of(name, spec.default_().primary());
      option.default_text = default_text(spec.default_().default_().literal().value());
      return option;
    }
    case Spec::kBlockValue:
      return block_of(spec.block_value().name(), ConfigType::block, spec.block_value().required(),
                      spec.block_value().nested());
    case Spec::kBlockList:
      return block_of(spec.block_list().name(), ConfigType::repeated_block, spec.block_list().min_items() > 0,
                      spec.block_list().nested());
    default:
      return {.name = name, .type = ConfigType::any};  // checked when it is decoded
  }
}

std::vector<ConfigOption> options_of(const Spec& spec) {
  std::vector<ConfigOption> options;
  for (const auto& [name, member] : spec.object().attributes()) options.push_back(option_of(name, member));
  std::ranges::sort(options, {}, &ConfigOption::name);
  return options;
}

}  // namespace

Status declare_configuration(Declarations& declare, const Configurable& plugin) {
  const Spec schema = plugin.config_schema();
  if (schema.ByteSizeLong() != 0) DROVER_RETURN_IF_ERROR(hclspec::check(schema));
  return schema.has_object() ? declare.configuration("plugin", {.options = options_of(schema)}) : ok_status();
}

Status configure_from(const Host& host, Configurable& plugin) {
  plugin.set_agent(host.agent());
  hashicorp::nomad::plugins::base::proto::SetConfigRequest request;
  const ConfigBlock* own = host.configuration("plugin");
  const Spec schema = plugin.config_schema();
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
