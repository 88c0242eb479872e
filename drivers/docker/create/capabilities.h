// Which capabilities a container gets, of what the job asks for and the operator allows. Names in any case, with or
// without "CAP_". Pure.
#pragma once

#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::docker {

struct CapabilityChange {
  std::vector<std::string> add, drop;  // from what the engine gives by itself; lower case, sorted
};
// Errors: invalid_argument naming those that the operator does not allow.
Result<CapabilityChange> capability_change(const std::vector<std::string>& allowed, const std::vector<std::string>& add,
                                           const std::vector<std::string>& drop);

}  // namespace drover::docker
