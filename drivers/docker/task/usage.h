// What a container uses, from two of the engine's samples. Pure.
#pragma once

#include <optional>

#include "drover/task_driver.h"
#include "engine/answers.h"

namespace drover::docker {

// Per cent of one core between the samples; 0 without an earlier one. `passed` is the time between them, for engines
// that do not tell what the machine used.
double cpu_percent(const std::optional<Sample>& before, const Sample& now, std::chrono::nanoseconds passed);

// `mhz`: of a core; 0: unknown. `now_ns`: since 1970.
driver::TaskStats stats_of(const std::string& task, const Sample& sample, double percent, double mhz, int64_t now_ns);

}  // namespace drover::docker
