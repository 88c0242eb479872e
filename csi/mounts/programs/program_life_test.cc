#include "programs/program_life.h"

#include "gtest/gtest.h"

namespace drover::mounts {
namespace {

using namespace std::chrono_literals;
using Action = ProgramLife::Action;
using Fate = ProgramLife::Fate;
using State = ProgramLife::State;

const SteadyTime kStart{1000s};

TEST(ProgramLife, IsStartedAgainWithGrowingPauses) {
  ProgramLife life;
  SteadyTime now = kStart;
  EXPECT_EQ(life.start(now), Action::launch);
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 120s, 120s}) {
    EXPECT_EQ(life.exited(now), Action::none);
    EXPECT_EQ(life.state(), State::waiting);
    EXPECT_EQ(life.due(), now + pause);
    EXPECT_EQ(life.tick(now + pause - 1ns), Action::none);
    now += pause;
    EXPECT_EQ(life.tick(now), Action::launch);
  }
  now += 10min;
  EXPECT_EQ(life.exited(now), Action::none);
  EXPECT_EQ(life.due(), now + 1s) << "it was calm for long enough";
}

TEST(ProgramLife, EndsOneThatDoesNotBecomeReadyAndKillsItIfItStays) {
  ProgramLife life;
  life.start(kStart);
  EXPECT_EQ(life.unhealthy(kStart), Action::end);
  EXPECT_EQ(life.unhealthy(kStart), Action::none) << "it ends already";
  EXPECT_EQ(life.tick(kStart + 4999ms), Action::none);
  EXPECT_EQ(life.tick(kStart + 5s), Action::kill);
  EXPECT_FALSE(life.due());
  EXPECT_EQ(life.exited(kStart + 6s), Action::none);
  EXPECT_EQ(life.state(), State::waiting);
  EXPECT_EQ(life.unhealthy(kStart + 6s), Action::none) << "said of the one before";
}

TEST(ProgramLife, LeavesAFormerAgentsProcessAlone) {
  ProgramLife life;
  EXPECT_EQ(life.adopt(/*has_these_settings=*/true, kStart), Action::none);
  EXPECT_EQ(life.state(), State::running);
  EXPECT_FALSE(life.due());
}

TEST(ProgramLife, ReplacesAFormerAgentsProcessOfOtherSettingsAtOnce) {
  ProgramLife life;
  EXPECT_EQ(life.adopt(/*has_these_settings=*/false, kStart), Action::end);
  EXPECT_EQ(life.exited(kStart + 1s), Action::launch);
  EXPECT_EQ(life.exited(kStart + 2s), Action::none);
  EXPECT_EQ(life.due(), kStart + 3s) << "the next end is one of its own";
}

TEST(ProgramLife, IsRestartedWithoutAPauseAndWithAllPausesForgotten) {
  struct Case {
    const char* name;
    void (*before)(ProgramLife&);
    Action expected;
    State after;
  };
  const Case cases[] = {
      {"running", [](ProgramLife& l) { l.start(kStart); }, Action::end, State::ending},
      {"waiting", [](ProgramLife& l) { l.start(kStart), l.exited(kStart); }, Action::launch, State::running},
      {"ending", [](ProgramLife& l) { l.start(kStart), l.unhealthy(kStart); }, Action::none, State::ending},
      {"replaced", [](ProgramLife& l) { l.adopt(false, kStart); }, Action::none, State::ending},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ProgramLife life;
    c.before(life);
    EXPECT_EQ(life.restart(kStart), c.expected);
    EXPECT_EQ(life.state(), c.after);
    if (c.after == State::ending) {
      EXPECT_EQ(life.restart(kStart), Action::none) << "it ends already";
      EXPECT_EQ(life.tick(kStart + 5s), Action::kill);
      EXPECT_EQ(life.exited(kStart + 6s), Action::launch);
    }
    EXPECT_EQ(life.exited(kStart + 7s), Action::none);
    EXPECT_EQ(life.due(), kStart + 8s) << "the next end is one of its own, and the first";
  }
}

TEST(ProgramLife, IsNotRestartedOnceItIsToEnd) {
  ProgramLife life;
  life.start(kStart);
  EXPECT_EQ(life.stop(Fate::ends, kStart), Action::end);
  EXPECT_EQ(life.restart(kStart), Action::none);
  EXPECT_EQ(life.exited(kStart), Action::none);
  EXPECT_TRUE(life.is_over());
  EXPECT_EQ(life.restart(kStart), Action::none);
  EXPECT_TRUE(life.is_over());
}

TEST(ProgramLife, EndsWithTheAgentOrStays) {
  struct Case {
    const char* name;
    void (*before)(ProgramLife&);
    Fate fate;
    Action expected;
    State after;
  };
  const Case cases[] = {
      {"running, ends", [](ProgramLife& l) { l.start(kStart); }, Fate::ends, Action::end, State::ending},
      {"running, stays", [](ProgramLife& l) { l.start(kStart); }, Fate::stays, Action::none, State::over},
      {"waiting, ends", [](ProgramLife& l) { l.start(kStart), l.exited(kStart); }, Fate::ends, Action::none,
       State::over},
      {"waiting, stays", [](ProgramLife& l) { l.start(kStart), l.exited(kStart); }, Fate::stays, Action::none,
       State::over},
      {"ending, ends", [](ProgramLife& l) { l.start(kStart), l.unhealthy(kStart); }, Fate::ends, Action::none,
       State::ending},
      {"ending, stays", [](ProgramLife& l) { l.start(kStart), l.unhealthy(kStart); }, Fate::stays, Action::none,
       State::ending},
      {"replaced, ends", [](ProgramLife& l) { l.adopt(false, kStart); }, Fate::ends, Action::none, State::ending},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ProgramLife life;
    c.before(life);
    EXPECT_EQ(life.stop(c.fate, kStart), c.expected);
    EXPECT_EQ(life.state(), c.after);
    if (life.is_over()) {
      EXPECT_FALSE(life.due());
      continue;
    }
    EXPECT_EQ(life.tick(kStart + 5s), Action::kill);
    EXPECT_EQ(life.exited(kStart + 6s), Action::none);
    EXPECT_TRUE(life.is_over()) << "nothing is started any more";
  }
}

}  // namespace
}  // namespace drover::mounts
