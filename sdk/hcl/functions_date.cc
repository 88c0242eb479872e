// formatdate and timeadd, over RFC 3339 timestamps that keep the offset they were written with.
#include <array>
#include <chrono>
#include <cstdio>

#include "drover/duration.h"
#include "functions.h"

namespace drover::hcl {
namespace {

constexpr int64_t kDay = 86'400;
constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kWeekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};

std::string digits(int64_t number, int width) {
  std::array<char, 32> buffer;
  int length = std::snprintf(buffer.data(), buffer.size(), "%0*lld", width, static_cast<long long>(number));
  return {buffer.data(), static_cast<size_t>(length)};
}

// A point in time with the offset in which people see it.
struct Timestamp {
  int64_t seconds = 0;  // since 1970, UTC
  int64_t nanoseconds = 0;
  int offset = 0;  // seconds east of UTC

  int64_t local() const { return seconds + offset; }
  std::chrono::sys_days day() const {
    int64_t days = local() / kDay - (local() % kDay < 0 ? 1 : 0);
    return std::chrono::sys_days(std::chrono::days(days));
  }
  int64_t second_of_day() const { return ((local() % kDay) + kDay) % kDay; }
};

class TimestampReader {
 public:
  explicit TimestampReader(std::string_view text) : text_(text) {}

  // YYYY-MM-DDThh:mm:ss[.fraction](Z|±hh:mm), and nothing else.
  std::optional<Timestamp> read() {
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    bool is_good = number(4, year) && mark('-') && number(2, month) && mark('-') && number(2, day) && mark('T') &&
                   number(2, hour) && mark(':') && number(2, minute) && mark(':') && number(2, second);
    if (!is_good || hour > 23 || minute > 59 || second > 59) return std::nullopt;
    Timestamp time;
    if (!fraction(time.nanoseconds) || !offset(time.offset) || !text_.empty()) return std::nullopt;
    std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                     std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok()) return std::nullopt;
    time.seconds = std::chrono::sys_days(date).time_since_epoch().count() * kDay + hour * 3600 + minute * 60 + second -
                   time.offset;
    return time;
  }

 private:
  bool mark(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool number(size_t width, int& out) {
    if (text_.size() < width) return false;
    for (char c : text_.substr(0, width)) {
      if (c < '0' || c > '9') return false;
      out = out * 10 + (c - '0');
    }
    text_.remove_prefix(width);
    return true;
  }
  bool fraction(int64_t& nanoseconds) {
    if (!mark('.')) return true;
    int64_t unit = 100'000'000;
    size_t count = 0;
    for (; !text_.empty() && text_[0] >= '0' && text_[0] <= '9'; text_.remove_prefix(1), unit /= 10, ++count) {
      nanoseconds += (text_[0] - '0') * unit;
    }
    return count > 0;
  }
  bool offset(int& seconds) {
    if (mark('Z')) return true;
    bool is_west = text_.starts_with('-');
    int hours = 0, minutes = 0;
    if (!(mark('+') || mark('-')) || !number(2, hours) || !mark(':') || !number(2, minutes)) return false;
    if (hours > 23 || minutes > 59) return false;
    seconds = (hours * 3600 + minutes * 60) * (is_west ? -1 : 1);
    return true;
  }

  std::string_view text_;
};

Result<Timestamp> timestamp_argument(Arguments arguments, size_t i) {
  DROVER_TRY(std::string text, text_argument(arguments, i));
  if (std::optional<Timestamp> time = TimestampReader(text).read()) return *time;
  return invalid_argument("argument " + std::to_string(i + 1) + " is no RFC 3339 timestamp: \"" + text + "\"");
}

std::string zone(const Timestamp& time, bool with_colon) {
  int minutes = std::abs(time.offset) / 60;
  return (time.offset < 0 ? "-" : "+") + digits(minutes / 60, 2) + (with_colon ? ":" : "") + digits(minutes % 60, 2);
}

// The meaning of one run of a letter in the format; nothing when it means nothing.
std::optional<std::string> field(const Timestamp& time, std::string_view run) {
  std::chrono::year_month_day date(time.day());
  auto month = static_cast<unsigned>(date.month());
  auto day = static_cast<unsigned>(date.day());
  int year = static_cast<int>(date.year());
  unsigned weekday = std::chrono::weekday(time.day()).c_encoding();
  int64_t hour = time.second_of_day() / 3600;
  int64_t hour_of_twelve = (hour + 11) % 12 + 1;
  int64_t minute = time.second_of_day() / 60 % 60, second = time.second_of_day() % 60;
  if (run == "YYYY") return digits(year, 4);
  if (run == "YY") return digits(year % 100, 2);
  if (run == "MMMM") return std::string(kMonths[month - 1]);
  if (run == "MMM") return std::string(kMonths[month - 1].substr(0, 3));
  if (run == "MM" || run == "M") return digits(month, static_cast<int>(run.size()));
  if (run == "DD" || run == "D") return digits(day, static_cast<int>(run.size()));
  if (run == "EEEE") return std::string(kWeekdays[weekday]);
  if (run == "EEE") return std::string(kWeekdays[weekday].substr(0, 3));
  if (run == "hh" || run == "h") return digits(hour, static_cast<int>(run.size()));
  if (run == "HH" || run == "H") return digits(hour_of_twelve, static_cast<int>(run.size()));
  if (run == "AA") return hour < 12 ? "AM" : "PM";
  if (run == "aa") return hour < 12 ? "am" : "pm";
  if (run == "mm" || run == "m") return digits(minute, static_cast<int>(run.size()));
  if (run == "ss" || run == "s") return digits(second, static_cast<int>(run.size()));
  if (run == "ZZZZZ") return zone(time, true);
  if (run == "ZZZZ") return zone(time, false);
  if (run == "ZZZ") return time.offset == 0 ? "UTC" : zone(time, false);
  if (run == "Z") return time.offset == 0 ? "Z" : zone(time, true);
  return std::nullopt;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// formatdate(format, timestamp)
Result<Value> format_date(Arguments arguments) {
  DROVER_TRY(std::string format, text_argument(arguments, 0));
  DROVER_TRY(Timestamp time, timestamp_argument(arguments, 1));
  std::string out;
  for (size_t at = 0; at < format.size();) {
    char c = format[at];
    if (format.compare(at, 2, "''") == 0) {
      out += '\'';
      at += 2;
    } else if (c == '\'') {  // literal text; two quotes inside are one
      for (++at;; ++at) {
        if (at >= format.size()) return invalid_argument("argument 1 has a quote that does not end");
        if (format[at] == '\'' && !(at + 1 < format.size() && format[at + 1] == '\'')) break;
        if (format[at] == '\'') ++at;
        out += format[at];
      }
      ++at;
    } else if (is_letter(c)) {
      size_t end = std::min(format.find_first_not_of(c, at), format.size());
      std::string_view run = std::string_view(format).substr(at, end - at);
      std::optional<std::string> text = field(time, run);
      if (!text)
        return invalid_argument("\"" + std::string(run) + "\" in the format means nothing; put text in quotes");
      out += *text;
      at = end;
    } else {
      out += c;
      ++at;
    }
  }
  return Value(std::move(out));
}

// timeadd(timestamp, duration)
Result<Value> time_add(Arguments arguments) {
  DROVER_TRY(Timestamp time, timestamp_argument(arguments, 0));
  DROVER_TRY(std::string text, text_argument(arguments, 1));
  auto duration = parse_duration(text);
  if (!duration) return duration.status().with_context("argument 2");
  int64_t nanoseconds = time.nanoseconds + duration->count() % 1'000'000'000;
  time.seconds += duration->count() / 1'000'000'000;
  if (nanoseconds < 0) --time.seconds;
  if (nanoseconds >= 1'000'000'000) ++time.seconds;
  std::chrono::year_month_day date(time.day());
  int year = static_cast<int>(date.year());
  if (year < 0 || year > 9999) return invalid_argument("the result is outside of the years 0 to 9999");
  int64_t second = time.second_of_day();
  return Value(digits(year, 4) + "-" + digits(static_cast<unsigned>(date.month()), 2) + "-" +
               digits(static_cast<unsigned>(date.day()), 2) + "T" + digits(second / 3600, 2) + ":" +
               digits(second / 60 % 60, 2) + ":" + digits(second % 60, 2) + *field(time, "Z"));
}

}  // namespace

void add_date_functions(Functions& functions) {
  functions["formatdate"] = with_count(2, 2, format_date);
  functions["timeadd"] = with_count(2, 2, time_add);
}

}  // namespace drover::hcl
