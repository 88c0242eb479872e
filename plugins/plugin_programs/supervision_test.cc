#include "supervision.h"

#include <gtest/gtest.h>

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;
using Action = Supervision::Action;
using State = Supervision::State;

const SteadyTime kStart = SteadyTime{} + 1000s;

// Started and ready at kStart.
Supervision running() {
  Supervision supervision;
  EXPECT_EQ(supervision.start(kStart), Action::launch);
  EXPECT_EQ(supervision.ready(kStart), Action::none);
  EXPECT_EQ(supervision.state(), State::running);
  return supervision;
}

TEST(Supervision, KillsWhatDoesNotBecomeReady) {
  Supervision supervision;
  EXPECT_EQ(supervision.start(kStart), Action::launch);
  EXPECT_EQ(supervision.start(kStart), Action::none);
  EXPECT_EQ(supervision.tick(kStart + 59s), Action::none);
  EXPECT_EQ(supervision.tick(kStart + 60s), Action::kill);
  EXPECT_EQ(supervision.tick(kStart + 61s), Action::none);  // told once
  EXPECT_EQ(supervision.exited(0, kStart + 61s), Action::none);
  EXPECT_EQ(supervision.state(), State::backoff);
}

TEST(Supervision, BacksOffLongerEachTimeWithJitter) {
  Supervision supervision;
  SteadyTime now = kStart;
  (void)supervision.start(now);
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 120s, 120s}) {
    (void)supervision.exited(0.5, now);
    ASSERT_EQ(supervision.state(), State::backoff);
    ASSERT_TRUE(supervision.due().has_value());
    EXPECT_EQ((*supervision.due() - now).count(), std::chrono::nanoseconds(pause).count() * 9 / 8);
    now = *supervision.due();
    EXPECT_EQ(supervision.tick(now - 1ns), Action::none);
    EXPECT_EQ(supervision.tick(now), Action::launch);
  }
  EXPECT_EQ(supervision.restarts(), 9u);
}

TEST(Supervision, ParksAfterTooManyCrashesInAWindowUntilItIsRestarted) {
  Supervision supervision;
  (void)supervision.start(kStart);
  SteadyTime now = kStart;
  for (int crash = 1; crash < 10; ++crash) {
    (void)supervision.exited(0, now);
    ASSERT_EQ(supervision.state(), State::backoff) << crash;
    now = *supervision.due();
    (void)supervision.tick(now);
  }
  ASSERT_LT(now - kStart, 10min);
  EXPECT_EQ(supervision.exited(0, now), Action::none);
  EXPECT_EQ(supervision.state(), State::parked);
  EXPECT_FALSE(supervision.due().has_value());
  EXPECT_EQ(supervision.tick(now + 24h), Action::none);
  EXPECT_EQ(supervision.restart(now + 24h), Action::launch);
  EXPECT_EQ(supervision.exited(0, now + 24h), Action::none);
  EXPECT_EQ(*supervision.due() - (now + 24h), 1s);  // anew
}

TEST(Supervision, CrashesFarApartNeverPark) {
  Supervision supervision = running();
  SteadyTime now = kStart;
  for (int crash = 0; crash < 50; ++crash) {
    now += 5min;
    (void)supervision.exited(0, now);
    ASSERT_EQ(supervision.state(), State::backoff);
    now = *supervision.due();
    ASSERT_EQ(supervision.tick(now), Action::launch);
    (void)supervision.ready(now);
  }
}

TEST(Supervision, ForgetsFormerFailuresAfterACalmTime) {
  Supervision supervision;
  (void)supervision.start(kStart);
  for (int i = 0; i < 5; ++i) {
    (void)supervision.exited(0, kStart);
    (void)supervision.tick(*supervision.due());
  }
  (void)supervision.ready(kStart + 1h);
  (void)supervision.exited(0, kStart + 1h + 10min);
  EXPECT_EQ(*supervision.due() - (kStart + 1h + 10min), 1s);
}

TEST(Supervision, KillsAfterThreeMissedChecksAndForgivesFewer) {
  Supervision supervision = running();
  SteadyTime now = kStart;
  const auto check = [&](bool is_healthy) {
    now += 10s;
    EXPECT_EQ(supervision.tick(now), Action::check);
    return supervision.checked(is_healthy, now);
  };
  EXPECT_EQ(check(false), Action::none);
  EXPECT_EQ(supervision.state(), State::unhealthy);
  EXPECT_EQ(check(false), Action::none);
  EXPECT_EQ(check(true), Action::none);
  EXPECT_EQ(supervision.state(), State::running);
  EXPECT_EQ(check(false), Action::none);
  EXPECT_EQ(check(false), Action::none);
  EXPECT_EQ(check(false), Action::kill);
  EXPECT_EQ(supervision.exited(0, now), Action::none);
  EXPECT_EQ(supervision.state(), State::backoff);
}

TEST(Supervision, ParksWhatIsGivenUp) {
  Supervision supervision;
  (void)supervision.start(kStart);
  EXPECT_EQ(supervision.give_up(), Action::kill);
  EXPECT_EQ(supervision.tick(kStart + 1h), Action::none);
  EXPECT_EQ(supervision.exited(0, kStart), Action::none);
  EXPECT_EQ(supervision.state(), State::parked);
  EXPECT_EQ(supervision.restart(kStart), Action::launch);
  (void)supervision.exited(0, kStart);
  EXPECT_EQ(supervision.state(), State::backoff);
  EXPECT_EQ(running().give_up(), Action::none);
}

TEST(Supervision, ARestartIsNoCrash) {
  Supervision supervision = running();
  EXPECT_EQ(supervision.restart(kStart + 1s), Action::end);
  EXPECT_EQ(supervision.state(), State::stopping);
  EXPECT_EQ(supervision.since(), kStart + 1s);
  EXPECT_EQ(supervision.restart(kStart + 1s), Action::none);  // told once
  EXPECT_EQ(supervision.exited(0, kStart + 2s), Action::launch);
  EXPECT_EQ(supervision.state(), State::starting);
  EXPECT_EQ(supervision.restarts(), 1u);
  EXPECT_EQ(supervision.restart(kStart + 2s), Action::none);  // it is being started
}

TEST(Supervision, AStopWinsOverARestart) {
  Supervision supervision = running();
  (void)supervision.restart(kStart);
  EXPECT_EQ(supervision.stop(kStart), Action::none);
  EXPECT_EQ(supervision.exited(0, kStart), Action::none);
  EXPECT_EQ(supervision.state(), State::stopped);
  EXPECT_EQ(supervision.restart(kStart), Action::none);
}

TEST(Supervision, CountsMissedChecksAndKnowsSinceWhen) {
  Supervision supervision = running();
  EXPECT_EQ(supervision.since(), kStart);
  (void)supervision.checked(false, kStart + 10s);
  (void)supervision.checked(false, kStart + 20s);
  EXPECT_EQ(supervision.since(), kStart + 10s);
  EXPECT_EQ(supervision.missed_checks(), 2u);
  (void)supervision.checked(true, kStart + 30s);
  EXPECT_EQ(supervision.since(), kStart + 30s);
  EXPECT_EQ(supervision.missed_checks(), 2u);
}

TEST(Supervision, StopsFromEveryState) {
  Supervision idle;
  EXPECT_EQ(idle.stop(kStart), Action::none);
  EXPECT_EQ(idle.state(), State::stopped);

  Supervision supervision = running();
  EXPECT_EQ(supervision.stop(kStart), Action::end);
  EXPECT_EQ(supervision.stop(kStart), Action::none);
  EXPECT_EQ(supervision.state(), State::stopping);
  EXPECT_EQ(supervision.ready(kStart), Action::none);  // too late
  EXPECT_EQ(supervision.exited(0, kStart), Action::none);
  EXPECT_EQ(supervision.state(), State::stopped);

  Supervision waiting = running();
  (void)waiting.exited(0, kStart);
  EXPECT_EQ(waiting.stop(kStart), Action::none);
  EXPECT_EQ(waiting.state(), State::stopped);
  EXPECT_EQ(waiting.tick(kStart + 1h), Action::none);
}

}  // namespace
}  // namespace drover::plugin_programs
