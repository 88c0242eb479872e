// The driver "java", as a program and inside the agent.
#include "drover/serve.h"
#include "java_driver.h"

DROVER_TASK_DRIVER(drover::java::JavaDriver, "java", "java", "0.1.0");
