#include "drover/model/cron.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

namespace drover {
namespace {

constexpr int64_t kDay = 86400;
constexpr int64_t kFarthest = 26 * 3600;  // no clock is farther from UTC, with some to spare

enum FieldNumber : size_t { kSecond, kMinute, kHour, kDayOfMonth, kMonth, kDayOfWeek, kYear, kFields };

struct FieldKind {
  const char* name;
  int first, last;
};
constexpr FieldKind kKinds[kFields] = {{"second", 0, 59},       {"minute", 0, 59}, {"hour", 0, 23},
                                       {"day of month", 1, 31}, {"month", 1, 12},  {"day of week", 0, 7},
                                       {"year", 1970, 2099}};

constexpr std::string_view kMonths[] = {"january", "february", "march",     "april",   "may",      "june",
                                        "july",    "august",   "september", "october", "november", "december"};
constexpr std::string_view kWeekdays[] = {"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text.size() > 4 || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The whole name, or its first three letters.
template <size_t N>
std::optional<int> named(const std::string& text, const std::string_view (&names)[N]) {
  for (size_t i = 0; i < N; ++i) {
    if (text == names[i] || text == names[i].substr(0, 3)) return static_cast<int>(i);
  }
  return std::nullopt;
}

// A value of the field; nothing for what is none.
std::optional<int> value_of(size_t field, std::string_view text) {
  const FieldKind& kind = kKinds[field];
  if (auto number = whole_number(text)) {
    return *number >= kind.first && *number <= kind.last ? number : std::nullopt;
  }
  if (field == kMonth) {
    if (auto month = named(lower(text), kMonths)) return *month + 1;
  }
  return field == kDayOfWeek ? named(lower(text), kWeekdays) : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

int last_day_of(int year, int month) {
  const auto last = std::chrono::year(year) / std::chrono::month(static_cast<unsigned>(month)) / std::chrono::last;
  return static_cast<int>(static_cast<unsigned>(last.day()));
}

int weekday_of(int year, int month, int day) {
  const std::chrono::sys_days days = std::chrono::year(year) / std::chrono::month(static_cast<unsigned>(month)) /
                                     std::chrono::day(static_cast<unsigned>(day));
  return static_cast<int>(std::chrono::weekday(days).c_encoding());
}

// Monday to Friday, in the same month.
int nearest_workday(int year, int month, int day, int last) {
  switch (weekday_of(year, month, day)) {
    case 6:
      return day > 1 ? day - 1 : day + 2;
    case 0:
      return day < last ? day + 1 : day - 2;
    default:
      return day;
  }
}

// The largest whole number of days not above the instant.
int64_t day_of(int64_t instant) { return instant >= 0 ? instant / kDay : -((-instant + kDay - 1) / kDay); }

}  // namespace

Result<Cron> Cron::parse(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
      {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@hourly", "0 * * * *"}};
  std::vector<std::string_view> fields = split(text, " \t");
  std::erase(fields, "");
  if (fields.size() == 1 && fields[0].starts_with('@')) {
    for (const auto& [name, meaning] : kNames) {
      if (name == fields[0]) return parse(meaning);
    }
    return invalid_argument("\"" + std::string(fields[0]) +
                            "\" is unknown; use @hourly, @daily, @weekly, @monthly, @yearly or @annually");
  }
  if (fields.size() < 5 || fields.size() > 7) {
    return invalid_argument("it has " + std::to_string(fields.size()) + " fields, not 5 to 7");
  }
  if (fields.size() < 7) fields.insert(fields.begin(), "0");
  if (fields.size() < kFields) fields.emplace_back("*");
  Cron cron;
  for (size_t field = 0; field < kFields; ++field) {
    DROVER_RETURN_IF_ERROR(cron.parse_field(field, fields[field]));
  }
  return cron;
}

Status Cron::parse_field(size_t field, std::string_view text) {
  for (std::string_view item : split(text, ",")) {
    Status status = parse_item(field, item);
    if (!status.ok()) {
      return invalid_argument("the " + std::string(kKinds[field].name) + " \"" + std::string(item) + "\" " +
                              std::string(status.message()));
    }
  }
  return ok_status();
}

Status Cron::parse_item(size_t field, std::string_view item) {
  if (field == kDayOfMonth && parse_special_day(item)) return ok_status();
  if (field == kDayOfWeek && parse_special_weekday(item)) return ok_status();
  const FieldKind& kind = kKinds[field];
  const std::string limits = std::to_string(kind.first) + " to " + std::to_string(kind.last);
  const size_t slash = item.find('/');
  const std::string_view range = item.substr(0, slash);
  int step = 1;
  if (slash != std::string_view::npos) {
    step = whole_number(item.substr(slash + 1)).value_or(0);
    if (step < 1 || step > kind.last)
      return invalid_argument("has a step that is not 1 to " + std::to_string(kind.last));
  }
  int first = kind.first, last = field == kDayOfWeek ? 6 : kind.last;
  const bool is_any = range == "*" || range == "?";
  if (!is_any) {
    const size_t dash = range.find('-');
    const auto from = value_of(field, range.substr(0, dash));
    const auto to = dash == std::string_view::npos ? from : value_of(field, range.substr(dash + 1));
    if (!from || !to) return invalid_argument("is not a value, range, list or step within " + limits);
    if (*to < *from) return invalid_argument("ends before it begins");
    first = *from;
    if (dash != std::string_view::npos || slash == std::string_view::npos) last = *to;  // "5/10" goes on to the end
  }
  if (field == kDayOfMonth && is_any && slash == std::string_view::npos) any_day_ = true;
  if (field == kDayOfWeek && is_any && slash == std::string_view::npos) any_weekday_ = true;
  for (int value = first; value <= last; value += step) {
    const auto at = static_cast<size_t>(value);
    switch (field) {
      case kSecond:
        seconds_.set(at);
        break;
      case kMinute:
        minutes_.set(at);
        break;
      case kHour:
        hours_.set(at);
        break;
      case kDayOfMonth:
        days_.set(at);
        break;
      case kMonth:
        months_.set(at);
        break;
      case kDayOfWeek:
        weekdays_.set(at % 7);
        break;
      default:
        years_.set(at - kFirstYear);
        break;
    }
  }
  return ok_status();
}

bool Cron::parse_special_day(std::string_view item) {
  const std::string text = lower(item);
  if (text == "l") return before_last_.set(0), true;
  if (text == "lw" || text == "wl") return last_workday_ = true;
  if (text.starts_with("l-")) {
    const auto days = whole_number(std::string_view(text).substr(2));
    if (days && *days >= 1 && *days <= 30) return before_last_.set(static_cast<size_t>(*days)), true;
  } else if (text.ends_with('w')) {
    const auto day = value_of(kDayOfMonth, std::string_view(text).substr(0, text.size() - 1));
    if (day) return nearest_workday_.set(static_cast<size_t>(*day)), true;
  }
  return false;
}

bool Cron::parse_special_weekday(std::string_view item) {
  if (const size_t hash = item.find('#'); hash != std::string_view::npos) {
    const auto weekday = value_of(kDayOfWeek, item.substr(0, hash));
    const auto nth = whole_number(item.substr(hash + 1));
    if (!weekday || !nth || *nth < 1 || *nth > 5) return false;
    nth_weekdays_.emplace_back(*weekday % 7, *nth);
    return true;
  }
  if (item.empty() || (item.back() != 'L' && item.back() != 'l')) return false;
  const auto weekday = value_of(kDayOfWeek, item.substr(0, item.size() - 1));
  if (weekday) last_weekdays_.set(static_cast<size_t>(*weekday % 7));
  return weekday.has_value();
}

std::bitset<32> Cron::days_of(int year, int month) const {
  const int last = last_day_of(year, month);
  std::bitset<32> days;
  const auto set = [&](int day) { days.set(static_cast<size_t>(day)); };
  if (!any_day_ || any_weekday_) {
    for (int day = 1; day <= last; ++day) {
      const auto at = static_cast<size_t>(day);
      if (days_.test(at)) set(day);
      if (nearest_workday_.test(at)) set(nearest_workday(year, month, day, last));
    }
    for (int before = 0; before < 31; ++before) {
      if (before_last_.test(static_cast<size_t>(before))) set(std::max(last - before, 1));
    }
    if (last_workday_) set(nearest_workday(year, month, last, last));
  }
  if (any_weekday_) return days;
  const int first_weekday = weekday_of(year, month, 1);
  for (int day = 1; day <= last; ++day) {
    const int weekday = (first_weekday + day - 1) % 7, nth = (day - 1) / 7 + 1;
    const auto at = static_cast<size_t>(weekday);
    const bool is_nth = std::ranges::find(nth_weekdays_, std::pair(weekday, nth)) != nth_weekdays_.end();
    if (weekdays_.test(at) || is_nth || (last_weekdays_.test(at) && day + 7 > last)) set(day);
  }
  return days;
}

// Second of a day, not before `from` and before `end`.
std::optional<int64_t> Cron::next_second(int64_t from, int64_t end) const {
  for (int64_t hour = from / 3600; hour < 24; ++hour) {
    if (!hours_.test(static_cast<size_t>(hour))) continue;
    for (int64_t minute = 0; minute < 60; ++minute) {
      const int64_t begin = hour * 3600 + minute * 60;
      if (begin >= end) return std::nullopt;
      if (!minutes_.test(static_cast<size_t>(minute)) || begin + 60 <= from) continue;
      for (int64_t second = std::max<int64_t>(from - begin, 0); second < 60; ++second) {
        if (seconds_.test(static_cast<size_t>(second))) {
          return begin + second < end ? std::optional(begin + second) : std::nullopt;
        }
      }
    }
  }
  return std::nullopt;
}

// `day`: since 1970, on the clocks of the zone. Between two changes of the clocks a day is a plain stretch of time.
std::optional<int64_t> Cron::next_in_day(int64_t day, int64_t from, const TimeZone& zone) const {
  const int64_t midnight = day * kDay;
  for (int64_t at = std::max(from, midnight - kFarthest); at < midnight + kDay + kFarthest;) {
    const TimeZone::Span span = zone.at(at);
    const int64_t begin = std::max<int64_t>(at + span.ahead - midnight, 0);
    const int64_t left = std::min(span.end - at, 3 * kDay);
    const int64_t end = std::min(at + left + span.ahead - midnight, kDay);
    if (begin < end) {
      if (auto second = next_second(begin, end)) return midnight + *second - span.ahead;
    }
    at += left;
  }
  return std::nullopt;
}

std::optional<int64_t> Cron::next(int64_t from, const TimeZone& zone) const {
  using namespace std::chrono;
  if (from >= sys_days(year(kLastYear + 2) / 1 / 1).time_since_epoch().count() * kDay) return std::nullopt;
  const int64_t start = std::max<int64_t>(from + 1, 0);
  // One day early: clocks that go back over midnight show the day before once more.
  const int64_t first_day = day_of(start + zone.at(start).ahead) - 1;
  const year_month_day first{sys_days(days(first_day))};
  std::optional<int64_t> found;
  for (int y = std::max(static_cast<int>(first.year()), kFirstYear); y <= kLastYear; ++y) {
    if (!years_.test(static_cast<size_t>(y - kFirstYear))) continue;
    for (int m = 1; m <= 12; ++m) {
      if (!months_.test(static_cast<size_t>(m))) continue;
      const int64_t month_begin = sys_days(year(y) / month(static_cast<unsigned>(m)) / 1).time_since_epoch().count();
      if (month_begin + 31 <= first_day) continue;
      const std::bitset<32> wanted = days_of(y, m);
      for (int64_t d = 1; d <= 31; ++d) {
        const int64_t day = month_begin + d - 1;
        if (!wanted.test(static_cast<size_t>(d)) || day < first_day) continue;
        // For the same reason the day after the first hit is looked at as well.
        if (found && day > day_of(*found + zone.at(*found).ahead) + 1) return found;
        const auto hit = next_in_day(day, start, zone);
        if (hit && (!found || *hit < *found)) found = hit;
      }
    }
  }
  return found;
}

}  // namespace drover
