// A task's environment variables, and references to them and to the node in texts. Pure.
//
// Later wins: fixed NOMAD variables, metadata, the agent's own environment (only for names that are still free), the
// task's `env` block. References: ${NOMAD_ALLOC_ID}, ${env["HOME"]}, ${node.class}, ${attr.kernel.name}, ${meta.rack};
// one that leads nowhere stays as it is written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::v1 {
class Allocation;
class Job;
class NetworkStatus;
class Node;
class Task;
}  // namespace drover::v1

namespace drover {

using Variables = std::map<std::string, std::string, std::less<>>;

struct TaskPaths {
  std::string alloc_dir;  // as the task sees them
  std::string task_dir;
  std::string secrets_dir;
};

struct EnvironmentInput {
  const v1::Job& job;
  const v1::Allocation& allocation;
  const v1::Task& task;
  const Variables& node;  // node_variables()
  std::string region;
  std::string datacenter;
  TaskPaths paths;
  const Variables* host = nullptr;  // the agent's environment without what is denied; null: the task gets none of it
  const v1::NetworkStatus* network = nullptr;  // that the allocation's tasks share; null: the machine's
};

Variables task_environment(const EnvironmentInput& input);

// "node.unique.id", "node.class", "attr.<key>", "meta.<key>" …
Variables node_variables(const v1::Node& node, std::string_view region);

std::string interpolate(std::string_view from, const Variables& environment, const Variables& node);

// A driver's configuration with every string interpolated, as JSON. Errors: invalid_argument when `json` is not an
// object.
Result<std::string> driver_config(std::string_view json, const Variables& environment, const Variables& node);

// The process's environment without the names in `denied`.
Variables host_environment(const char* const* environment, const std::vector<std::string>& denied);

// The number in "job.group[7]"; 0 when there is none.
uint32_t alloc_index(std::string_view alloc_name);

}  // namespace drover
