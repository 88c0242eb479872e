// The functions that templates of jobs may call beside the language's own: names, how many arguments, what they do. The
// piped value is the last argument. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "drover/result.h"
#include "drover/text_template.h"

namespace drover::templates {

using nlohmann::json;
using text_template::Value;
using text_template::value_of;
using Arguments = std::span<const Value>;

inline constexpr size_t kAny = static_cast<size_t>(-1);

struct Function {
  size_t least, most;
  Result<Value> (*call)(Arguments);  // errors without a place
};
using FunctionTable = std::map<std::string_view, Function>;

const FunctionTable& text_functions();      // strings, encodings
const FunctionTable& regex_functions();     // with the syntax of RE2, as in Go
const FunctionTable& number_functions();    // arithmetic, parsing of numbers
const FunctionTable& list_functions();      // lists and maps
const FunctionTable& document_functions();  // JSON, YAML, TOML

// The argument of that number as a string, an integer, a list, a map. Errors: invalid_argument for another type.
Result<std::string> text_at(Arguments arguments, size_t at);
Result<int64_t> whole_at(Arguments arguments, size_t at);
Result<const json*> list_at(Arguments arguments, size_t at);
Result<const json*> map_at(Arguments arguments, size_t at);

}  // namespace drover::templates
