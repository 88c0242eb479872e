// Sees to it that a task's image is there: loaded from the task's own archive, found, or pulled.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "config/container_options.h"
#include "config/plugin_options.h"
#include "engine/engine.h"
#include "images/image_puller.h"

namespace drover::docker {

struct ImageWish {
  const ContainerOptions& options;
  const PluginOptions& plugin;
  std::string local_folder;  // of the task, where `load` is looked for
  std::function<void(const std::string& text)> tell;
};

// The image's ID. Blocks as long as a pull does. Errors: failed_precondition where a later try may help; cancelled.
Result<std::string> provide_image(Engine& engine, ImagePuller& puller, const ImageWish& wish, std::stop_token stop);

// True for a folder of the kernel's own views of processes: a container that begins there gets out of its files.
bool is_of_processes(const std::string& folder);

// The ID of one that is there. Errors: not_found; invalid_argument for one that would begin in such a folder.
Result<std::string> find_image(Engine& engine, const ImageName& image, const std::stop_token& stop);

}  // namespace drover::docker
