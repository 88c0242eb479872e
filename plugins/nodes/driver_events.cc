#include "driver_events.h"

#include <set>
#include <string>

#include "drover/v1/node.pb.h"

namespace drover::nodes {
namespace {

v1::DriverInfo driver_of(const v1::Node& node, const std::string& name) {
  const auto found = node.drivers().find(name);
  return found == node.drivers().end() ? v1::DriverInfo() : found->second;
}

std::string describe(const v1::DriverInfo& driver) {
  if (!driver.health_description().empty()) return driver.health_description();
  if (!driver.detected()) return "Not detected";
  return driver.healthy() ? "Healthy" : "Unhealthy";
}

}  // namespace

std::vector<v1::NodeEvent> driver_events(const v1::Node& before, const v1::Node& now, int64_t time) {
  std::set<std::string> names;
  for (const auto& [name, driver] : before.drivers()) names.insert(name);
  for (const auto& [name, driver] : now.drivers()) names.insert(name);
  std::vector<v1::NodeEvent> events;
  for (const std::string& name : names) {
    const v1::DriverInfo former = driver_of(before, name), current = driver_of(now, name);
    if (former.detected() == current.detected() && former.healthy() == current.healthy()) continue;
    v1::NodeEvent& event = events.emplace_back();
    event.set_subsystem("Driver");
    event.set_message(describe(current));
    (*event.mutable_details())["driver"] = name;
    event.set_timestamp(time);
  }
  return events;
}

}  // namespace drover::nodes
