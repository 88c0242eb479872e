#include "upgrade.h"

#include <gtest/gtest.h>

#include <vector>

namespace drover::plugin_programs {
namespace {

using Action = Upgrade::Action;
using State = Upgrade::State;

// How each step went, and where that leads.
struct Course {
  const char* name;
  std::vector<bool> steps;
  std::vector<Action> actions;  // one more than steps
  State end;
};

TEST(Upgrade, EveryCourseEndsWhereTheDrawingSays) {
  using enum Action;
  const std::vector<Course> courses = {
      {"all is well", {true, true, true, true}, {prove, drain, release, recover, none}, State::upgraded},
      {"it does not prove itself", {false, true}, {prove, refuse, none}, State::refused},
      {"calls do not end", {true, false, true}, {prove, drain, refuse, none}, State::refused},
      {"the old one ends badly", {true, true, false, true}, {prove, drain, release, recover, none}, State::upgraded},
      {"a task is not found",
       {true, true, true, false, true},
       {prove, drain, release, recover, go_back, none},
       State::returned},
      {"nor does the old one start",
       {true, true, true, false, false},
       {prove, drain, release, recover, go_back, none},
       State::stranded},
      {"the refusal fails", {false, false}, {prove, refuse, none}, State::refused},
  };
  for (const Course& c : courses) {
    SCOPED_TRACE(c.name);
    Upgrade upgrade;
    std::vector<Action> actions = {upgrade.begin()};
    for (const bool step : c.steps) {
      EXPECT_FALSE(upgrade.is_over());
      actions.push_back(upgrade.done(step));
    }
    EXPECT_EQ(c.actions, actions);
    EXPECT_EQ(c.end, upgrade.state());
    EXPECT_TRUE(upgrade.is_over());
  }
}

// Whatever goes wrong, the old version was ended only where the new one or the old one is then given the tasks.
TEST(Upgrade, NobodyIsLeftWithoutAVersion) {
  for (unsigned steps = 0; steps < 32; ++steps) {
    Upgrade upgrade;
    bool is_released = false, is_served = true;
    Action action = upgrade.begin();
    for (unsigned step = 0; action != Action::none; ++step) {
      ASSERT_LT(step, 5u) << steps;
      if (action == Action::release) is_released = true, is_served = false;
      const bool is_well = (steps >> step & 1) != 0;
      if (action == Action::recover || action == Action::go_back) is_served = is_well;
      action = upgrade.done(is_well);
    }
    EXPECT_EQ(is_served, upgrade.state() != State::stranded) << steps;
    EXPECT_EQ(is_released, upgrade.state() != State::refused) << steps;
  }
}

TEST(Upgrade, EveryStateHasAName) {
  EXPECT_EQ("idle", to_string(State::idle));
  EXPECT_EQ("returning", to_string(State::returning));
  EXPECT_EQ("stranded", to_string(State::stranded));
}

}  // namespace
}  // namespace drover::plugin_programs
