#include "changes.h"

#include <gtest/gtest.h>

#include "drover/v1/task.pb.h"

namespace drover::templates {
namespace {

using namespace std::chrono_literals;

v1::Template with(const std::string& mode, std::chrono::nanoseconds splay = 0s, const std::string& signal = {}) {
  v1::Template block;
  block.set_change_mode(mode);
  block.set_splay(splay.count());
  block.set_change_signal(signal);
  return block;
}

TEST(Actions, RestartIsAskedForBesideTheRest) {
  const v1::Template restart = with("restart", 2s), signal = with("signal", 7s, "SIGHUP"), noop = with("noop", 1h);
  const v1::Template* changed[] = {&signal, &restart, &noop};
  const Actions actions = actions_for(changed);
  EXPECT_TRUE(actions.restart);
  EXPECT_EQ(actions.splay, 7s);
}

TEST(Actions, EachSignalOnceAndEveryScript) {
  const v1::Template one = with("signal", 0s, "SIGHUP"), other = with("signal", 0s, "SIGUSR1"), script = with("script");
  const v1::Template* changed[] = {&one, &other, &one, &script, &script};
  const Actions actions = actions_for(changed);
  EXPECT_FALSE(actions.restart);
  EXPECT_EQ(actions.signals, (std::set<std::string>{"SIGHUP", "SIGUSR1"}));
  EXPECT_EQ(actions.scripts.size(), 2U);
}

TEST(Actions, NothingForNoop) {
  const v1::Template noop = with("noop", 3s);
  const v1::Template* changed[] = {&noop};
  EXPECT_TRUE(actions_for(changed).empty());
  EXPECT_EQ(actions_for(changed).splay, 0s);
}

TEST(Quiescence, WaitsForQuietButNotForEver) {
  const Wait wait{5s, 12s};
  const SteadyTime start{};
  Quiescence quiescence;
  EXPECT_FALSE(quiescence.due(wait));
  quiescence.changed(start);
  EXPECT_EQ(quiescence.due(wait), start + 5s);
  quiescence.changed(start + 4s);
  EXPECT_EQ(quiescence.due(wait), start + 9s);
  quiescence.changed(start + 8s);
  EXPECT_EQ(quiescence.due(wait), start + 12s);
  quiescence.acted();
  EXPECT_FALSE(quiescence.due(wait));
  quiescence.changed(start + 20s);
  EXPECT_EQ(quiescence.due(wait), start + 25s);
}

}  // namespace
}  // namespace drover::templates
