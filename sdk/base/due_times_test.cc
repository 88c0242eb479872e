#include "drover/due_times.h"

#include <gtest/gtest.h>

#include <string>

namespace drover {
namespace {

using std::chrono::seconds;

SteadyTime at(int s) { return SteadyTime(seconds(s)); }

TEST(DueTimes, TakesWhatIsDueByTime) {
  DueTimes<std::string> times;
  EXPECT_EQ(times.next(), std::nullopt);
  times.by("late", at(9));
  times.by("b", at(2));
  times.by("a", at(1));
  EXPECT_EQ(times.next(), at(1));
  EXPECT_EQ(times.take(at(0)), std::vector<std::string>{});
  EXPECT_EQ(times.take(at(2)), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(times.next(), at(9));
}

TEST(DueTimes, TheEarlierTimeCounts) {
  DueTimes<std::string> times;
  times.by("a", at(5));
  times.by("a", at(3));
  times.by("a", at(4));
  EXPECT_EQ(times.next(), at(3));
  EXPECT_EQ(times.take(at(9)), std::vector<std::string>{"a"});
  EXPECT_EQ(times.next(), std::nullopt);
}

TEST(DueTimes, ForgetsOneOrAll) {
  DueTimes<std::string> times;
  times.by("a", at(1));
  times.by("b", at(2));
  times.forget("a");
  times.forget("nobody");
  EXPECT_EQ(times.next(), at(2));
  times.clear();
  EXPECT_EQ(times.take(at(9)), std::vector<std::string>{});
}

}  // namespace
}  // namespace drover
