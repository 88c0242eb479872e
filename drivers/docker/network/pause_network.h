// The network that the tasks of one group share: a container that does nothing holds it, and the tasks' containers join
// it.
#pragma once

#include <stop_token>
#include <string>

#include "config/plugin_options.h"
#include "drover/task_driver.h"
#include "engine/engine.h"
#include "images/image_puller.h"

namespace drover::docker {

struct NetworkParts {
  Engine& engine;
  ImagePuller& puller;
  const PluginOptions& plugin;
  std::string node;  // for the container's label; empty: unknown
};

// "nomad_init_3f0e…". Pure.
std::string pause_name(const std::string& alloc_id);
// The body of its creation. Pure.
std::string pause_body(const driver::CreateNetworkRequest& request, const std::string& image, const std::string& node);

struct PauseNetwork {
  std::string container;  // its ID
  std::string path;       // of the namespace
  bool is_new = false;
};
// Makes it, or finds it. Errors: why not.
Result<PauseNetwork> make_pause_network(const NetworkParts& parts, const driver::CreateNetworkRequest& request,
                                        std::stop_token stop);

}  // namespace drover::docker
