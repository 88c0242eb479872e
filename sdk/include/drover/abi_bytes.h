// The stable ABI's bytes (drover/abi.h) as C++ has them. Both borrow.
#pragma once

#include <string_view>

#include "drover/abi.h"

namespace drover {

inline std::string_view view_of(drover_bytes bytes) { return {static_cast<const char*>(bytes.data), bytes.size}; }
inline drover_bytes bytes_of(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace drover
