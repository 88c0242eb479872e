#include "check_state.h"

#include <gtest/gtest.h>

#include "drover/check_provider.h"
#include "engine/timetable.h"
#include "task_port.h"

#include "drover/v1/check_provider.pb.h"

namespace drover::checks {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kSecond = 1'000'000'000;

v1::CheckResult result_of(char letter) {
  return letter == 'p' ? check::passing("p") : letter == 'w' ? check::warning("w") : check::critical("c");
}

// Results p, w and c, and the outcome after each: its first letter, "?" for pending.
TEST(CheckState, FollowsResultsAndThresholds) {
  struct Case {
    const char* name;
    Thresholds thresholds;
    const char *results, *outcomes;
  };
  const Case cases[] = {
      {"at once", {}, "pcwp", "sfws"},
      {"one is at once", {1, 1}, "pcp", "sfs"},
      {"two failures before it is one", {0, 2}, "pccp", "ssfs"},
      {"failures in a row only", {0, 2}, "pcpcpcc", "ssssssf"},
      {"two successes before it is one", {2, 0}, "ppcpp", "?sffs"},
      {"a warning counts as a success", {2, 0}, "cwp", "ffs"},
      {"pending until enough fail", {0, 3}, "ccc", "??f"},
      {"a good one that warns", {3, 0}, "pppw", "??sw"},
      {"both", {2, 2}, "ppcpccpp", "?ssssffs"},
  };
  for (const Case& each : cases) {
    CheckState state;
    std::string outcomes;
    for (const char* at = each.results; *at; ++at) {
      const Outcome before = state.outcome;
      const bool is_other = take_result(state, result_of(*at), each.thresholds, Tolerance::warnings, kSecond);
      EXPECT_EQ(is_other, before != state.outcome) << each.name;
      outcomes += state.outcome == Outcome::pending ? '?' : text_of(state.outcome)[0];
    }
    EXPECT_EQ(outcomes, each.outcomes) << each.name;
  }
}

TEST(CheckState, IsGoodWithoutABreakSinceItBecameSo) {
  CheckState state;
  take_result(state, check::critical("x"), {}, Tolerance::warnings, 1 * kSecond);
  EXPECT_EQ(state.good_since, 0);
  take_result(state, check::passing("x"), {}, Tolerance::warnings, 2 * kSecond);
  take_result(state, check::warning("x"), {}, Tolerance::warnings, 3 * kSecond);
  EXPECT_EQ(state.good_since, 2 * kSecond) << "who warns serves";
  take_result(state, check::critical("x"), {}, Tolerance::warnings, 4 * kSecond);
  EXPECT_EQ(state.good_since, 0);
}

TEST(CheckState, AnUpdateDoesNotLookAtReadiness) {
  CheckState state;
  EXPECT_FALSE(is_good(state.outcome, Tolerance::failures)) << "it has not run";
  take_result(state, check::critical("x"), {}, Tolerance::failures, 5 * kSecond);
  EXPECT_EQ(state.good_since, 5 * kSecond);
}

TEST(CheckState, AnErrorOfTheProviderChangesNothingButTheText) {
  CheckState state;
  take_result(state, check::passing("fine"), {}, Tolerance::warnings, 7 * kSecond);
  take_error(state, "no such plugin");
  EXPECT_EQ(state.outcome, Outcome::success);
  EXPECT_EQ(state.timestamp, 7 * kSecond);
  EXPECT_EQ(state.output, "the check could not run: no such plugin");
}

TEST(CheckState, AWarningSpoilsHealthWhereItIsNotPutUpWith) {
  CheckState state;
  take_result(state, check::warning("x"), {}, Tolerance::nothing, 1 * kSecond);
  EXPECT_EQ(state.good_since, 0);
  take_result(state, check::warning("x"), {}, Tolerance::warnings, 2 * kSecond);
  EXPECT_EQ(state.good_since, 2 * kSecond);
}

TEST(CheckState, WhatNobodyKnowsIsNeitherGoodNorBad) {
  CheckState state;
  EXPECT_FALSE(take_unknown(state, "no such check"));
  take_result(state, check::critical("x"), {}, Tolerance::warnings, 1 * kSecond);
  RestartWatch watch;
  watch.begin(1 * kSecond);
  EXPECT_TRUE(watch.look({.limit = 1}, state.outcome, 2 * kSecond));
  EXPECT_TRUE(take_unknown(state, "no such check"));
  EXPECT_FALSE(watch.look({.limit = 1}, state.outcome, 3 * kSecond)) << "a check that is lost restarts nobody";
  EXPECT_EQ(state.output, "no such check");
  EXPECT_EQ(state.good_since, 0);
}

// Grace of ten seconds from second 100, a look every five; outcomes as letters.
TEST(RestartWatch, RestartsWhatIsBadForTooLong) {
  struct Case {
    const char* name;
    int limit;
    bool ignores_warnings;
    const char* outcomes;  // from second 100 on, one every five seconds
    int restart_at;        // seconds; 0: never
  };
  const Case cases[] = {
      {"never bad", 1, false, "ssssss", 0},
      {"nothing counts during grace", 1, false, "ffssss", 0},
      {"at once after grace", 1, false, "ffffff", 110},
      {"twice an interval", 3, false, "ffffffffff", 130},
      {"a good look begins anew", 2, false, "sssfsfff", 135},
      {"a warning is bad", 1, false, "ssswww", 115},
      {"unless it is ignored", 1, true, "ssswww", 0},
      {"what has not run says nothing", 1, false, "??????", 0},
  };
  for (const Case& each : cases) {
    const RestartRule rule{
        .limit = each.limit, .grace = 10s, .interval = 10s, .ignores_warnings = each.ignores_warnings};
    RestartWatch watch;
    watch.begin(100 * kSecond);
    int restarted = 0, now = 100;
    for (const char* at = each.outcomes; *at && restarted == 0; ++at, now += 5) {
      const Outcome outcome = *at == 's'   ? Outcome::success
                              : *at == 'w' ? Outcome::warning
                              : *at == 'f' ? Outcome::failure
                                           : Outcome::pending;
      if (watch.look(rule, outcome, now * kSecond)) restarted = now;
    }
    EXPECT_EQ(restarted, each.restart_at) << each.name;
  }
}

TEST(RestartWatch, SaysNothingBeforeItBegins) {
  RestartWatch watch;
  EXPECT_FALSE(watch.look({.limit = 1}, Outcome::failure, 100 * kSecond));
}

TEST(Health, IsThatOfTheWorstCheck) {
  EXPECT_FALSE(health_of({}));
  const CheckFacts good[] = {{"a", "", 5}, {"b", "t", 9}};
  EXPECT_TRUE(health_of(good)->is_good);
  EXPECT_EQ(health_of(good)->since_ns, 9);
  const CheckFacts bad[] = {{"b", "", 0}, {"a", "", 0}, {"a", "", 0}, {"c", "t", 0}, {"d", "", 4}};
  const auto health = health_of(bad);
  EXPECT_FALSE(health->is_good);
  ASSERT_EQ(health->faults.size(), 2u);
  EXPECT_EQ(health->faults[0].why, "Services not healthy by deadline: a, b");
  EXPECT_EQ(health->faults[1].task, "t");
}

TEST(ServiceHealth, IsThatOfTheWorstCheckThatHasRun) {
  const struct {
    std::vector<Outcome> outcomes;
    ServiceStatus status;
    const char* output;
  } cases[] = {
      {{}, ServiceStatus::passing, ""},
      {{Outcome::pending, Outcome::success}, ServiceStatus::passing, ""},
      {{Outcome::success, Outcome::warning, Outcome::pending}, ServiceStatus::warning, "1"},
      {{Outcome::warning, Outcome::failure, Outcome::failure}, ServiceStatus::critical, "1"},
  };
  for (const auto& c : cases) {
    std::vector<CheckState> checks;
    for (const Outcome outcome : c.outcomes) {
      checks.emplace_back().outcome = outcome;
      checks.back().output = std::to_string(checks.size() - 1);
    }
    const ServiceHealthNow now = worst_of(checks);
    EXPECT_EQ(now.status, c.status);
    EXPECT_EQ(now.output, c.output);
  }
}

TEST(Script, IsJudgedByItsEnd) {
  EXPECT_EQ(judge_script(0, 0, "x").status(), v1::CheckResult::PASSING);
  EXPECT_EQ(judge_script(1, 0, "x").status(), v1::CheckResult::WARNING);
  EXPECT_EQ(judge_script(2, 0, "x").status(), v1::CheckResult::CRITICAL);
  EXPECT_EQ(judge_script(0, 9, "x").status(), v1::CheckResult::CRITICAL);
}

TEST(Timetable, GivesWhatIsDueTheLongestDueFirst) {
  const SteadyTime zero{};
  Timetable table;
  table.put(1, zero + 3s);
  table.put(2, zero + 1s);
  table.put(3, zero + 2s);
  table.put(1, zero + 4s);
  EXPECT_EQ(table.next(), zero + 1s);
  EXPECT_EQ(table.take_due(zero + 3s, 1), std::vector<uint64_t>{2});
  EXPECT_EQ(table.take_due(zero + 3s), std::vector<uint64_t>{3});
  table.remove(1);
  EXPECT_FALSE(table.next());
}

TEST(Timetable, SpreadsChecksAroundTheirTimes) {
  EXPECT_EQ(first_delay(10s, 0.5), 5s);
  EXPECT_EQ(first_delay(10s, 0), 4s);
  EXPECT_LT(first_delay(10s, 0.999), 6s);
  EXPECT_EQ(next_delay(10s, 0.5), 10s);
  EXPECT_EQ(next_delay(10s, 0), 9500ms);
}

}  // namespace
}  // namespace drover::checks
