#include "number.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "big_number.h"

namespace drover::hcl {
namespace {

constexpr int64_t kExactInDouble = int64_t{1} << kDoublePrecision;

uint32_t larger_precision(const Number& a, const Number& b) {
  return std::max(NumberParts::precision(a), NumberParts::precision(b));
}

// Both operands where plain integers give what rounding would give.
struct Small {
  int64_t a = 0, b = 0;
};
std::optional<Small> both_small(const Number& a, const Number& b) {
  const int64_t* x = NumberParts::small(a);
  const int64_t* y = NumberParts::small(b);
  if (!x || !y || larger_precision(a, b) < kIntegerPrecision) return std::nullopt;
  return Small{*x, *y};
}

bool prints_exactly(int64_t value) { return value < kExactInDouble && value > -kExactInDouble; }

std::strong_ordering compare(const BigNumber& a, const BigNumber& b) {
  BigNumber minus_b = b;
  minus_b.is_negative = !b.is_negative;
  BigNumber difference = sum(a, minus_b, std::numeric_limits<uint32_t>::max());
  if (difference.mantissa == 0) return std::strong_ordering::equal;
  return difference.is_negative ? std::strong_ordering::less : std::strong_ordering::greater;
}

// The whole number next to it on the side of `negative`.
Number whole_towards(const Number& number, bool negative) {
  if (NumberParts::small(number)) return number;
  BigNumber big = NumberParts::big(number);
  if (big.exponent >= 0) return number;
  BigNumber whole = truncated(big);
  if (big.is_negative == negative) whole = sum(whole, {negative, 1, 0}, std::numeric_limits<uint32_t>::max());
  uint32_t precision = NumberParts::precision(number);
  return *NumberParts::from_big(rounded(std::move(whole), precision), precision);
}

}  // namespace

Number Number::integer(int64_t value) { return NumberParts::from_small(value, kIntegerPrecision); }

std::optional<Number> Number::real(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  int exponent = 0;
  double mantissa = std::ldexp(std::frexp(std::abs(value), &exponent), kDoublePrecision);
  BigNumber big{value < 0, static_cast<uint64_t>(mantissa), exponent - static_cast<int64_t>(kDoublePrecision)};
  return NumberParts::from_big(rounded(std::move(big), kDoublePrecision), kDoublePrecision);
}

std::optional<int64_t> Number::as_integer() const {
  if (big_) return std::nullopt;
  return small_;
}

double Number::as_double() const {
  if (!big_) return static_cast<double>(small_);
  int64_t top = bits_of(big_->mantissa) + big_->exponent;
  // Below the normal doubles there are fewer bits.
  int64_t bits = std::min<int64_t>(kDoublePrecision, top + 1074);
  if (bits < 0) return big_->is_negative ? -0.0 : 0.0;
  BigNumber big = *big_;
  if (bits == 0) {  // half of the smallest double, or more
    big.mantissa = big.mantissa == 1 ? 0 : 1;
    big.exponent = -1074;
  } else {
    big = rounded(std::move(big), static_cast<uint32_t>(bits));
  }
  double value = std::ldexp(static_cast<double>(static_cast<uint64_t>(big.mantissa)), static_cast<int>(big.exponent));
  return big.is_negative ? -value : value;
}

size_t Number::text_size() const {
  if (!big_) return 20;
  int64_t top = bits_of(big_->mantissa) + big_->exponent;
  // Three digits for ten bits before the point; behind it zeros, and the digits of the precision.
  int64_t digits = std::max<int64_t>(top, 0) * 31 / 100 + std::max<int64_t>(-top, 0) * 31 / 100 + precision_ * 31 / 100;
  return static_cast<size_t>(digits) + 6;
}

bool operator==(const Number& a, const Number& b) {
  if (a.precision_ == b.precision_ || (!a.big_ && !b.big_ && prints_exactly(a.small_) && prints_exactly(b.small_))) {
    return (a <=> b) == 0;
  }
  return a.to_string() == b.to_string();
}

std::strong_ordering operator<=>(const Number& a, const Number& b) {
  if (!a.big_ && !b.big_) return a.small_ <=> b.small_;
  return compare(NumberParts::big(a), NumberParts::big(b));
}

Number negate(const Number& number) {
  const int64_t* small = NumberParts::small(number);
  uint32_t precision = NumberParts::precision(number);
  if (small && *small != std::numeric_limits<int64_t>::min()) return NumberParts::from_small(-*small, precision);
  BigNumber big = NumberParts::big(number);
  big.is_negative = !big.is_negative;
  return *NumberParts::from_big(std::move(big), precision);
}

std::optional<Number> add(const Number& a, const Number& b) {
  uint32_t precision = larger_precision(a, b);
  int64_t result = 0;
  std::optional<Small> small = both_small(a, b);
  if (small && !__builtin_add_overflow(small->a, small->b, &result)) return NumberParts::from_small(result, precision);
  return NumberParts::from_big(sum(NumberParts::big(a), NumberParts::big(b), precision), precision);
}

std::optional<Number> subtract(const Number& a, const Number& b) { return add(a, negate(b)); }

// As many bits as the product needs, but 512 at most.
std::optional<Number> multiply(const Number& a, const Number& b) {
  uint32_t precision = larger_precision(a, b);
  int64_t result = 0;
  std::optional<Small> small = both_small(a, b);
  if (small && !__builtin_mul_overflow(small->a, small->b, &result)) return NumberParts::from_small(result, precision);
  BigNumber big = product(NumberParts::big(a), NumberParts::big(b), kTextPrecision);
  precision = std::max(precision, static_cast<uint32_t>(bits_of(big.mantissa)));
  return NumberParts::from_big(std::move(big), precision);
}

std::optional<Number> divide(const Number& a, const Number& b) {
  if (b == Number()) return std::nullopt;
  uint32_t precision = larger_precision(a, b);
  std::optional<Small> small = both_small(a, b);
  if (small && small->b != -1 && small->a % small->b == 0) {
    return NumberParts::from_small(small->a / small->b, precision);
  }
  return NumberParts::from_big(quotient(NumberParts::big(a), NumberParts::big(b), precision), precision);
}

// a - b * (the whole part of a / b), each step rounded to the precision that the next one has in HCL.
std::optional<Number> modulo(const Number& a, const Number& b) {
  if (b == Number()) return std::nullopt;
  uint32_t precision = NumberParts::precision(a);
  std::optional<Small> small = both_small(a, b);
  if (small && precision >= kIntegerPrecision) {
    return NumberParts::from_small(small->b == -1 ? 0 : small->a % small->b, precision);
  }
  BigNumber x = NumberParts::big(a), y = NumberParts::big(b);
  BigNumber times = rounded(truncated(quotient(x, y, larger_precision(a, b))), precision);
  BigNumber taken = product(y, times, precision);
  taken.is_negative = !taken.is_negative;
  return NumberParts::from_big(sum(x, taken, precision), precision);
}

Number floor(const Number& number) { return whole_towards(number, true); }
Number ceil(const Number& number) { return whole_towards(number, false); }

}  // namespace drover::hcl
