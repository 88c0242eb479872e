#include "drover/model/cron.h"

#include <gtest/gtest.h>

#include "drover/model/periodic.h"
#include "drover/time.h"
#include "drover/v1/job.pb.h"

namespace drover {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

int64_t instant(std::string_view text) {
  auto time = parse_time(text);
  EXPECT_TRUE(time.ok()) << text;
  return time.value_or(0) / kSecond;
}

// The next `count` times, as text; "never" where there is none.
std::string due(std::string_view expression, std::string_view from, const std::string& zone = "UTC", int count = 1) {
  auto cron = Cron::parse(expression);
  if (!cron) return std::string(cron.status().message());
  auto place = TimeZone::load(zone);
  if (!place) return std::string(place.status().message());
  std::string out;
  int64_t at = instant(from);
  for (int i = 0; i < count; ++i) {
    const auto next = cron->next(at, *place);
    out += (i > 0 ? " " : "") + (next ? format_time(*next * kSecond) : "never");
    if (!next) break;
    EXPECT_GT(*next, at);
    at = *next;
  }
  return out;
}

struct Case {
  const char *expression, *from, *next;
};

TEST(Cron, FindsTheNextTime) {
  const Case cases[] = {
      {"* * * * *", "2024-05-17T10:20:30Z", "2024-05-17T10:21:00Z"},
      {"* * * * *", "2024-05-17T10:21:00Z", "2024-05-17T10:22:00Z"},
      {"15 3 * * *", "2024-05-17T10:20:30Z", "2024-05-18T03:15:00Z"},
      {"*/15 * * * *", "2024-05-17T10:20:30Z", "2024-05-17T10:30:00Z"},
      {"5/20 * * * *", "2024-05-17T10:50:00Z", "2024-05-17T11:05:00Z"},
      {"10-40/15 * * * *", "2024-05-17T10:20:30Z", "2024-05-17T10:25:00Z"},
      {"0 8-10,17 * * *", "2024-05-17T10:20:30Z", "2024-05-17T17:00:00Z"},
      {"0 0 1 jan *", "2024-05-17T10:20:30Z", "2025-01-01T00:00:00Z"},
      {"0 0 * February,DEC *", "2024-05-17T10:20:30Z", "2024-12-01T00:00:00Z"},
      {"0 0 29 2 *", "2024-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
      {"0 0 31 * *", "2024-05-31T00:00:00Z", "2024-07-31T00:00:00Z"},
      {"59 23 31 12 *", "2024-12-31T23:59:00Z", "2025-12-31T23:59:00Z"},
      // A year makes six fields, a second in front of it seven.
      {"0 12 1 6 * 2030", "2024-05-17T10:20:30Z", "2030-06-01T12:00:00Z"},
      {"0 12 1 6 * 2013", "2024-05-17T10:20:30Z", "never"},
      {"*/20 * * * * * *", "2024-05-17T10:20:30Z", "2024-05-17T10:20:40Z"},
      {"30 59 23 31 12 ? 2024-2026/2", "2024-12-31T23:59:30Z", "2026-12-31T23:59:30Z"},
      // Days of the week.
      {"0 0 * * 0", "2024-05-17T10:20:30Z", "2024-05-19T00:00:00Z"},
      {"0 0 * * 7", "2024-05-17T10:20:30Z", "2024-05-19T00:00:00Z"},
      {"0 0 * * mon", "2024-05-17T10:20:30Z", "2024-05-20T00:00:00Z"},
      {"0 0 * * Tue-THURSDAY", "2024-05-17T10:20:30Z", "2024-05-21T00:00:00Z"},
      {"0 0 * * 5-7", "2024-05-19T00:00:00Z", "2024-05-24T00:00:00Z"},
      {"0 0 * * 5L", "2024-05-17T10:20:30Z", "2024-05-31T00:00:00Z"},
      {"0 0 * * friL", "2024-02-01T00:00:00Z", "2024-02-23T00:00:00Z"},
      {"0 0 * * 1#2", "2024-05-17T10:20:30Z", "2024-06-10T00:00:00Z"},
      {"0 0 * * 3#5", "2024-05-17T10:20:30Z", "2024-05-29T00:00:00Z"},
      {"0 0 * * 7#1", "2024-05-17T10:20:30Z", "2024-06-02T00:00:00Z"},
      // Days of the month.
      {"0 0 L * *", "2024-02-01T00:00:00Z", "2024-02-29T00:00:00Z"},
      {"0 0 L-3 * *", "2024-02-01T00:00:00Z", "2024-02-26T00:00:00Z"},
      {"0 0 L-30 2 *", "2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z"},
      {"0 0 15W * *", "2024-06-01T00:00:00Z", "2024-06-14T00:00:00Z"},  // the 15th is a Saturday
      {"0 0 15W * *", "2024-09-01T00:00:00Z", "2024-09-16T00:00:00Z"},  // a Sunday
      {"0 0 15W * *", "2024-05-01T00:00:00Z", "2024-05-15T00:00:00Z"},  // a Wednesday
      {"0 0 1W * *", "2024-05-31T00:00:00Z", "2024-06-03T00:00:00Z"},   // Saturday the 1st stays in its month
      {"0 0 30W 6 *", "2024-06-01T00:00:00Z", "2024-06-28T00:00:00Z"},  // Sunday the last stays in its month
      {"0 0 LW * *", "2024-06-01T00:00:00Z", "2024-06-28T00:00:00Z"},
      // Both days: either is enough; with one of them free only the other counts.
      {"0 0 13 * 5", "2024-05-11T00:00:00Z", "2024-05-13T00:00:00Z"},
      {"0 0 13 * 5", "2024-05-13T00:00:00Z", "2024-05-17T00:00:00Z"},
      {"0 0 13 * ?", "2024-05-13T00:00:00Z", "2024-06-13T00:00:00Z"},
      {"0 0 ? * 5", "2024-05-13T00:00:00Z", "2024-05-17T00:00:00Z"},
      {"@hourly", "2024-05-17T10:20:30Z", "2024-05-17T11:00:00Z"},
      {"@daily", "2024-05-17T10:20:30Z", "2024-05-18T00:00:00Z"},
      {"@weekly", "2024-05-17T10:20:30Z", "2024-05-19T00:00:00Z"},
      {"@monthly", "2024-05-17T10:20:30Z", "2024-06-01T00:00:00Z"},
      {"@yearly", "2024-05-17T10:20:30Z", "2025-01-01T00:00:00Z"},
      {" @annually ", "2024-05-17T10:20:30Z", "2025-01-01T00:00:00Z"},
      {"0 0 30 2 *", "2024-05-17T10:20:30Z", "never"},
      {"* * * * *", "2099-12-31T23:58:30Z", "2099-12-31T23:59:00Z"},
      {"* * * * *", "2099-12-31T23:59:00Z", "never"},
      {"* * * * *", "1969-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(due(c.expression, c.from), c.next) << c.expression << " from " << c.from;
  }
}

TEST(Cron, FollowsTheClocksOfThePlace) {
  EXPECT_EQ(due("0 9 * * *", "2024-01-10T00:00:00Z", "America/New_York"), "2024-01-10T14:00:00Z");
  EXPECT_EQ(due("0 9 * * *", "2024-07-10T00:00:00Z", "America/New_York"), "2024-07-10T13:00:00Z");
  EXPECT_EQ(due("30 0 * * *", "2024-07-10T00:00:00Z", "Asia/Kolkata"), "2024-07-10T19:00:00Z");
  EXPECT_EQ(due("0 0 * * *", "2024-07-10T00:00:00Z", "Pacific/Kiritimati"), "2024-07-10T10:00:00Z");  // 14 hours ahead
  EXPECT_EQ(due("0 0 1 * *", "2024-07-10T00:00:00Z", "Pacific/Pago_Pago"), "2024-08-01T11:00:00Z");   // 11 behind
  // After the years that the database lists one by one, its rule goes on.
  EXPECT_EQ(due("0 9 1 7 *", "2060-01-01T00:00:00Z", "Europe/Berlin"), "2060-07-01T07:00:00Z");
}

TEST(Cron, WhatTheClocksSkipIsNotDueThatDay) {
  EXPECT_EQ(due("30 2 * * *", "2024-03-30T00:00:00Z", "Europe/Berlin", 2), "2024-03-30T01:30:00Z 2024-04-01T00:30:00Z");
  EXPECT_EQ(due("30 2 * * *", "2024-03-09T12:00:00Z", "America/New_York"), "2024-03-11T06:30:00Z");
  // A job that is due more often goes on with the first time there is.
  EXPECT_EQ(due("*/30 * * * *", "2024-03-31T00:30:00Z", "Europe/Berlin", 2),
            "2024-03-31T01:00:00Z 2024-03-31T01:30:00Z");  // 03:00 and 03:30 there
  EXPECT_EQ(due("0 3 * * *", "2024-03-31T00:00:00Z", "Europe/Berlin"), "2024-03-31T01:00:00Z");
  // Half an hour, and a midnight that is not there.
  EXPECT_EQ(due("15 2 6 10 *", "2024-10-01T00:00:00Z", "Australia/Lord_Howe"), "2025-10-05T15:15:00Z");
  EXPECT_EQ(due("0 0 * * *", "2018-11-03T12:00:00Z", "America/Sao_Paulo"), "2018-11-05T02:00:00Z");
}

TEST(Cron, WhatTheClocksShowTwiceIsDueTwice) {
  EXPECT_EQ(due("30 2 * * *", "2024-10-26T12:00:00Z", "Europe/Berlin", 3),
            "2024-10-27T00:30:00Z 2024-10-27T01:30:00Z 2024-10-28T01:30:00Z");
  EXPECT_EQ(due("30 1 * * *", "2024-11-02T12:00:00Z", "America/New_York", 3),
            "2024-11-03T05:30:00Z 2024-11-03T06:30:00Z 2024-11-04T06:30:00Z");
  EXPECT_EQ(due("0 4 * * *", "2024-10-26T12:00:00Z", "Europe/Berlin", 2), "2024-10-27T03:00:00Z 2024-10-28T03:00:00Z");
  // Midnight itself, where the clocks go back over it to the day before.
  EXPECT_EQ(due("30 23 * * *", "2018-02-17T12:00:00Z", "America/Sao_Paulo", 3),
            "2018-02-18T01:30:00Z 2018-02-18T02:30:00Z 2018-02-19T02:30:00Z");
}

// Looks at every minute instead.
TEST(Cron, AgreesWithLookingAtEveryMinute) {
  const auto zone = TimeZone::load("America/New_York");
  ASSERT_TRUE(zone.ok());
  const auto cron = Cron::parse("*/7 1-3 * * *");
  ASSERT_TRUE(cron.ok());
  for (const char* around : {"2024-03-09T00:00:00Z", "2024-11-02T00:00:00Z"}) {
    const int64_t begin = instant(around), end = begin + 3 * 86400;
    int64_t next = cron->next(begin - 1, *zone).value_or(0);
    for (int64_t at = begin; at < end; at += 60) {
      const int64_t there = at + zone->at(at).ahead;
      const int64_t hour = there / 3600 % 24, minute = there / 60 % 60;
      const bool matches = hour >= 1 && hour <= 3 && minute % 7 == 0;
      ASSERT_EQ(next == at, matches) << format_time(at * kSecond);
      if (matches) next = cron->next(at, *zone).value_or(0);
    }
  }
}

TEST(Cron, WhatCannotBeReadIsNamed) {
  struct {
    const char *expression, *problem;
  } const cases[] = {
      {"", "it has 0 fields, not 5 to 7"},
      {"* * * *", "it has 4 fields, not 5 to 7"},
      {"* * * * * * * *", "it has 8 fields, not 5 to 7"},
      {"60 * * * *", "the minute \"60\" is not a value, range, list or step within 0 to 59"},
      {"* 24 * * *", "the hour \"24\" is not a value, range, list or step within 0 to 23"},
      {"* * 0 * *", "the day of month \"0\" is not a value, range, list or step within 1 to 31"},
      {"* * * 13 *", "the month \"13\" is not a value, range, list or step within 1 to 12"},
      {"* * * foo *", "the month \"foo\" is not a value, range, list or step within 1 to 12"},
      {"* * * * 8", "the day of week \"8\" is not a value, range, list or step within 0 to 7"},
      {"* * * * 1#6", "the day of week \"1#6\" is not a value, range, list or step within 0 to 7"},
      {"* * * * * 1969", "the year \"1969\" is not a value, range, list or step within 1970 to 2099"},
      {"5-2 * * * *", "the minute \"5-2\" ends before it begins"},
      {"*/0 * * * *", "the minute \"*/0\" has a step that is not 1 to 59"},
      {"*/x * * * *", "the minute \"*/x\" has a step that is not 1 to 59"},
      {"1,,2 * * * *", "the minute \"\" is not a value, range, list or step within 0 to 59"},
      {"-1 * * * *", "the minute \"-1\" is not a value, range, list or step within 0 to 59"},
      {"99999999999 * * * *", "the minute \"99999999999\" is not a value, range, list or step within 0 to 59"},
      {"* * 1-5W * *", "the day of month \"1-5W\" is not a value, range, list or step within 1 to 31"},
      {"@sometimes", "\"@sometimes\" is unknown; use @hourly, @daily, @weekly, @monthly, @yearly or @annually"},
  };
  for (const auto& c : cases) EXPECT_EQ(due(c.expression, "2024-01-01T00:00:00Z"), c.problem) << c.expression;
}

TEST(TimeZones, OnlyThoseOfTheDatabaseExist) {
  for (const char* name : {"", "UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5"}) {
    EXPECT_TRUE(TimeZone::load(name).ok()) << name;
  }
  for (const char* name : {"Mars/Base", "../../etc/passwd", "/etc/localtime", "Europe/", "Europe", "file:x", "Local",
                           "Europe//Berlin", "tzdata.zi"}) {
    EXPECT_EQ(TimeZone::load(name).status().code(), Code::invalid_argument) << name;
  }
}

TEST(Periodic, TheFirstOfSeveralExpressionsCounts) {
  v1::PeriodicConfig periodic;
  periodic.set_enabled(true);
  periodic.add_specs("0 12 * * *");
  periodic.add_specs("0 6 * * *");
  periodic.set_time_zone("Europe/Berlin");
  const auto next_after = [&](std::string_view from) {
    auto next = next_launch(periodic, instant(from) * kSecond + 5);
    if (!next) return std::string(next.status().message());
    return *next ? format_time(**next) : std::string("never");
  };
  EXPECT_EQ(next_after("2024-07-01T00:00:00Z"), "2024-07-01T04:00:00Z");
  EXPECT_EQ(next_after("2024-07-01T04:00:00Z"), "2024-07-01T10:00:00Z");
  periodic.set_enabled(false);
  EXPECT_EQ(next_after("2024-07-01T00:00:00Z"), "never");
  periodic.set_enabled(true);
  periodic.add_specs("x");
  EXPECT_EQ(next_after("2024-07-01T00:00:00Z"), "it has 1 fields, not 5 to 7");
}

}  // namespace
}  // namespace drover
