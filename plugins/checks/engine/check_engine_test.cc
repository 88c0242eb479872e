#include "engine/check_engine.h"

#include <gtest/gtest.h>

#include <atomic>

#include "sdk/testing/waiting.h"

#include "drover/v1/check_provider.pb.h"

namespace drover::checks {
namespace {

using namespace std::chrono_literals;

// The answers of a check's runs, and how often it ran.
struct Seen {
  std::atomic<int> runs = 0, answers = 0, passing = 0, critical = 0, errors = 0;
  void take(const EngineCheck::Result& result) {
    ++answers;
    if (!result) ++errors;
    if (result && result->status() == v1::CheckResult::PASSING) ++passing;
    if (result && result->status() == v1::CheckResult::CRITICAL) ++critical;
  }
};

EngineCheck check_for(Seen& seen, std::chrono::nanoseconds timeout = 10s) {
  EngineCheck check{.interval = 10ms, .timeout = timeout};
  check.begin = [&seen](std::stop_token, const CheckProvider::Told& told) {
    ++seen.runs;
    told(drover::check::passing("fine"));
    return true;
  };
  check.run = [](std::stop_token) -> EngineCheck::Result { return internal_error("not this way"); };
  check.answered = [&seen](const EngineCheck::Result& result) { seen.take(result); };
  return check;
}

class Engine : public ::testing::Test {
 protected:
  SystemClock clock_;
  std::atomic<int> ticks_ = 0;
  CheckEngine engine_{clock_, [this] { ++ticks_; }, {.running = 3, .waiting = 2}};
};

TEST_F(Engine, RunsChecksAgainAndAgainUntilTheyAreRemoved) {
  Seen seen;
  const uint64_t number = engine_.add(check_for(seen));
  EXPECT_TRUE(eventually([&] { return seen.passing >= 3 && ticks_ >= 1; }));
  engine_.remove(number);
  const int before = seen.answers;
  Seen other;
  engine_.add(check_for(other));
  EXPECT_TRUE(eventually([&] { return other.answers >= 3; }));
  EXPECT_EQ(seen.answers, before);
  engine_.stop();
}

// As for checks that are paused, or cannot run: their number is 0.
TEST_F(Engine, WaitsForNobodyToRemoveNothing) {
  engine_.remove(0);
  engine_.remove(12345);
}

TEST_F(Engine, NeverRunsOneCheckTwiceAtATime) {
  Seen seen;
  CheckProvider::Told kept;
  std::atomic<bool> is_asked = false;
  EngineCheck check = check_for(seen);
  check.begin = [&](std::stop_token, const CheckProvider::Told& told) {
    if (++seen.runs == 1) kept = told;
    is_asked = true;
    return true;
  };
  engine_.add(std::move(check));
  Seen other;
  engine_.add(check_for(other));
  EXPECT_TRUE(eventually([&] { return is_asked && other.answers >= 5; }));
  EXPECT_EQ(seen.runs, 1) << "it has not answered";
  kept(drover::check::passing("late"));
  EXPECT_TRUE(eventually([&] { return seen.runs >= 2; }));
  engine_.stop();
}

TEST_F(Engine, ARunThatTakesTooLongIsCriticalAndIsToldToEnd) {
  Seen seen;
  EngineCheck check = check_for(seen, 20ms);
  std::atomic<bool> is_told = false;
  check.begin = [](std::stop_token, const CheckProvider::Told&) { return false; };
  check.run = [&](std::stop_token stop) -> EngineCheck::Result {
    ++seen.runs;
    EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
    is_told = true;
    return drover::check::passing("too late");
  };
  engine_.add(std::move(check));
  EXPECT_TRUE(eventually([&] { return seen.critical >= 2 && is_told; }));
  EXPECT_EQ(seen.passing, 0);
  engine_.stop();
}

TEST_F(Engine, HoldsBackWhatFindsNoRoom) {
  std::vector<CheckProvider::Told> kept;
  Mutex mutex;
  Seen seen;
  for (int i = 0; i < 8; ++i) {
    EngineCheck check = check_for(seen);
    check.begin = [&](std::stop_token, const CheckProvider::Told& told) {
      const MutexLock lock(mutex);
      ++seen.runs;
      kept.push_back(told);
      return true;
    };
    engine_.add(std::move(check));
  }
  EXPECT_TRUE(eventually([&] { return seen.runs == 3; }));
  for (int more = 0; more < 5; ++more) {
    CheckProvider::Told told;
    {
      const MutexLock lock(mutex);
      told = kept.at(static_cast<size_t>(more));
    }
    told(drover::check::passing("done"));
    EXPECT_TRUE(eventually([&] { return seen.runs == 4 + more; }));
  }
  engine_.stop();
}

TEST_F(Engine, ManyWaitOnFewThreads) {
  Seen seen;
  std::atomic<int> at_once = 0, most = 0;
  for (int i = 0; i < 12; ++i) {
    EngineCheck check = check_for(seen);
    check.begin = [](std::stop_token, const CheckProvider::Told&) { return false; };
    check.run = [&](std::stop_token) -> EngineCheck::Result {
      const int now = ++at_once;
      if (now > most) most = now;
      ++seen.runs;
      --at_once;
      return drover::check::passing("fine");
    };
    engine_.add(std::move(check));
  }
  EXPECT_TRUE(eventually([&] { return seen.passing >= 24; }));
  EXPECT_LE(most, 2);
  engine_.stop();
}

}  // namespace
}  // namespace drover::checks
