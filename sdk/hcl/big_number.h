// Numbers that do not fit int64_t, and arithmetic on binary floating-point numbers of any precision. Private to the
// sources of numbers, because Boost's headers are heavy.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

#include "drover/hcl_value.h"

namespace drover::hcl {

using Natural = boost::multiprecision::cpp_int;  // never negative here

// (-1)^negative * mantissa * 2^exponent; the mantissa is odd, or zero with an exponent of zero.
struct BigNumber {
  bool is_negative = false;
  Natural mantissa;
  int64_t exponent = 0;
};

inline constexpr uint32_t kIntegerPrecision = 64;
inline constexpr uint32_t kDoublePrecision = 53;
inline constexpr uint32_t kTextPrecision = 512;
inline constexpr int64_t kMaxExponent = 4096;  // of the highest bit, either way

// Bits of a number that is not zero; 0 for zero.
int64_t bits_of(const Natural& number);

// Rounded to `precision` bits, to the nearest and to even; `is_inexact`: there is something more, less than one unit of
// the mantissa's last place.
BigNumber rounded(BigNumber number, uint32_t precision, bool is_inexact = false);

BigNumber product(const BigNumber& a, const BigNumber& b, uint32_t precision);
BigNumber sum(const BigNumber& a, const BigNumber& b, uint32_t precision);
BigNumber quotient(const BigNumber& a, const BigNumber& b, uint32_t precision);  // b is not zero
// The whole part, towards zero.
BigNumber truncated(const BigNumber& number);

// Access to a Number's representation.
struct NumberParts {
  static BigNumber big(const Number& number);
  static uint32_t precision(const Number& number) { return number.precision_; }
  static const int64_t* small(const Number& number) { return number.big_ ? nullptr : &number.small_; }
  static Number from_small(int64_t value, uint32_t precision);
  // Nothing when it is out of range. The number is already rounded.
  static std::optional<Number> from_big(BigNumber number, uint32_t precision);
};

}  // namespace drover::hcl
