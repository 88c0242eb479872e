// The functions that every template may call. `and` and `or` look at their later arguments only when they must, so the
// evaluator carries them out itself.
#pragma once

#include <span>
#include <string_view>

#include "drover/result.h"
#include "print.h"

namespace drover::text_template {

bool is_own_function(std::string_view name);

// Errors: invalid_argument, without a place.
Result<Value> call_own_function(std::string_view name, std::span<const Value> arguments);

// Neither null, false, zero nor empty.
bool is_true(const nlohmann::json& value);

// Makes a value of `inner`, a part of what `value` shares.
inline Value part_of(const Value& value, const nlohmann::json& inner) { return {value, &inner}; }
const Value& no_value();

}  // namespace drover::text_template
