// Cron expressions: when a periodic job is due. Pure.
//
//   [second] minute hour day-of-month month day-of-week [year]
//
// Five fields, six with a year, seven with a second in front; or @hourly, @daily, @weekly, @monthly, @yearly,
// @annually. A field is a list of *, ?, values, ranges (1-5) and steps (*/15, 10-40/5); months and days of the week
// also by name.
//   day of month   L the last day, L-3 three days before it, 15W the working day nearest to the 15th, LW the last one
//   day of week    0 or 7 is Sunday; 5L the last Friday, 1#2 the second Monday
// When both days are restricted, either is enough (crontab(5)). The dialect is that of cronexpr, as Nomad uses it.
//
// An expression is about the clocks of a place: what they skip in spring is not due that day, what they show twice in
// autumn is due twice.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/model/time_zone.h"
#include "drover/result.h"

namespace drover {

class Cron {
 public:
  // Errors: invalid_argument; says which field and why.
  static Result<Cron> parse(std::string_view text);

  // The first instant after `from` that matches, both in seconds since 1970; nothing until the end of 2099.
  std::optional<int64_t> next(int64_t from, const TimeZone& zone) const;

 private:
  static constexpr int kFirstYear = 1970, kLastYear = 2099;

  Status parse_field(size_t field, std::string_view text);
  Status parse_item(size_t field, std::string_view item);
  bool parse_special_day(std::string_view item);
  bool parse_special_weekday(std::string_view item);
  std::bitset<32> days_of(int year, int month) const;
  std::optional<int64_t> next_in_day(int64_t day, int64_t from, const TimeZone& zone) const;
  std::optional<int64_t> next_second(int64_t from, int64_t end) const;

  std::bitset<60> seconds_, minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;    // 1 to 31
  std::bitset<13> months_;  // 1 to 12
  std::bitset<7> weekdays_;
  std::bitset<kLastYear - kFirstYear + 1> years_;
  bool any_day_ = false, any_weekday_ = false;  // the field is *
  std::bitset<31> before_last_;                 // L-n; L is 0
  bool last_workday_ = false;
  std::bitset<32> nearest_workday_;
  std::bitset<7> last_weekdays_;
  std::vector<std::pair<int, int>> nth_weekdays_;  // weekday, 1 to 5
};

}  // namespace drover
