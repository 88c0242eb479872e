// Reads a body as a specification file of HCL's test suite (`.hcldec`) says: which attributes and blocks it may have,
// and what value becomes of them. As much of that little language as the suite uses.
#pragma once

#include <optional>

#include "drover/hcl.h"

namespace drover::hcl::specsuite {

// Nothing after an error, which is in `diagnostics`. A specification that uses something this reader does not know is
// an error as well.
std::optional<Value> decode(const Body& specification, const Body& body, Diagnostics& diagnostics);

}  // namespace drover::hcl::specsuite
