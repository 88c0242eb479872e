#include "drover/duration.h"

#include <array>
#include <cstdint>

namespace drover {
namespace {

struct Unit {
  std::string_view name;
  int64_t ns;
};
// Longer names first: "ms" before "m".
constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"\xc2\xb5s", 1'000},
                                         {"\xce\xbcs", 1'000},
                                         {"ms", 1'000'000},
                                         {"s", 1'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"h", 3'600'000'000'000}}};

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view whole) {
  const auto bad = [&] {
    return invalid_argument("\"" + std::string(whole) + "\" is not a duration such as \"30s\" or \"1h30m\"");
  };
  std::string_view text = whole;
  bool negative = false;
  if (text.starts_with('-') || text.starts_with('+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (text == "0") return std::chrono::nanoseconds(0);
  if (text.empty()) return bad();
  // Sums in 128 bits; the range is checked once at the end of each part.
  __extension__ using Wide = __int128;
  Wide total = 0;
  while (!text.empty()) {
    Wide value = 0;
    Wide scale = 1;
    bool any = false;
    bool point = false;
    while (!text.empty() && (text.front() == '.' || (text.front() >= '0' && text.front() <= '9'))) {
      if (text.front() == '.') {
        if (point) return bad();
        point = true;
      } else {
        any = true;
        if (scale < 1'000'000'000'000) {  // further digits are below a nanosecond
          value = value * 10 + (text.front() - '0');
          if (point) scale *= 10;
        }
        if (value > INT64_MAX) return bad();
      }
      text.remove_prefix(1);
    }
    if (!any) return bad();
    const Unit* unit = nullptr;
    for (const Unit& candidate : kUnits) {
      if (text.starts_with(candidate.name)) {
        unit = &candidate;
        break;
      }
    }
    if (!unit) return bad();
    text.remove_prefix(unit->name.size());
    total += value * unit->ns / scale;
    if (total > INT64_MAX) return bad();
  }
  const auto ns = static_cast<int64_t>(total);
  return std::chrono::nanoseconds(negative ? -ns : ns);
}

std::string format_duration(std::chrono::nanoseconds duration) {
  int64_t ns = duration.count();
  if (ns == 0) return "0s";
  std::string sign;
  auto rest = static_cast<uint64_t>(ns);
  if (ns < 0) {
    sign = "-";
    rest = ~rest + 1;
  }
  const auto decimal = [](uint64_t value, uint64_t unit) {
    std::string text = std::to_string(value / unit);
    if (value % unit == 0) return text;
    std::string fraction = std::to_string(unit + value % unit).substr(1);
    while (fraction.back() == '0') fraction.pop_back();
    return text + "." + fraction;
  };
  if (rest < 1'000) return sign + std::to_string(rest) + "ns";
  if (rest < 1'000'000) return sign + decimal(rest, 1'000) + "\xc2\xb5s";
  if (rest < 1'000'000'000) return sign + decimal(rest, 1'000'000) + "ms";
  const uint64_t hours = rest / 3'600'000'000'000;
  const uint64_t minutes = rest / 60'000'000'000 % 60;
  std::string text = sign;
  if (hours) text += std::to_string(hours) + "h";
  if (hours || minutes) text += std::to_string(minutes) + "m";
  return text + decimal(rest % 60'000'000'000, 1'000'000'000) + "s";
}

}  // namespace drover
