// The part of `job status` about a job that only starts children.
#pragma once

#include "cli_command.h"

namespace drover::v1 {
class Job;
class JobSummary;
}  // namespace drover::v1

namespace drover::cli {

// The exit code.
int show_children(Run& run, const v1::Job& job, const v1::JobSummary& summary);

}  // namespace drover::cli
