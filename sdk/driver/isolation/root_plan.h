// Plans what a task in a root of its own sees there, for the launcher to carry out. Pure, but for the numbers of the
// devices that the task is given.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "drover/isolation.h"
#include "root_folder.h"

namespace hashicorp::nomad::plugins::drivers::proto {
class DNSConfig;
}

namespace drover {

// A device of this machine.
struct DeviceNode {
  bool is_block = false;
  uint32_t major = 0, minor = 0, mode = 0, user = 0, group = 0;
};
using FindDevice = std::function<Result<DeviceNode>(const std::string& path)>;
// Errors: invalid_argument for a path that is no device.
Result<DeviceNode> device_at(const std::string& path);

// `folder`: the task's. Errors: invalid_argument for mounts and devices that cannot be.
Result<Confinement::Root> plan_root(const driver::TaskConfig& task, const std::string& folder,
                                    const RootOptions& options, const FindDevice& find_device);

// The mounts among them, for a look from outside.
std::vector<RootFolder::Shown> shown_in(const driver::TaskConfig& task);

// resolv.conf by the network's settings; what they leave open is filled from the machine's own. Pure.
std::string resolv_conf(const driver::DNSConfig& wanted, std::string_view machine);
std::string hosts_file(std::string_view hostname, std::string_view address);

// See isolation.h for devices_of.
Result<std::vector<CgroupLimits::Device>> device_rules(const driver::TaskConfig& task, const FindDevice& find_device);

}  // namespace drover
