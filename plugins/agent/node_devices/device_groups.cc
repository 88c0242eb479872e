#include "node_devices/device_groups.h"

#include <algorithm>
#include <set>

#include "drover/units.h"

namespace drover::agent {
namespace {

namespace device = hashicorp::nomad::plugins::device;
namespace structs = hashicorp::nomad::plugins::shared::structs;

std::string name_of(const device::DeviceGroup& group) {
  return group.vendor() + "/" + group.device_type() + "/" + group.device_name();
}

std::string attribute_problem(const structs::Attribute& attribute) {
  if (attribute.value_case() == structs::Attribute::VALUE_NOT_SET) return "has no value";
  if (attribute.unit().empty()) return {};
  if (attribute.has_string_val() || attribute.has_bool_val()) return "has a unit and is no number";
  return find_unit(attribute.unit()) ? "" : "has the unknown unit \"" + attribute.unit() + "\"";
}

std::string group_problem(const device::DeviceGroup& group) {
  if (group.vendor().empty() || group.device_type().empty() || group.device_name().empty())
    return "has no vendor, type or name";
  if (group.vendor().find('/') != std::string::npos || group.device_type().find('/') != std::string::npos)
    return "has a slash in its vendor or type";
  if (group.devices().empty()) return "has no instances";
  std::set<std::string> ids;
  for (const device::DetectedDevice& instance : group.devices()) {
    if (instance.id().empty()) return "has an instance without an ID";
    if (!ids.insert(instance.id()).second) return "has the instance " + instance.id() + " twice";
  }
  for (const auto& [key, attribute] : group.attributes()) {
    if (std::string problem = attribute_problem(attribute); !problem.empty())
      return "has the attribute " + key + ", which " + problem;
  }
  return {};
}

v1::DeviceAttribute to_attribute(const structs::Attribute& from) {
  v1::DeviceAttribute to;
  if (from.has_float_val()) to.set_float_value(from.float_val());
  if (from.has_int_val()) to.set_int_value(from.int_val());
  if (from.has_string_val()) to.set_string_value(from.string_val());
  if (from.has_bool_val()) to.set_bool_value(from.bool_val());
  to.set_unit(from.unit());
  return to;
}

v1::NodeDeviceResource to_resource(const device::DeviceGroup& from) {
  v1::NodeDeviceResource to;
  to.set_vendor(from.vendor());
  to.set_type(from.device_type());
  to.set_name(from.device_name());
  for (const device::DetectedDevice& instance : from.devices()) {
    v1::NodeDevice& out = *to.add_instances();
    out.set_id(instance.id());
    out.set_healthy(instance.healthy());
    out.set_health_description(instance.health_description());
    if (!instance.hw_locality().pci_bus_id().empty())
      out.mutable_locality()->set_pci_bus_id(instance.hw_locality().pci_bus_id());
  }
  std::ranges::sort(*to.mutable_instances(), {}, [](const v1::NodeDevice& one) { return one.id(); });
  for (const auto& [key, attribute] : from.attributes()) (*to.mutable_attributes())[key] = to_attribute(attribute);
  return to;
}

v1::StatValue to_value(const structs::StatValue& from) {
  v1::StatValue to;
  if (from.has_float_numerator_val()) to.set_float_numerator_val(from.float_numerator_val().value());
  if (from.has_float_denominator_val()) to.set_float_denominator_val(from.float_denominator_val().value());
  if (from.has_int_numerator_val()) to.set_int_numerator_val(from.int_numerator_val().value());
  if (from.has_int_denominator_val()) to.set_int_denominator_val(from.int_denominator_val().value());
  if (from.has_string_val()) to.set_string_val(from.string_val().value());
  if (from.has_bool_val()) to.set_bool_val(from.bool_val().value());
  to.set_unit(from.unit());
  to.set_desc(from.desc());
  return to;
}

constexpr int kMaxDepth = 16;  // of objects in objects; what lies deeper is left out

v1::StatObject to_object(const structs::StatObject& from, int depth) {
  v1::StatObject to;
  for (const auto& [key, value] : from.attributes()) (*to.mutable_attributes())[key] = to_value(value);
  if (depth == kMaxDepth) return to;
  for (const auto& [key, object] : from.nested()) (*to.mutable_nested())[key] = to_object(object, depth + 1);
  return to;
}

}  // namespace

DeviceInventory take_inventory(const std::vector<DevicesOf>& all) {
  DeviceInventory inventory;
  std::map<std::string, v1::NodeDeviceResource> resources;
  for (size_t i = 0; i < all.size(); ++i) {
    for (const device::DeviceGroup& group : all[i].said.device_group()) {
      std::string problem = group_problem(group);
      const std::string name = name_of(group);
      if (problem.empty() && !inventory.owner.try_emplace(name, i).second)
        problem = "is there already, from plugin " + all[inventory.owner[name]].plugin;
      if (!problem.empty()) {
        inventory.problems.push_back("plugin " + all[i].plugin + ": device " + name + " " + problem);
        continue;
      }
      resources[name] = to_resource(group);
    }
  }
  for (auto& [name, resource] : resources) *inventory.resources.add_devices() = std::move(resource);
  return inventory;
}

v1::DeviceGroupStats to_api(const device::DeviceGroupStats& stats) {
  v1::DeviceGroupStats to;
  to.set_vendor(stats.vendor());
  to.set_type(stats.type());
  to.set_name(stats.name());
  for (const auto& [id, instance] : stats.instance_stats()) {
    v1::DeviceStats& out = (*to.mutable_instance_stats())[id];
    *out.mutable_summary() = to_value(instance.summary());
    *out.mutable_stats() = to_object(instance.stats(), 0);
    out.set_timestamp(instance.timestamp().seconds() * 1'000'000'000 + instance.timestamp().nanos());
  }
  return to;
}

std::string problem_of(const device::ContainerReservation& reservation) {
  const auto is_absolute = [](const std::string& path) { return path.starts_with('/'); };
  for (const device::Mount& mount : reservation.mounts()) {
    if (!is_absolute(mount.host_path()) || !is_absolute(mount.task_path()))
      return "the mount of \"" + mount.host_path() + "\" at \"" + mount.task_path() + "\" is not by absolute paths";
  }
  for (const device::DeviceSpec& spec : reservation.devices()) {
    if (!is_absolute(spec.host_path()) || !is_absolute(spec.task_path()))
      return "the device file \"" + spec.host_path() + "\" at \"" + spec.task_path() + "\" is not by absolute paths";
    if (spec.permissions().find_first_not_of("rwm") != std::string::npos)
      return "the device file " + spec.host_path() + " has the permissions \"" + spec.permissions() +
             "\", which are not made of r, w and m";
  }
  return {};
}

}  // namespace drover::agent
