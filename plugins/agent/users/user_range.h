// The numbers that the operator sets aside for users of single tasks (client { users }). Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "drover/config.h"

namespace drover::agent {

struct UserRange {
  uint32_t first = 80000, last = 89999;  // both belong to it; none is root's
};

ConfigOption users_option();
// Nothing: tasks get no users of their own. Errors: invalid_argument naming the option.
Result<std::optional<UserRange>> user_range_of(const ConfigBlock& client);

}  // namespace drover::agent
