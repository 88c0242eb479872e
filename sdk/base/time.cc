#include "drover/time.h"

#include <array>
#include <chrono>
#include <cstdio>

namespace drover {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Reads exactly `width` digits and advances.
bool digits(std::string_view& text, int width, int& value) {
  if (text.size() < static_cast<size_t>(width)) return false;
  value = 0;
  for (int i = 0; i < width; ++i) {
    char c = text[static_cast<size_t>(i)];
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(static_cast<size_t>(width));
  return true;
}

bool literal(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string format_time(int64_t ns) {
  using namespace std::chrono;
  const sys_time<nanoseconds> point{nanoseconds(ns)};
  const auto day = floor<days>(point);
  const year_month_day date{day};
  const hh_mm_ss clock{floor<seconds>(point - day)};
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  std::string text = buffer.data();
  if (int64_t rest = ((ns % kSecond) + kSecond) % kSecond; rest != 0) {
    std::snprintf(buffer.data(), buffer.size(), ".%09lld", static_cast<long long>(rest));
    text += buffer.data();
    while (text.back() == '0') text.pop_back();
  }
  return text + "Z";
}

Result<int64_t> parse_time(std::string_view whole) {
  using namespace std::chrono;
  std::string_view text = whole;
  const auto bad = [&] {
    return invalid_argument("\"" + std::string(whole) + "\" is not a time of the form 2006-01-02T15:04:05Z");
  };
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!digits(text, 4, year) || !literal(text, "-") || !digits(text, 2, month) || !literal(text, "-") ||
      !digits(text, 2, day) || !literal(text, "Tt ") || !digits(text, 2, hour) || !literal(text, ":") ||
      !digits(text, 2, minute) || !literal(text, ":") || !digits(text, 2, second)) {
    return bad();
  }
  const year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return bad();
  int64_t fraction = 0;
  if (literal(text, ".")) {
    int64_t unit = kSecond / 10;
    if (text.empty() || text.front() < '0' || text.front() > '9') return bad();
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
      fraction += (text.front() - '0') * unit;
      unit /= 10;
      text.remove_prefix(1);
    }
  }
  int64_t offset = 0;
  if (!literal(text, "Zz")) {
    const int64_t sign = !text.empty() && text.front() == '-' ? -1 : 1;
    int hours = 0, minutes = 0;
    if (!literal(text, "+-") || !digits(text, 2, hours) || !literal(text, ":") || !digits(text, 2, minutes))
      return bad();
    offset = sign * (hours * 3600 + minutes * 60);
  }
  if (!text.empty()) return bad();
  const int64_t days_since = sys_days(date).time_since_epoch().count();
  // Outside what sixty-four bits of nanoseconds hold (1678 to 2262) only "the zero time" is of use: it reads as 0.
  if (days_since < -106'000 || days_since > 106'000) return 0;
  return ((days_since * 86400 + hour * 3600 + minute * 60 + second - offset) * kSecond) + fraction;
}

}  // namespace drover
