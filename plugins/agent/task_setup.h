// From a task of a job to what its driver is given. Pure, but for the driver that is asked what it can do.
#pragma once

#include <string>

#include "alloc_dir.h"
#include "client.h"
#include "log_collector.h"

namespace hashicorp::nomad::plugins::drivers::proto {
class DriverCapabilities;
class TaskConfig;
}  // namespace hashicorp::nomad::plugins::drivers::proto

namespace drover::agent {

// Parts of a job that this agent cannot carry out. Errors: invalid_argument naming the block.
Status check_supported(const v1::Task& task, const v1::TaskGroup& group);

struct TaskSetup {
  std::string config_json;  // interpolated, for TaskDriver::encode_config
  std::unique_ptr<hashicorp::nomad::plugins::drivers::proto::TaskConfig> config;
};
struct TaskSetupInput {
  const Client& client;
  const AllocSpec& spec;
  const v1::Task& task;
  const AllocDir& dir;
  const device::ContainerReservation& devices;  // what the device plugins reserved; its variables win
  const hashicorp::nomad::plugins::drivers::proto::DriverCapabilities& capabilities;
  std::string id;
};
// Errors: invalid_argument.
Result<TaskSetup> set_up_task(const TaskSetupInput& input);

LogStream log_stream(const AllocDir& dir, const v1::Task& task, std::string_view type);

}  // namespace drover::agent
