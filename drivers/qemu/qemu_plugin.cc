// The driver "qemu", as a program and inside the agent.
#include "drover/serve.h"
#include "qemu_driver.h"

DROVER_TASK_DRIVER(drover::qemu::QemuDriver, "qemu", "qemu", "0.1.0");
