// The driver "raw_exec", as a program and inside the agent.
#include "drover/serve.h"
#include "raw_exec_driver.h"

DROVER_TASK_DRIVER(drover::raw_exec::RawExecDriver, "raw_exec", "raw_exec", "0.1.0");
