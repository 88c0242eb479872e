// Base64 in the alphabet for URLs, without padding (RFC 4648 §5, as RFC 7515 uses it). Pure.
#pragma once

#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

std::string base64url(std::string_view bytes);
// Each text has one form. Errors: invalid_argument, also for padding and for bits that nothing needs.
Result<std::string> base64url_decode(std::string_view text);

}  // namespace drover
