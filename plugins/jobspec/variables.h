// The variables and locals of a job file: what it declares, and the values that come from outside. Pure.
#pragma once

#include <string>
#include <vector>

#include "drover/hcl.h"
#include "drover/job_parser.h"

namespace drover::jobspec {

// Errors and doubts outside of the job file itself: in variable files and on the command line.
struct OutsideFindings {
  std::string errors;  // rendered, one behind the other
  std::vector<std::string> warnings;
};

// Sets `var` and `local` in the context, whose functions are there already. Problems of the job file go to
// `diagnostics`.
void read_variables(const hcl::File& file, const JobParser::Options& options, hcl::EvalContext& context,
                    hcl::Diagnostics& diagnostics, OutsideFindings& outside);

}  // namespace drover::jobspec
