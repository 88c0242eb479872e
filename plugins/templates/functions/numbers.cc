#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "table.h"

namespace drover::templates {
namespace {

// ---- arithmetic: whole numbers stay whole; with a float on either side the result is one

template <typename Whole, typename Real>
Result<Value> combined(Arguments arguments, Whole whole, Real real) {
  const json &b = *arguments[0], &a = *arguments[1];  // `a` is piped: {{ 10 | subtract 3 }} is 7
  if (!a.is_number()) return invalid_argument("unknown type for " + std::string(text_template::type_of(a)));
  if (!b.is_number()) return invalid_argument("unknown type for " + std::string(text_template::type_of(b)));
  if (a.is_number_float() || b.is_number_float()) return real(a.get<double>(), b.get<double>());
  return whole(a.get<int64_t>(), b.get<int64_t>());
}

// Wraps around, as the template's author knows it from Go.
int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }

Result<Value> add(Arguments arguments) {
  return combined(
      arguments,
      [](int64_t a, int64_t b) { return value_of(wrapped(static_cast<uint64_t>(a) + static_cast<uint64_t>(b))); },
      [](double a, double b) { return value_of(a + b); });
}

Result<Value> subtract(Arguments arguments) {
  return combined(
      arguments,
      [](int64_t a, int64_t b) { return value_of(wrapped(static_cast<uint64_t>(a) - static_cast<uint64_t>(b))); },
      [](double a, double b) { return value_of(a - b); });
}

Result<Value> multiply(Arguments arguments) {
  return combined(
      arguments,
      [](int64_t a, int64_t b) { return value_of(wrapped(static_cast<uint64_t>(a) * static_cast<uint64_t>(b))); },
      [](double a, double b) { return value_of(a * b); });
}

// The one quotient that is no int64_t is its dividend again.
bool overflows(int64_t a, int64_t b) { return a == std::numeric_limits<int64_t>::min() && b == -1; }

Result<Value> divide(Arguments arguments) {
  return combined(
      arguments,
      [](int64_t a, int64_t b) -> Result<Value> {
        if (b == 0) return invalid_argument("integer divide by zero");
        return value_of(overflows(a, b) ? a : a / b);
      },
      [](double a, double b) { return value_of(a / b); });
}

Result<Value> modulo(Arguments arguments) {
  return combined(
      arguments,
      [](int64_t a, int64_t b) -> Result<Value> {
        if (b == 0) return invalid_argument("integer divide by zero");
        return value_of(overflows(a, b) ? int64_t{0} : a % b);
      },
      [](double, double) -> Result<Value> { return invalid_argument("takes whole numbers"); });
}

Result<Value> minimum(Arguments arguments) {
  return combined(
      arguments, [](int64_t a, int64_t b) { return value_of(std::min(a, b)); },
      [](double a, double b) { return value_of(std::min(a, b)); });
}

Result<Value> maximum(Arguments arguments) {
  return combined(
      arguments, [](int64_t a, int64_t b) { return value_of(std::max(a, b)); },
      [](double a, double b) { return value_of(std::max(a, b)); });
}

// ---- parsing: nothing is zero

Result<Value> parse_bool(Arguments arguments) {
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  static constexpr std::string_view kTrue[] = {"1", "t", "T", "TRUE", "true", "True"};
  static constexpr std::string_view kFalse[] = {"", "0", "f", "F", "FALSE", "false", "False"};
  if (std::ranges::find(kTrue, text) != std::end(kTrue)) return value_of(true);
  if (std::ranges::find(kFalse, text) != std::end(kFalse)) return value_of(false);
  return invalid_argument("\"" + text + "\" is neither true nor false");
}

template <typename Number>
Result<Value> parse_number(Arguments arguments, std::string_view kind) {
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  if (text.empty()) return value_of(Number{});
  Number number{};
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return invalid_argument("\"" + text + "\" is no " + std::string(kind));
  }
  return value_of(number);
}

Result<Value> parse_int(Arguments arguments) { return parse_number<int64_t>(arguments, "integer"); }
Result<Value> parse_uint(Arguments arguments) { return parse_number<uint64_t>(arguments, "integer above zero"); }
Result<Value> parse_float(Arguments arguments) { return parse_number<double>(arguments, "number"); }

// ---- loop

constexpr int64_t kMostRounds = 1'000'000;

Result<int64_t> bound_at(Arguments arguments, size_t at) {
  if (!arguments[at]->is_string()) return whole_at(arguments, at);
  DROVER_TRY(const Value number, parse_number<int64_t>(arguments.subspan(at, 1), "integer"));
  return number->get<int64_t>();
}

Result<Value> loop(Arguments arguments) {
  int64_t start = 0;
  if (arguments.size() == 2) {
    DROVER_TRY(start, bound_at(arguments, 0));
  }
  DROVER_TRY(const int64_t stop, bound_at(arguments, arguments.size() - 1));
  json numbers = json::array();
  if (start >= stop) return value_of(std::move(numbers));
  const uint64_t rounds = static_cast<uint64_t>(stop) - static_cast<uint64_t>(start);
  if (rounds > kMostRounds) return resource_exhausted("has more than " + std::to_string(kMostRounds) + " rounds");
  for (int64_t i = start; i < stop; ++i) numbers.push_back(i);
  return value_of(std::move(numbers));
}

}  // namespace

const FunctionTable& number_functions() {
  static const FunctionTable kTable = {{"add", {2, 2, add}},
                                       {"divide", {2, 2, divide}},
                                       {"loop", {1, 2, loop}},
                                       {"maximum", {2, 2, maximum}},
                                       {"minimum", {2, 2, minimum}},
                                       {"modulo", {2, 2, modulo}},
                                       {"multiply", {2, 2, multiply}},
                                       {"parseBool", {1, 1, parse_bool}},
                                       {"parseFloat", {1, 1, parse_float}},
                                       {"parseInt", {1, 1, parse_int}},
                                       {"parseUint", {1, 1, parse_uint}},
                                       {"subtract", {2, 2, subtract}}};
  return kTable;
}

}  // namespace drover::templates
