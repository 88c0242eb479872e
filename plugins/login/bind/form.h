// Texts with places for values: "team-${value.team}". A "$${" stands for "${" itself. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::login {

// The value of that name; nothing: there is no such name.
using Values = std::function<std::optional<std::string>(std::string_view name)>;

// Errors: invalid_argument for a place that does not end, one that is no name, and a name that there is not.
Result<std::string> fill_in(std::string_view form, const Values& values);

// The same without values: its syntax alone.
Status check_form(std::string_view form);

}  // namespace drover::login
