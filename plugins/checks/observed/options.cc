// The options of a check, by the schema of its type.
#include <map>
#include <nlohmann/json.hpp>

#include "drover/hcl_value.h"
#include "drover/hclspec.h"
#include "observed/observed_check.h"

#include "drover/v1/check_provider.pb.h"
#include "drover/v1/service.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::checks {
namespace {

using Json = nlohmann::json;

// The check's own attributes by their names in a job file.
Json attributes_of(const v1::ServiceCheck& check) {
  Json out = Json::object();
  const std::pair<const char*, const std::string*> texts[] = {{"path", &check.path()},
                                                              {"protocol", &check.protocol()},
                                                              {"method", &check.method()},
                                                              {"body", &check.body()},
                                                              {"command", &check.command()},
                                                              {"grpc_service", &check.grpc_service()},
                                                              {"tls_server_name", &check.tls_server_name()}};
  for (const auto& [name, value] : texts) {
    if (!value->empty()) out[name] = *value;
  }
  if (check.args_size() > 0) out["args"] = std::vector<std::string>(check.args().begin(), check.args().end());
  if (check.tls_skip_verify()) out["tls_skip_verify"] = true;
  if (check.grpc_use_tls()) out["grpc_use_tls"] = true;
  if (!check.header().empty()) {
    Json header = Json::parse(check.header(), nullptr, false);
    if (header.is_object() && !header.empty()) out["header"] = std::move(header);
  }
  return out;
}

}  // namespace

Result<std::string> encode_options(const v1::ServiceCheck& check, const v1::CheckType& type) {
  const Json config = check.config().empty() ? Json() : Json::parse(check.config(), nullptr, false);
  const bool has_config = config.is_object() && !config.empty();
  if (!type.has_options()) {
    if (has_config) return invalid_argument("config: a check of the type \"" + type.name() + "\" has no options");
    return std::string();
  }
  const auto& known = type.options().object().attributes();
  Json options = Json::object();
  const Json attributes = attributes_of(check);
  for (const auto& [name, value] : attributes.items()) {
    if (known.contains(name)) options[name] = value;
  }
  if (has_config) options.update(config);
  DROVER_TRY(const hcl::Value value, hcl::from_json(options.dump()));
  auto decoded = hclspec::decode(type.options(), value);
  if (!decoded) return decoded.status().with_context("check \"" + check.name() + "\"");
  return hclspec::to_msgpack(*decoded);
}

}  // namespace drover::checks
