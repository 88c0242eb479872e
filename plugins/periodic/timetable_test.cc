#include "timetable.h"

#include <gtest/gtest.h>

#include "drover/time.h"
#include "drover/v1/job.pb.h"

namespace drover::periodic {
namespace {

constexpr int64_t kMinute = 60'000'000'000;
constexpr int64_t kNoon = 1'700'049'600'000'000'000;  // 2023-11-15T12:00:00Z

v1::Job job(const std::string& spec, const std::string& id = "a", const std::string& name_space = "default") {
  v1::Job job;
  job.set_namespace_(name_space);
  job.set_id(id);
  job.mutable_periodic()->set_enabled(true);
  job.mutable_periodic()->set_spec(spec);
  job.mutable_periodic()->set_time_zone("UTC");
  return job;
}

// "a@0 b@15": jobs and the minutes after noon for which they are launched.
std::string text(const std::vector<Timetable::Due>& all) {
  std::string text;
  for (const auto& due : all) {
    text += (text.empty() ? "" : " ") + (due.job.first == "default" ? "" : due.job.first + "/") + due.job.second + "@" +
            std::to_string((due.launch - kNoon) / kMinute);
  }
  return text;
}

TEST(Timetable, AJobIsDueAtTheTimesAfterItsLastLaunch) {
  Timetable table;
  ASSERT_TRUE(table.set(job("*/15 * * * *"), kNoon).ok());
  EXPECT_EQ(kNoon + 15 * kMinute, table.next());
  EXPECT_EQ("", text(table.take_due(kNoon + 15 * kMinute - 1)));
  EXPECT_EQ("a@15", text(table.take_due(kNoon + 15 * kMinute)));
  EXPECT_EQ("", text(table.take_due(kNoon + 16 * kMinute)));
  EXPECT_EQ("a@30", text(table.take_due(kNoon + 31 * kMinute))) << "a little late, by the time that was due";
}

TEST(Timetable, WhatWasMissedIsLaunchedOnce) {
  const struct {
    const char* name;
    int64_t minutes;  // since noon, when it was launched last
    const char* launched;
    int64_t next;
  } cases[] = {
      {"nothing was missed", 4, "", 5},
      {"one was missed", 7, "a@5", 10},
      {"several were missed", 23, "a@23", 25},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Timetable table;
    ASSERT_TRUE(table.set(job("*/5 * * * *"), kNoon).ok());
    EXPECT_EQ(c.launched, text(table.take_due(kNoon + c.minutes * kMinute)));
    EXPECT_EQ(kNoon + c.next * kMinute, table.next());
  }
}

TEST(Timetable, SeveralJobsAreDueAtOnce) {
  Timetable table;
  ASSERT_TRUE(table.set(job("0 13 * * *", "b"), kNoon).ok());
  ASSERT_TRUE(table.set(job("0 13 * * *", "a"), kNoon).ok());
  ASSERT_TRUE(table.set(job("0 13 * * *", "a", "other"), kNoon).ok());
  ASSERT_TRUE(table.set(job("30 12 * * *", "c"), kNoon).ok());
  EXPECT_EQ("c@30 a@60 b@60 other/a@60", text(table.take_due(kNoon + 60 * kMinute)));
}

TEST(Timetable, SeveralExpressionsGiveTheirEarliest) {
  Timetable table;
  v1::Job several = job("");
  several.mutable_periodic()->add_specs("20 * * * *");
  several.mutable_periodic()->add_specs("10 * * * *");
  ASSERT_TRUE(table.set(several, kNoon).ok());
  EXPECT_EQ("a@10", text(table.take_due(kNoon + 10 * kMinute)));
  EXPECT_EQ("a@20", text(table.take_due(kNoon + 20 * kMinute)));
  EXPECT_EQ(kNoon + 70 * kMinute, table.next());
}

TEST(Timetable, TheZoneIsTheJobs) {
  Timetable table;
  v1::Job berlin = job("0 14 * * *");
  berlin.mutable_periodic()->set_time_zone("Europe/Berlin");
  ASSERT_TRUE(table.set(berlin, kNoon).ok());
  EXPECT_EQ(kNoon + 60 * kMinute, table.next());
  berlin.mutable_periodic()->set_time_zone("Mars/Base");
  EXPECT_FALSE(table.set(berlin, kNoon).ok());
  EXPECT_EQ(std::nullopt, table.next()) << "nobody guesses when";
}

TEST(Timetable, FollowsOnlyJobsThatTimeLaunches) {
  const struct {
    const char* name;
    void (*change)(v1::Job& job);
    bool is_followed;
  } cases[] = {
      {"a periodic job", [](v1::Job&) {}, true},
      {"off", [](v1::Job& j) { j.mutable_periodic()->set_enabled(false); }, false},
      {"stopped", [](v1::Job& j) { j.set_stop(true); }, false},
      {"waiting for a dispatch", [](v1::Job& j) { j.mutable_parameterized_job(); }, false},
      {"dispatched", [](v1::Job& j) { j.mutable_parameterized_job(), j.set_dispatched(true); }, true},
      {"another job", [](v1::Job& j) { j.clear_periodic(); }, false},
      {"never due", [](v1::Job& j) { j.mutable_periodic()->set_spec("0 0 30 2 *"); }, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Timetable table;
    ASSERT_TRUE(table.set(job("@hourly"), kNoon).ok());
    v1::Job changed = job("@hourly");
    c.change(changed);
    ASSERT_TRUE(table.set(changed, kNoon).ok());
    EXPECT_EQ(c.is_followed, table.next().has_value());
  }
  Timetable table;
  ASSERT_TRUE(table.set(job("@hourly"), kNoon).ok());
  table.forget({"default", "a"});
  EXPECT_EQ(std::nullopt, table.next());
}

// A launch that was skipped stands in no table, so the table's older time must not bring it back.
TEST(Timetable, ALaunchIsNotDueAgainWhenItsJobIsSetAgain) {
  Timetable table;
  ASSERT_TRUE(table.set(job("*/5 * * * *"), kNoon).ok());
  EXPECT_EQ("a@5", text(table.take_due(kNoon + 5 * kMinute)));
  ASSERT_TRUE(table.set(job("*/5 * * * *"), kNoon).ok());
  EXPECT_EQ(kNoon + 10 * kMinute, table.next());
  ASSERT_TRUE(table.set(job("*/5 * * * *"), kNoon + 12 * kMinute).ok()) << "somebody forced it";
  EXPECT_EQ(kNoon + 15 * kMinute, table.next());
}

}  // namespace
}  // namespace drover::periodic
