#include <charconv>
#include <cmath>
#include <limits>

#include "drover/hcl_value.h"

namespace drover::hcl {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// [+-]? digits [. digits] [e [+-] digits]; says also whether it has neither fraction nor exponent.
bool is_literal(std::string_view text, bool& whole) {
  size_t at = 0;
  auto digits = [&] {
    size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at > first;
  };
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  whole = true;
  if (!digits()) return false;
  if (at < text.size() && text[at] == '.') {
    whole = false;
    ++at;
    if (!digits()) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    whole = false;
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (!digits()) return false;
  }
  return at == text.size();
}

}  // namespace

Number Number::integer(int64_t value) {
  Number number;
  number.integer_ = value;
  return number;
}

std::optional<Number> Number::real(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  if (value == std::trunc(value) && value >= -kTwoTo63 && value < kTwoTo63) return integer(static_cast<int64_t>(value));
  Number number;
  number.is_integer_ = false;
  number.real_ = value;
  return number;
}

std::optional<Number> Number::parse(std::string_view text) {
  bool whole = false;
  if (!is_literal(text, whole)) return std::nullopt;
  if (text.front() == '+') text.remove_prefix(1);
  if (whole) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return integer(value);
  }
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    // from_chars does not tell a number too small to represent, which is zero, from one too large.
    std::string copy(text);
    value = std::strtod(copy.c_str(), nullptr);
  }
  return real(value);
}

std::optional<int64_t> Number::as_integer() const {
  if (!is_integer_) return std::nullopt;
  return integer_;
}

double Number::as_double() const { return is_integer_ ? static_cast<double>(integer_) : real_; }

std::string Number::to_string() const {
  if (is_integer_) return std::to_string(integer_);
  char buffer[1200];  // the longest double without an exponent has 309 digits, or 1,077 characters below one
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, real_, std::chars_format::fixed);
  DROVER_CHECK(error == std::errc());
  return {buffer, end};
}

std::strong_ordering operator<=>(const Number& a, const Number& b) {
  if (a.is_integer_ && b.is_integer_) return a.integer_ <=> b.integer_;
  // A long double holds every int64_t and every double exactly.
  auto exact = [](const Number& n) {
    return n.is_integer_ ? static_cast<long double>(n.integer_) : static_cast<long double>(n.real_);
  };
  long double x = exact(a), y = exact(b);
  return x < y ? std::strong_ordering::less : x > y ? std::strong_ordering::greater : std::strong_ordering::equal;
}

std::optional<Number> add(const Number& a, const Number& b) {
  int64_t sum = 0;
  if (a.as_integer() && b.as_integer() && !__builtin_add_overflow(*a.as_integer(), *b.as_integer(), &sum)) {
    return Number::integer(sum);
  }
  return Number::real(a.as_double() + b.as_double());
}

std::optional<Number> subtract(const Number& a, const Number& b) {
  int64_t difference = 0;
  if (a.as_integer() && b.as_integer() && !__builtin_sub_overflow(*a.as_integer(), *b.as_integer(), &difference)) {
    return Number::integer(difference);
  }
  return Number::real(a.as_double() - b.as_double());
}

std::optional<Number> multiply(const Number& a, const Number& b) {
  int64_t product = 0;
  if (a.as_integer() && b.as_integer() && !__builtin_mul_overflow(*a.as_integer(), *b.as_integer(), &product)) {
    return Number::integer(product);
  }
  return Number::real(a.as_double() * b.as_double());
}

std::optional<Number> divide(const Number& a, const Number& b) {
  if (b == Number()) return std::nullopt;
  if (a.as_integer() && b.as_integer()) {
    bool overflows = *a.as_integer() == std::numeric_limits<int64_t>::min() && *b.as_integer() == -1;
    if (!overflows && *a.as_integer() % *b.as_integer() == 0) {
      return Number::integer(*a.as_integer() / *b.as_integer());
    }
  }
  return Number::real(a.as_double() / b.as_double());
}

std::optional<Number> modulo(const Number& a, const Number& b) {
  if (b == Number()) return std::nullopt;
  if (a.as_integer() && b.as_integer()) {
    return Number::integer(*b.as_integer() == -1 ? 0 : *a.as_integer() % *b.as_integer());
  }
  return Number::real(std::fmod(a.as_double(), b.as_double()));
}

}  // namespace drover::hcl
