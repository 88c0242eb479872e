// Numbers as text: reading decimal and other bases, printing the shortest text or so many digits.
#include <algorithm>
#include <charconv>

#include "big_number.h"
#include "number.h"

namespace drover::hcl {
namespace {

namespace mp = boost::multiprecision;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits are what is used of the text, without sign and point: digits * 10^exponent.
struct Literal {
  bool is_negative = false;
  std::string digits;
  int64_t exponent = 0;
};

constexpr int64_t kMaxDecimalExponent = 1'000'000;  // far beyond what is in range
constexpr size_t kMaxDigits = 16'384;               // of a literal, without zeros at its ends

// [+-]? digits [. digits] [e [+-] digits]
std::optional<Literal> read_literal(std::string_view text) {
  Literal literal;
  auto digits = [&] {
    size_t first = literal.digits.size();
    while (!text.empty() && is_digit(text[0])) {
      literal.digits += text[0];
      text.remove_prefix(1);
    }
    return literal.digits.size() > first;
  };
  auto sign = [&] {
    bool is_negative = text.starts_with('-');
    if (is_negative || text.starts_with('+')) text.remove_prefix(1);
    return is_negative;
  };
  literal.is_negative = sign();
  if (!digits()) return std::nullopt;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    size_t whole = literal.digits.size();
    if (!digits()) return std::nullopt;
    literal.exponent = -static_cast<int64_t>(literal.digits.size() - whole);
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    bool is_negative = sign();
    int64_t exponent = 0;
    if (text.empty()) return std::nullopt;
    for (; !text.empty() && is_digit(text[0]); text.remove_prefix(1)) {
      exponent = std::min(exponent * 10 + (text[0] - '0'), kMaxDecimalExponent);
    }
    literal.exponent += is_negative ? -exponent : exponent;
  }
  if (!text.empty()) return std::nullopt;
  return literal;
}

// 5^exponent rounded to `precision` bits at each step; exact as long as they suffice.
BigNumber power_of_five(int64_t exponent, uint32_t precision) {
  BigNumber result{false, 1, 0}, factor{false, 5, 0};
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = product(result, factor, precision);
    factor = product(factor, factor, precision);
  }
  return result;
}

// Decimal digits without zeros at either end: 0.digits * 10^point. Zero has none.
struct Decimal {
  bool is_negative = false;
  std::string digits;
  int64_t point = 0;
};

void trim(Decimal& decimal) {
  size_t first = decimal.digits.find_first_not_of('0');
  if (first == std::string::npos) {
    decimal = {decimal.is_negative, "", 0};
    return;
  }
  decimal.digits.erase(0, first);
  decimal.point -= static_cast<int64_t>(first);
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
}

// mantissa * 2^exponent as a whole number and the digits of it that stand behind the point.
std::string exact_digits(const Natural& mantissa, int64_t exponent, int64_t& behind_point) {
  behind_point = std::max<int64_t>(-exponent, 0);
  if (exponent >= 0) return Natural(mantissa << static_cast<size_t>(exponent)).str();
  return Natural(mantissa * mp::pow(Natural(5), static_cast<unsigned>(-exponent))).str();
}

Decimal exact(const BigNumber& number) {
  int64_t behind = 0;
  std::string digits = exact_digits(number.mantissa, number.exponent, behind);
  Decimal decimal{number.is_negative, std::move(digits), 0};
  decimal.point = static_cast<int64_t>(decimal.digits.size()) - behind;
  trim(decimal);
  return decimal;
}

// Keeps `count` digits, rounded up if asked.
void cut(Decimal& decimal, int64_t count, bool up) {
  count = std::max<int64_t>(count, 0);
  decimal.digits.resize(static_cast<size_t>(count));
  if (up) {
    while (!decimal.digits.empty() && decimal.digits.back() == '9') decimal.digits.pop_back();
    if (decimal.digits.empty()) {
      decimal.digits = "1";
      ++decimal.point;
    } else {
      ++decimal.digits.back();
    }
  }
  trim(decimal);
}

// Rounds to the nearest with so many digits; a tie goes to the even one.
void round_to(Decimal& decimal, int64_t count) {
  if (count < 0) {
    decimal = {decimal.is_negative, "", 0};
    return;
  }
  auto at = static_cast<size_t>(count);
  if (at >= decimal.digits.size()) return;
  bool is_half = decimal.digits[at] == '5' && at + 1 == decimal.digits.size();
  bool up = is_half ? at > 0 && ((decimal.digits[at - 1] - '0') & 1) != 0 : decimal.digits[at] >= '5';
  cut(decimal, count, up);
}

// The fewest digits that no other number of this precision is nearer to.
Decimal shortest(const BigNumber& number, uint32_t precision) {
  if (number.mantissa == 0) return {};
  // The mantissa with one bit more than the precision, so that one unit is half of the last place.
  auto shift = static_cast<int64_t>(precision) + 1 - bits_of(number.mantissa);
  Natural middle = number.mantissa << static_cast<size_t>(shift);
  int64_t exponent = number.exponent - shift, behind = 0;
  std::string value = exact_digits(middle, exponent, behind);
  std::string low = exact_digits(Natural(middle - 1), exponent, behind);
  std::string high = exact_digits(Natural(middle + 1), exponent, behind);
  auto widen = [&](std::string& text) { text.insert(0, high.size() - text.size(), '0'); };
  widen(value);
  widen(low);
  bool is_inclusive = !mp::bit_test(middle, 1);
  size_t low_end = low.find_last_not_of('0') + 1, high_end = high.find_last_not_of('0') + 1;
  Decimal decimal{number.is_negative, value, static_cast<int64_t>(value.size()) - behind};
  size_t leading = value.find_first_not_of('0');
  for (size_t i = leading; i < value.size(); ++i) {
    bool down = low[i] != value[i] || (is_inclusive && i + 1 >= low_end);
    bool up = value[i] != high[i] && (is_inclusive || value[i] + 1 < high[i] || i + 1 < high_end);
    if (!down && !up) continue;
    decimal.digits.erase(value.find_last_not_of('0') + 1);
    if (down && up) {
      round_to(decimal, static_cast<int64_t>(i) + 1);
      trim(decimal);
    } else {
      decimal.digits.resize(std::max(decimal.digits.size(), i + 1), '0');
      cut(decimal, static_cast<int64_t>(i) + 1, up);
    }
    return decimal;
  }
  trim(decimal);
  return decimal;
}

// 123.450: with so many digits behind the point.
std::string plain(const Decimal& decimal, int64_t behind) {
  std::string text = decimal.is_negative ? "-" : "";
  auto digit = [&](int64_t i) {
    return i >= 0 && i < static_cast<int64_t>(decimal.digits.size()) ? decimal.digits[static_cast<size_t>(i)] : '0';
  };
  if (decimal.point <= 0) text += '0';
  for (int64_t i = 0; i < decimal.point; ++i) text += digit(i);
  if (behind > 0) text += '.';
  for (int64_t i = 0; i < behind; ++i) text += digit(decimal.point + i);
  return text;
}

// 1.2345e+02: with so many digits behind the point.
std::string scientific(const Decimal& decimal, int64_t behind, char letter) {
  std::string text = decimal.is_negative ? "-" : "";
  text += decimal.digits.empty() ? '0' : decimal.digits[0];
  if (behind > 0) text += '.';
  for (int64_t i = 1; i <= behind; ++i) {
    text += i < static_cast<int64_t>(decimal.digits.size()) ? decimal.digits[static_cast<size_t>(i)] : '0';
  }
  int64_t exponent = decimal.digits.empty() ? 0 : decimal.point - 1;
  text += letter;
  text += exponent < 0 ? '-' : '+';
  std::string digits = std::to_string(std::abs(exponent));
  return text + (digits.size() < 2 ? "0" : "") + digits;
}

std::string general(Decimal decimal, int precision, char letter) {
  auto count = static_cast<int64_t>(decimal.digits.size());
  int64_t limit = precision < 0 ? 6 : std::max(precision, 1);
  int64_t digits = precision < 0 ? count : limit;
  if (precision >= 0 && limit > count && count >= decimal.point) limit = count;
  int64_t exponent = decimal.point - 1;
  if (!decimal.digits.empty() && (exponent < -4 || exponent >= limit)) {
    return scientific(decimal, std::min(digits, count) - 1, letter == 'g' ? 'e' : 'E');
  }
  return plain(decimal, std::max<int64_t>(count - decimal.point, 0));
}

int digit_of(char c, int base) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + (base > 36 ? 36 : 10);
  return base;
}

}  // namespace

std::optional<Number> Number::parse(std::string_view text) {
  std::string_view whole = text.starts_with('+') ? text.substr(1) : text;
  int64_t value = 0;
  auto [end, problem] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (problem == std::errc() && end == whole.data() + whole.size() && (whole == text || whole[0] != '-')) {
    return NumberParts::from_small(value, kTextPrecision);
  }
  std::optional<Literal> literal = read_literal(text);
  if (!literal) return std::nullopt;
  size_t first = literal->digits.find_first_not_of('0');
  if (first == std::string::npos) return NumberParts::from_small(0, kTextPrecision);
  literal->digits.erase(0, first);
  size_t last = literal->digits.find_last_not_of('0') + 1;
  literal->exponent += static_cast<int64_t>(literal->digits.size() - last);
  literal->digits.erase(last);
  // Surely out of range, before anything is multiplied: each digit is more than three bits.
  auto top = static_cast<int64_t>(literal->digits.size()) + literal->exponent;
  if (std::abs(top) * 3 > kMaxExponent + 3 || literal->digits.size() > kMaxDigits) return std::nullopt;
  BigNumber big{literal->is_negative, Natural(literal->digits), 0};
  BigNumber factor = power_of_five(std::abs(literal->exponent), kTextPrecision + 64);
  big = literal->exponent < 0 ? quotient(big, factor, kTextPrecision) : product(big, factor, kTextPrecision);
  big.exponent += literal->exponent;
  return NumberParts::from_big(std::move(big), kTextPrecision);
}

std::string Number::to_string() const {
  constexpr int64_t kExact = int64_t{1} << kDoublePrecision;
  bool is_exact = precision_ >= kIntegerPrecision || (small_ < kExact && small_ > -kExact);
  if (!big_ && is_exact) return std::to_string(small_);
  return formatted(*this, 'f', -1);
}

std::optional<Number> parse_whole(std::string_view text, int base) {
  bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  BigNumber big{is_negative, 0, 0};
  for (char c : text) {
    int digit = digit_of(c, base);
    if (digit >= base) return std::nullopt;
    big.mantissa = big.mantissa * base + digit;
    if (bits_of(big.mantissa) > kMaxExponent) return std::nullopt;
  }
  auto precision = static_cast<uint32_t>(std::max<int64_t>(bits_of(big.mantissa), kIntegerPrecision));
  return NumberParts::from_big(rounded(std::move(big), precision), precision);
}

std::optional<std::string> whole_text(const Number& number, int base) {
  BigNumber big = NumberParts::big(number);
  if (big.exponent < 0) return std::nullopt;
  Natural whole = big.mantissa << static_cast<size_t>(big.exponent);
  std::string text;
  if (base == 2) {
    for (int64_t i = bits_of(whole) - 1; i >= 0; --i) text += mp::bit_test(whole, static_cast<unsigned>(i)) ? '1' : '0';
    if (text.empty()) text = "0";
  } else {
    text = whole.str(0, base == 16 ? std::ios_base::hex : base == 8 ? std::ios_base::oct : std::ios_base::dec);
  }
  return big.is_negative ? "-" + text : text;
}

std::string formatted(const Number& number, char form, int precision) {
  BigNumber big = NumberParts::big(number);
  bool is_general = form == 'g' || form == 'G';
  Decimal decimal = precision < 0 ? shortest(big, NumberParts::precision(number)) : exact(big);
  if (form == 'f') {
    if (precision >= 0) round_to(decimal, decimal.point + precision);
    auto count = static_cast<int64_t>(decimal.digits.size());
    return plain(decimal, precision < 0 ? std::max<int64_t>(count - decimal.point, 0) : precision);
  }
  if (precision >= 0) round_to(decimal, is_general ? std::max(precision, 1) : precision + 1);
  if (is_general) return general(std::move(decimal), precision, form);
  auto count = static_cast<int64_t>(decimal.digits.size());
  return scientific(decimal, precision < 0 ? std::max<int64_t>(count - 1, 0) : precision, form);
}

}  // namespace drover::hcl
