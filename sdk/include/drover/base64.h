// Base64 (RFC 4648, the standard alphabet, with padding): bytes in text. Pure.
#pragma once

#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

std::string base64_encode(std::string_view bytes);

// Line ends are skipped. Errors: invalid_argument that says which character is wrong, counted from one; also for a
// length or a padding that cannot be.
Result<std::string> base64_decode(std::string_view text);

}  // namespace drover
