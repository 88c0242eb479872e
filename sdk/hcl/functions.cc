// The table of standard functions, its argument readers, and the functions on numbers.
#include "functions.h"

#include <cmath>

#include "number.h"

namespace drover::hcl {
namespace {

Status wrong(size_t i, std::string_view expected, Arguments arguments) {
  std::string found = i < arguments.size() ? std::string(to_string(arguments[i].kind())) : "nothing";
  return invalid_argument("argument " + std::to_string(i + 1) + " must be " + std::string(expected) + ", not " + found);
}

Result<Value> number_or_error(std::optional<Number> number) {
  if (!number) return invalid_argument("the result is not a number");
  return Value(*number);
}

Function::Call on_number(Number (*function)(const Number&)) {
  return with_count(1, 1, [function](Arguments arguments) -> Result<Value> {
    DROVER_TRY(Number number, number_argument(arguments, 0));
    return Value(function(number));
  });
}

Result<Value> extreme(Arguments arguments, bool largest) {
  DROVER_TRY(Number best, number_argument(arguments, 0));
  for (size_t i = 1; i < arguments.size(); ++i) {
    DROVER_TRY(Number number, number_argument(arguments, i));
    if (largest ? number > best : number < best) best = number;
  }
  return Value(best);
}

Result<Value> parse_int(Arguments arguments) {
  DROVER_TRY(std::string text, text_argument(arguments, 0));
  DROVER_TRY(int64_t base, integer_argument(arguments, 1));
  if (base < 2 || base > 62) return invalid_argument("the base must be between 2 and 62");
  if (std::optional<Number> number = parse_whole(text, static_cast<int>(base))) return Value(*std::move(number));
  return invalid_argument("\"" + text.substr(0, 40) + "\" is not a whole number in base " + std::to_string(base) +
                          ", or too large");
}

}  // namespace

Result<std::string> text_argument(Arguments arguments, size_t i) {
  std::optional<std::string> text = i < arguments.size() ? as_string(arguments[i]) : std::nullopt;
  if (!text) return wrong(i, "a string", arguments);
  return *std::move(text);
}

Result<Number> number_argument(Arguments arguments, size_t i) {
  std::optional<Number> number = i < arguments.size() ? as_number(arguments[i]) : std::nullopt;
  if (!number) return wrong(i, "a number", arguments);
  return *number;
}

Result<int64_t> integer_argument(Arguments arguments, size_t i) {
  std::optional<int64_t> integer = i < arguments.size() ? as_integer(arguments[i]) : std::nullopt;
  if (!integer) return wrong(i, "a whole number", arguments);
  return *integer;
}

Result<List> list_argument(Arguments arguments, size_t i) {
  if (i >= arguments.size() || !arguments[i].is_list()) return wrong(i, "a list", arguments);
  return arguments[i].list();
}

Result<Object> object_argument(Arguments arguments, size_t i) {
  if (i >= arguments.size() || !arguments[i].is_object()) return wrong(i, "an object", arguments);
  return arguments[i].object();
}

bool Growth::fits(const Value& element, std::string_view key) {
  constexpr size_t kNode = 64;  // an element without its content
  bytes_ += kNode + element.weight() + key.size();
  return bytes_ <= kMaxValueWeight;
}

Function::Call with_count(size_t least, size_t most, Function::Call function) {
  return [least, most, function = std::move(function)](Arguments arguments) -> Result<Value> {
    if (arguments.size() >= least && arguments.size() <= most) return function(arguments);
    std::string expected = least == most       ? std::to_string(least)
                           : most == kAnyCount ? std::to_string(least) + " or more"
                                               : std::to_string(least) + " to " + std::to_string(most);
    return invalid_argument("expected " + expected + (expected == "1" ? " argument" : " arguments") + ", got " +
                            std::to_string(arguments.size()));
  };
}

void add_number_functions(Functions& functions) {
  functions["ceil"] = on_number(ceil);
  functions["floor"] = on_number(floor);
  functions["abs"] = with_count(1, 1, [](Arguments arguments) -> Result<Value> {
    DROVER_TRY(Number number, number_argument(arguments, 0));
    return Value(number < Number() ? negate(number) : number);
  });
  functions["signum"] = with_count(1, 1, [](Arguments arguments) -> Result<Value> {
    DROVER_TRY(int64_t number, integer_argument(arguments, 0));
    return Value(number < 0 ? -1 : number > 0 ? 1 : 0);
  });
  functions["pow"] = with_count(2, 2, [](Arguments arguments) -> Result<Value> {
    DROVER_TRY(Number base, number_argument(arguments, 0));
    DROVER_TRY(Number exponent, number_argument(arguments, 1));
    return number_or_error(Number::real(std::pow(base.as_double(), exponent.as_double())));
  });
  functions["log"] = with_count(2, 2, [](Arguments arguments) -> Result<Value> {
    DROVER_TRY(Number number, number_argument(arguments, 0));
    DROVER_TRY(Number base, number_argument(arguments, 1));
    return number_or_error(Number::real(std::log(number.as_double()) / std::log(base.as_double())));
  });
  functions["max"] = with_count(1, kAnyCount, [](Arguments a) { return extreme(a, true); });
  functions["min"] = with_count(1, kAnyCount, [](Arguments a) { return extreme(a, false); });
  functions["parseint"] = with_count(2, 2, parse_int);
}

const Functions& standard_functions() {
  static const Functions kFunctions = [] {
    Functions functions;
    add_number_functions(functions);
    add_string_functions(functions);
    add_collection_functions(functions);
    add_regex_functions(functions);
    add_set_functions(functions);
    add_format_functions(functions);
    add_encoding_functions(functions);
    add_yaml_functions(functions);
    add_crypto_functions(functions);
    add_date_functions(functions);
    add_network_functions(functions);
    add_conversion_functions(functions);
    return functions;
  }();
  return kFunctions;
}

}  // namespace drover::hcl
