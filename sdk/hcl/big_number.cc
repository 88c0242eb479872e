#include "big_number.h"

#include <algorithm>

namespace drover::hcl {
namespace {

namespace mp = boost::multiprecision;

// Takes the zeros from the mantissa's end.
void normalize(BigNumber& number) {
  if (number.mantissa == 0) {
    number = {};
    return;
  }
  auto zeros = static_cast<int64_t>(mp::lsb(number.mantissa));
  number.mantissa >>= static_cast<size_t>(zeros);
  number.exponent += zeros;
}

int compare_magnitudes(const Natural& a, const Natural& b) { return a < b ? -1 : a > b ? 1 : 0; }

}  // namespace

int64_t bits_of(const Natural& number) { return number == 0 ? 0 : static_cast<int64_t>(mp::msb(number)) + 1; }

BigNumber rounded(BigNumber number, uint32_t precision, bool is_inexact) {
  int64_t drop = bits_of(number.mantissa) - precision;
  if (drop > 0) {
    auto half = static_cast<unsigned>(drop - 1);
    bool is_half = mp::bit_test(number.mantissa, half);
    bool has_more = is_inexact || static_cast<int64_t>(mp::lsb(number.mantissa)) < drop - 1;
    number.mantissa >>= static_cast<size_t>(drop);
    number.exponent += drop;
    if (is_half && (has_more || mp::bit_test(number.mantissa, 0))) ++number.mantissa;
  }
  normalize(number);
  return number;
}

BigNumber product(const BigNumber& a, const BigNumber& b, uint32_t precision) {
  return rounded({a.is_negative != b.is_negative, a.mantissa * b.mantissa, a.exponent + b.exponent}, precision);
}

BigNumber sum(const BigNumber& a, const BigNumber& b, uint32_t precision) {
  if (a.mantissa == 0) return rounded(b, precision);
  if (b.mantissa == 0) return rounded(a, precision);
  // Exponents are bounded, so aligning both is bounded as well.
  int64_t exponent = std::min(a.exponent, b.exponent);
  Natural x = a.mantissa << static_cast<size_t>(a.exponent - exponent);
  Natural y = b.mantissa << static_cast<size_t>(b.exponent - exponent);
  if (a.is_negative == b.is_negative) return rounded({a.is_negative, x + y, exponent}, precision);
  if (compare_magnitudes(x, y) >= 0) return rounded({a.is_negative, x - y, exponent}, precision);
  return rounded({b.is_negative, y - x, exponent}, precision);
}

BigNumber quotient(const BigNumber& a, const BigNumber& b, uint32_t precision) {
  if (a.mantissa == 0) return {};
  // So many bits that rounding has at least two to look at.
  int64_t shift = std::max<int64_t>(0, precision + 2 + bits_of(b.mantissa) - bits_of(a.mantissa));
  Natural whole, rest;
  mp::divide_qr(Natural(a.mantissa << static_cast<size_t>(shift)), b.mantissa, whole, rest);
  return rounded({a.is_negative != b.is_negative, std::move(whole), a.exponent - b.exponent - shift}, precision,
                 rest != 0);
}

BigNumber truncated(const BigNumber& number) {
  if (number.exponent >= 0) return number;
  BigNumber whole = number;
  whole.mantissa >>= static_cast<size_t>(-number.exponent);
  whole.exponent = 0;
  normalize(whole);
  return whole;
}

BigNumber NumberParts::big(const Number& number) {
  if (number.big_) return *number.big_;
  BigNumber big;
  big.is_negative = number.small_ < 0;
  auto magnitude = static_cast<uint64_t>(number.small_);
  big.mantissa = big.is_negative ? ~magnitude + 1 : magnitude;
  normalize(big);
  return big;
}

Number NumberParts::from_small(int64_t value, uint32_t precision) {
  Number number;
  number.small_ = value;
  number.precision_ = precision;
  return number;
}

std::optional<Number> NumberParts::from_big(BigNumber big, uint32_t precision) {
  int64_t top = bits_of(big.mantissa) + big.exponent;
  if (big.mantissa != 0 && (top > kMaxExponent || top < -kMaxExponent)) return std::nullopt;
  if (big.exponent >= 0 && top <= 63) {
    auto magnitude = static_cast<int64_t>(static_cast<uint64_t>(big.mantissa) << big.exponent);
    return from_small(big.is_negative ? -magnitude : magnitude, precision);
  }
  if (big.exponent == 63 && big.mantissa == 1 && big.is_negative) {
    return from_small(std::numeric_limits<int64_t>::min(), precision);
  }
  Number number;
  number.precision_ = precision;
  number.big_ = std::make_shared<const BigNumber>(std::move(big));
  return number;
}

}  // namespace drover::hcl
