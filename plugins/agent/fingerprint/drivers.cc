#include "fingerprint/drivers.h"

#include "driver_lookup.h"
#include "drover/messages.h"
#include "drover/task_driver.h"
#include "drover/v1/node.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {
namespace {

namespace structs = hashicorp::nomad::plugins::shared::structs;

std::string text_of(const structs::Attribute& attribute) {
  switch (attribute.value_case()) {
    case structs::Attribute::kStringVal:
      return attribute.string_val();
    case structs::Attribute::kIntVal:
      return std::to_string(attribute.int_val()) + attribute.unit();
    case structs::Attribute::kFloatVal:
      return std::to_string(attribute.float_val()) + attribute.unit();
    case structs::Attribute::kBoolVal:
      return attribute.bool_val() ? "true" : "false";
    default:
      return {};
  }
}

v1::DriverInfo describe(const std::string& name, const driver::FingerprintResponse& print) {
  v1::DriverInfo info;
  for (const auto& [key, value] : print.attributes()) (*info.mutable_attributes())[key] = text_of(value);
  info.set_detected(print.health() != driver::FingerprintResponse::UNDETECTED);
  info.set_healthy(print.health() == driver::FingerprintResponse::HEALTHY);
  info.set_health_description(print.err().empty() ? print.health_description() : print.err());
  if (info.health_description().empty() && info.healthy()) info.set_health_description("Healthy");
  if (info.detected()) (*info.mutable_attributes())["driver." + name] = "1";
  return info;
}

}  // namespace

bool describe_drivers(Host& host, const ClientConfig& config, v1::Node& node) {
  google::protobuf::Map<std::string, v1::DriverInfo> drivers;
  bool changed = false;
  for (const std::string& name : driver_names(host)) {
    if (!config.allows_driver(name)) continue;
    v1::DriverInfo info = describe(name, agent::find_driver(host, name)->fingerprint());
    auto before = node.drivers().find(name);
    if (before != node.drivers().end()) info.set_update_time(before->second.update_time());
    if (before == node.drivers().end() || serialize(info) != serialize(before->second)) {
      info.set_update_time(host.clock().wall_ns());
      changed = true;
    }
    drivers[name] = std::move(info);
  }
  if (!changed && drivers.size() == node.drivers().size()) return false;
  auto& attributes = *node.mutable_attributes();
  for (auto at = attributes.begin(); at != attributes.end();) {
    at = at->first.starts_with("driver.") ? attributes.erase(at) : std::next(at);
  }
  for (const auto& [name, info] : drivers) {
    for (const auto& [key, value] : info.attributes()) attributes[key] = value;
  }
  *node.mutable_drivers() = std::move(drivers);
  return true;
}

}  // namespace drover::agent
