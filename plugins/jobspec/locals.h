// The values of a job file's `locals` blocks, which may refer to each other in whatever order they stand. Pure.
#pragma once

#include "drover/hcl.h"

namespace drover::jobspec {

// Requires: `context` holds the variables. Adds "local".
void read_locals(const hcl::File& file, hcl::EvalContext& context, hcl::Diagnostics& diagnostics);

}  // namespace drover::jobspec
