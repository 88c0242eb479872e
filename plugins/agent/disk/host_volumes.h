// Folders of this machine that its operator offers to jobs by name, and the mounts by which tasks see them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client_config.h"
#include "drover/hook.h"
#include "drover/task_driver.h"
#include "drover/task_environment.h"

namespace drover::v1 {
class Node;
}

namespace drover::agent {

// Writes into the node those whose path is on this machine; what others offer stays. True when it offered something
// else before. [any]
bool describe_host_volumes(const std::vector<HostVolume>& volumes, v1::Node& node);
// Says in the log which of them the node does not offer.
void report_absent(const std::vector<HostVolume>& volumes, const v1::Node& node);

// The path of a folder that others offer by that name; nothing: none.
using FindVolume = std::function<std::optional<std::string>(const std::string& name)>;

struct MountInput {
  const v1::TaskGroup& group;
  const v1::Task& task;
  const std::string& alloc_name;  // each may have volumes of its own
  const std::vector<HostVolume>& volumes;
  const FindVolume& others;  // beside them
  const driver::DriverCapabilities& driver;
  const Variables& environment;
  const Variables& node;
};
// Adds the mounts of a task to what its driver is given: read-only as soon as the machine, the group or the task says
// so. Errors: invalid_argument, in Nomad's words. Pure.
Status add_host_volumes(const MountInput& input, driver::TaskConfig& adds);

}  // namespace drover::agent
