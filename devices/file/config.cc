#include "config.h"

#include <cctype>
#include <nlohmann/json.hpp>

#include "drover/duration.h"

#include "nomad/plugins/hclspec.pb.h"

namespace drover::file {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

std::string text_of(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

const Json& list_of(const Json& object, const char* name) {
  static const Json none = Json::array();
  const auto at = object.find(name);
  return at != object.end() && at->is_array() ? *at : none;
}

bool are_permissions(const std::string& text) {
  return !text.empty() && text.find_first_not_of("rwm") == std::string::npos;
}

// "usb-serial" becomes "USB_SERIAL_DEVICES".
std::string default_variable(const std::string& type) {
  std::string name;
  for (const char c : type) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return name + "_DEVICES";
}

bool is_variable(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  for (const char c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

Result<Pattern> read_pattern(const Json& block) {
  Pattern pattern{.vendor = text_of(block, "vendor"),
                  .type = text_of(block, "type"),
                  .name = text_of(block, "name"),
                  .pattern = text_of(block, "pattern"),
                  .permissions = text_of(block, "permissions"),
                  .env = text_of(block, "env")};
  const std::string where = "device " + pattern.vendor + "/" + pattern.type + "/" + pattern.name + ": ";
  if (pattern.vendor.empty() || pattern.type.empty() || pattern.name.empty())
    return invalid_argument(where + "vendor, type and name must not be empty");
  if (pattern.vendor.find('/') != std::string::npos || pattern.type.find('/') != std::string::npos)
    return invalid_argument(where + "vendor and type must not hold a slash");
  if (!pattern.pattern.starts_with('/'))
    return invalid_argument(where + "pattern must be an absolute path, not \"" + pattern.pattern + "\"");
  if (!are_permissions(pattern.permissions))
    return invalid_argument(where + "permissions must be made of r, w and m, not \"" + pattern.permissions + "\"");
  if (pattern.env.empty()) pattern.env = default_variable(pattern.type);
  if (!is_variable(pattern.env))
    return invalid_argument(where + "env must be the name of a variable, not \"" + pattern.env + "\"");
  if (const auto at = block.find("attributes"); at != block.end() && at->is_object()) {
    for (const auto& [key, value] : at->items()) {
      if (value.is_string()) pattern.attributes[key] = value.get<std::string>();
    }
  }
  for (const Json& instance : list_of(block, "instance")) {
    const std::string path = text_of(instance, "path"), permissions = text_of(instance, "permissions");
    if (!are_permissions(permissions)) {
      return invalid_argument(where + "instance " + path + ": permissions must be made of r, w and m, not \"" +
                              permissions + "\"");
    }
    pattern.instance_permissions[path] = permissions;
  }
  return pattern;
}

}  // namespace

hclspec::Spec config_schema() {
  hclspec::Spec schema = hclspec::object_of({{"fingerprint_period", "string", false, "\"10s\""}});
  auto& devices = *(*schema.mutable_object()->mutable_attributes())["device"].mutable_block_list();
  devices.set_name("device");
  *devices.mutable_nested() = hclspec::object_of({{"vendor", "string", true},
                                                  {"type", "string", true},
                                                  {"name", "string", true},
                                                  {"pattern", "string", true},
                                                  {"permissions", "string", false, "\"rw\""},
                                                  {"env", "string"}});
  auto& members = *devices.mutable_nested()->mutable_object()->mutable_attributes();
  members["attributes"].mutable_block_attrs()->set_name("attributes");
  members["attributes"].mutable_block_attrs()->set_type("string");
  auto& instances = *members["instance"].mutable_block_list();
  instances.set_name("instance");
  *instances.mutable_nested() = hclspec::object_of({{"path", "string", true}, {"permissions", "string", true}});
  return schema;
}

Result<Config> read_config(std::string_view msgpack) {
  Config config;
  if (msgpack.empty()) return config;
  const Json block = Json::from_msgpack(msgpack.begin(), msgpack.end(), true, false);
  if (!block.is_object()) return invalid_argument("the configuration is no map");
  if (const std::string period = text_of(block, "fingerprint_period"); !period.empty()) {
    auto parsed = parse_duration(period);
    if (!parsed) return parsed.status().with_context("fingerprint_period");
    if (*parsed < 100ms) return invalid_argument("fingerprint_period must be at least 100ms, not " + period);
    config.fingerprint_period = *parsed;
  }
  for (const Json& device : list_of(block, "device")) {
    DROVER_TRY(Pattern pattern, read_pattern(device));
    config.patterns.push_back(std::move(pattern));
  }
  return config;
}

}  // namespace drover::file
