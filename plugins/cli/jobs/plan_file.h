// The file of `job plan -out`: what running a job would do, for `job run -plan`. JSON, in the API's form.
#pragma once

#include <string>

#include "drover/result.h"

namespace drover::v1 {
class ExactPlan;
class PlanJobResponse;
}  // namespace drover::v1

namespace drover::cli {

// Errors: failed_precondition when the servers said nothing exact; those of the file.
Status write_plan_file(const std::string& path, const v1::PlanJobResponse& plan);
// Errors: not_found; invalid_argument when it is no such file.
Result<v1::ExactPlan> read_plan_file(const std::string& path);

}  // namespace drover::cli
