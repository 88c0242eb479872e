// The driver "mock_driver": tasks without a process, for trying out and for tests of the agent.
#include "drover/serve.h"
#include "mock_driver.h"

DROVER_TASK_DRIVER(drover::mock::MockDriver, "mock_driver", "mock", "0.1.0");
