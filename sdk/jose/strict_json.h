// Reading JSON objects from strangers: no member twice, bounded depth. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::jose {

// Errors: invalid_argument saying what is wrong, without the text.
Result<nlohmann::json> parse_object(std::string_view text);

// The member of that name; empty when it is absent or no text.
std::string member_text(const nlohmann::json& object, const char* name);

}  // namespace drover::jose
