// The parts of a configured driver. Made once; each has its own threads and locks.
#pragma once

#include "cores/shared_cores.h"
#include "dangling/dangling.h"
#include "docker_driver.h"
#include "engine/engine.h"
#include "images/image_keeper.h"
#include "images/image_puller.h"

namespace drover::docker {

struct DockerDriver::Running {
  Running(std::string socket, const PluginOptions& options, const std::string& state_folder,
          std::function<std::optional<DanglingContainers::Held>()> held)
      : engine(std::move(socket)),
        cores(engine),
        puller(engine),
        keeper(engine, options.removes_images ? std::optional(options.image_delay) : std::nullopt,
               state_folder.empty() ? std::string() : state_folder + "/images"),
        dangling(engine,
                 {.is_dry_run = options.is_dry_run,
                  .takes_ended = options.removes_containers,
                  .period = options.dangling_period,
                  .grace = options.creation_grace},
                 std::move(held)) {
    if (options.ends_dangling) dangling.start();
  }

  Engine engine;
  SharedCores cores;
  ImagePuller puller;
  ImageKeeper keeper;
  DanglingContainers dangling;
};

}  // namespace drover::docker
