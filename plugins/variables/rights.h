// Rights on variables, asked for in this one place of the plugin.
#pragma once

#include <cstdint>
#include <string_view>

#include "drover/methods.h"

namespace drover::variables {

enum class Right : uint8_t { list, read, write, destroy };

bool may(const Call& call, std::string_view name_space, std::string_view path, Right right);
// Errors: permission_denied.
Status require(const Call& call, std::string_view name_space, std::string_view path, Right right);
bool is_management(const Call& call);

}  // namespace drover::variables
