// Makes the driver's task from a task of a job and the additions of its hooks. Pure.
#pragma once

#include <memory>
#include <string>

#include "client.h"
#include "drover/task_driver.h"

namespace drover::agent {

struct TaskSetup {
  std::string config_json;  // interpolated, for TaskDriver::encode_config
  std::unique_ptr<driver::TaskConfig> config;
};
struct TaskSetupInput {
  const Client& client;
  const AllocSpec& spec;
  const v1::Task& task;
  const AllocFolders& folders;
  const Variables& node;             // node_variables()
  const driver::TaskConfig& hooked;  // what the hooks add, with the environment
  std::string id;
};
// Errors: invalid_argument.
Result<TaskSetup> set_up_task(const TaskSetupInput& input);

// The job's name servers, else those of the network that the tasks share, else none: the machine's. Pure.
void set_dns(const AllocSpec& spec, const v1::NetworkStatus& network, driver::TaskConfig& out);

}  // namespace drover::agent
