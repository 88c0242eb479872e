// A job file and the values of its variables, as `job run`, `job plan` and `job validate` read them.
#pragma once

#include <string>
#include <vector>

#include "cli_command.h"

namespace drover::v1 {
class Job;
class RegisterJobRequest;
}  // namespace drover::v1

namespace drover::cli {

// The flags -var, -var-file, -hcl2-strict and -json.
std::vector<Flag> job_source_flags();
// -vault-token, -vault-namespace and, with `consul`, -consul-token. Tasks log in by themselves: who gives one is told
// that it is not used, and it is sent nowhere.
std::vector<Flag> integration_flags(bool consul);
void warn_of_integrations(Run& run);

// The job, and its file with the variables, which the servers keep beside it. Warnings go to standard error. "-" reads
// standard input; paths in the file begin at the file's folder. `text`: the job as JSON in the API's form.
Result<v1::RegisterJobRequest> read_job_source(Run& run, const std::string& path, std::string& text);
// Has the command go on in the namespace that the job names; where it names none, in that of the command's options.
void follow_namespace(Run& run, const v1::Job& job);

}  // namespace drover::cli
