// The driver "exec", as a program and inside the agent.
#include "drover/serve.h"
#include "exec_driver.h"

DROVER_TASK_DRIVER(drover::exec::ExecDriver, "exec", "exec", "0.1.0");
