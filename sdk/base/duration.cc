#include "drover/duration.h"

#include <cstdint>
#include <limits>

namespace drover {
namespace {

struct Unit {
  std::string_view name;
  uint64_t nanoseconds;
};

// A name that begins another one comes after it.
constexpr Unit kUnits[] = {
    {"ns", 1},         {"us", 1'000},        {"\xc2\xb5s", 1'000},  {"\xce\xbcs", 1'000},
    {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000},
};

constexpr uint64_t kMost = uint64_t{1} << 63;  // the magnitude of the smallest duration

bool is_digit(char c) { return c >= '0' && c <= '9'; }

const Unit* take_unit(std::string_view& text) {
  for (const Unit& unit : kUnits) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return &unit;
  }
  return nullptr;
}

Status invalid(std::string_view text) {
  return invalid_argument("\"" + std::string(text.substr(0, 100)) +
                          "\" is not a duration such as \"30s\" or \"1h30m\"");
}

// One number with its unit, added to `sum`; false when it is malformed or too large.
bool take_part(std::string_view& text, uint64_t& sum) {
  uint64_t whole = 0;
  bool has_digits = false;
  for (; !text.empty() && is_digit(text[0]); text.remove_prefix(1), has_digits = true) {
    if (whole > kMost / 10) return false;
    whole = whole * 10 + static_cast<uint64_t>(text[0] - '0');
  }
  uint64_t fraction = 0, scale = 1;
  if (text.starts_with('.')) {
    for (text.remove_prefix(1); !text.empty() && is_digit(text[0]); text.remove_prefix(1), has_digits = true) {
      if (scale >= 1'000'000'000'000'000) continue;  // finer than a nanosecond of an hour
      fraction = fraction * 10 + static_cast<uint64_t>(text[0] - '0');
      scale *= 10;
    }
  }
  const Unit* unit = has_digits ? take_unit(text) : nullptr;
  if (!unit || whole > kMost / unit->nanoseconds) return false;
  // The unit is divided first, so that fractions down to a nanosecond stay exact.
  long double step = static_cast<long double>(unit->nanoseconds) / static_cast<long double>(scale);
  auto part = static_cast<uint64_t>(static_cast<long double>(fraction) * step);
  part += whole * unit->nanoseconds;
  if (part > kMost || sum > kMost - part) return false;
  sum += part;
  return true;
}

// "1.5" from 1,500 and 1,000: the value in units of `one`, without trailing zeros.
std::string decimal(uint64_t value, uint64_t one) {
  std::string text = std::to_string(value / one);
  uint64_t fraction = value % one;
  if (fraction == 0) return text;
  std::string digits = std::to_string(fraction + one).substr(1);
  digits.erase(digits.find_last_not_of('0') + 1);
  return text + "." + digits;
}

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  std::string_view rest = text;
  bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return std::chrono::nanoseconds(0);
  if (rest.empty()) return invalid(text);
  uint64_t sum = 0;
  while (!rest.empty()) {
    if (!take_part(rest, sum)) return invalid(text);
  }
  if (!is_negative && sum == kMost) return invalid(text);
  return std::chrono::nanoseconds(static_cast<int64_t>(is_negative ? 0 - sum : sum));
}

std::string format_duration(std::chrono::nanoseconds duration) {
  constexpr uint64_t kMicro = 1'000, kMilli = 1'000'000, kSecond = 1'000'000'000;
  int64_t count = duration.count();
  if (count == 0) return "0s";
  std::string sign = count < 0 ? "-" : "";
  uint64_t rest = count < 0 ? 0 - static_cast<uint64_t>(count) : static_cast<uint64_t>(count);
  if (rest < kMicro) return sign + std::to_string(rest) + "ns";
  if (rest < kMilli) return sign + decimal(rest, kMicro) + "\xc2\xb5s";
  if (rest < kSecond) return sign + decimal(rest, kMilli) + "ms";
  uint64_t minutes = rest / (60 * kSecond);
  std::string text = decimal(rest % (60 * kSecond), kSecond) + "s";
  if (minutes > 0) text.insert(0, std::to_string(minutes % 60) + "m");
  if (minutes >= 60) text.insert(0, std::to_string(minutes / 60) + "h");
  return sign + text;
}

}  // namespace drover
