// A command inside a mock task: it writes what it was told to, waits, and has a result.
#pragma once

#include <optional>

#include "drover/task_driver.h"
#include "mock_options.h"

namespace drover::mock {

// Blocks until it has ended, or the caller has gone.
Status run_mock_exec(const ExecCommand& command, const std::optional<MockCommand>& told, ExecStream& stream);

}  // namespace drover::mock
