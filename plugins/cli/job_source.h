// A job file and the values of its variables, as `job run`, `job plan` and `job validate` read them.
#pragma once

#include <string>
#include <vector>

#include "cli_command.h"

namespace drover::cli {

struct JobSource {
  std::string job;         // JSON, in the API's form
  std::string submission;  // JSON: the file and its variables, which the servers keep beside the job
};

// The flags -var, -var-file and -hcl2-strict.
std::vector<Flag> job_source_flags();

// Warnings go to standard error. "-" reads standard input; paths in the file begin at the file's folder.
Result<JobSource> read_job_source(Run& run, const std::string& path);

}  // namespace drover::cli
