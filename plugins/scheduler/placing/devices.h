// Which instances of a node's devices a task group gets: what its `device` blocks match, what is free, what they would
// rather have. Pure.
//
// A block asks for `count` instances of one group of devices, by "type", "vendor/type" or "vendor/type/name", under
// constraints and affinities over ${device.attr.…}, ${device.model}, ${device.vendor}, ${device.type} and
// ${device.ids}.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {

// Why a node with such devices cannot be taken: they are in use.
inline constexpr std::string_view kNoDevices = "devices: no devices match request";

bool wants_devices(const v1::TaskGroup& group);

// Instances that allocations of one node hold.
class TakenDevices {
 public:
  void add(const v1::AllocatedResources& resources);
  void add(const TakenDevices& others) { taken_.insert(others.taken_.begin(), others.taken_.end()); }
  void remove(const TakenDevices& others);

  // How many instances of the group are held.
  uint64_t count(const std::string& group) const;
  bool holds(const std::string& group, const std::string& instance) const { return taken_.contains({group, instance}); }
  // An instance is held twice.
  bool overcommitted() const;
  friend bool operator==(const TakenDevices&, const TakenDevices&) = default;

 private:
  std::multiset<std::pair<std::string, std::string>> taken_;  // "vendor/type/name" and the instance's ID
};

// "vendor/type/name".
template <typename Device>
std::string device_group(const Device& device) {
  return device.vendor() + "/" + device.type() + "/" + device.name();
}

// True when a name as jobs write it means this group of devices.
bool matches_name(std::string_view wanted, const v1::NodeDeviceResource& device);
// The value of a constraint's target for this group of devices; text without "${" stands for itself.
std::optional<v1::DeviceAttribute> resolve_device_target(std::string_view target, const v1::NodeDeviceResource& device);
bool meets_constraints(const v1::RequestedDevice& wanted, const v1::NodeDeviceResource& device);

// The choice for a group: instances for each block of each task, and how well they meet the affinities.
struct DeviceChoice {
  struct Grant {
    std::string task;
    v1::AllocatedDevice device;
  };
  std::vector<Grant> grants;           // in the order of the tasks and their blocks
  std::optional<double> preference{};  // -1 to 1: matched weight of all weight; nothing without affinities
};

// Only healthy instances that nobody holds. Each block gets what it prefers most, the earlier block first; only where
// that leaves a later one without, less. Nothing when it cannot be done. The same question has the same answer.
std::optional<DeviceChoice> choose_devices(const v1::Node& node, const v1::TaskGroup& group, const TakenDevices& taken);

// True when the node would have what the group asks for if nothing were taken of it.
bool could_have_devices(const v1::Node& node, const v1::TaskGroup& group);
// True when all instances that are granted here are there and healthy.
bool has_devices(const v1::Node& node, const v1::AllocatedResources& resources);

}  // namespace drover::scheduler
