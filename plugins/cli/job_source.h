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

// The flags -var, -var-file, -hcl2-strict and -json.
std::vector<Flag> job_source_flags();
// -vault-token, -vault-namespace and, with `consul`, the same of Consul. There is neither here: who gives one is told
// that it is not used, and it is sent nowhere.
std::vector<Flag> integration_flags(bool consul);
void warn_of_integrations(Run& run);

// Warnings go to standard error. "-" reads standard input; paths in the file begin at the file's folder.
Result<JobSource> read_job_source(Run& run, const std::string& path);

}  // namespace drover::cli
