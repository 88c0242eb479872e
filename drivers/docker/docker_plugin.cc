// The driver "docker": containers of Docker or Podman.
#include "docker_driver.h"
#include "drover/serve.h"

DROVER_TASK_DRIVER(drover::docker::DockerDriver, "docker", "docker", "0.1.0");
