// The functions that a template may call. `and` and `or` look at their later arguments only when they must, so the
// evaluator carries them out itself.
#pragma once

#include <span>
#include <string_view>

#include "drover/result.h"
#include "print.h"

namespace drover::cli {

bool is_template_function(std::string_view name);

// Errors: invalid_argument, without a place.
Result<TemplateValue> call_template_function(std::string_view name, std::span<const TemplateValue> arguments);

// Neither null, false, zero nor empty.
bool is_true(const nlohmann::json& value);

// Makes a value of `inner`, a part of what `value` shares.
inline TemplateValue part_of(const TemplateValue& value, const nlohmann::json& inner) { return {value, &inner}; }
TemplateValue value_of(nlohmann::json value);
const TemplateValue& no_value();

}  // namespace drover::cli
