// From a task to a container that runs: image, folders, create, start. Leaves nothing behind when it fails.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "config/plugin_options.h"
#include "drover/task_driver.h"
#include "engine/answers.h"
#include "engine/engine.h"
#include "images/image_keeper.h"
#include "images/image_puller.h"
#include "task/container_handle.h"

namespace drover::docker {

struct StartParts {
  Engine& engine;
  ImagePuller& puller;
  ImageKeeper& keeper;
  const PluginOptions& plugin;
  const EngineFacts& facts;
  // True for a container of a task that this driver holds.
  std::function<bool(const std::string& container)> is_held;
  std::function<void(const std::string& text)> tell;
};

struct Started {
  ContainerHandle handle;
  Container container;
  std::string cores_file;  // of shared_cores_file()
  bool advertises_ipv6 = false;
};

// Blocks while an image is pulled, until `stop` is requested. Errors: failed_precondition where another try may help;
// invalid_argument and others for good.
Result<Started> start_container_of(const StartParts& parts, const driver::TaskConfig& task, std::stop_token stop);

// The error of a start as the agent takes it: failed_precondition says that the restart policy may try again. Pure.
Status start_error(const Status& cause, const std::string& context);

}  // namespace drover::docker
