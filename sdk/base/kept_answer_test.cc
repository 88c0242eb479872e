#include "drover/kept_answer.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace drover {
namespace {

using namespace std::chrono_literals;

TEST(NextQuestion, WaitsBehindTheIndexOfTheLastAnswer) {
  NextQuestion next(1s);
  EXPECT_EQ(0U, next.index());
  EXPECT_TRUE(next.answered(7));
  EXPECT_EQ(7U, next.index());
  EXPECT_FALSE(next.answered(7));
  EXPECT_EQ(7U, next.index());
}

TEST(NextQuestion, BeginsAnewWhereTheIndexGoesBack) {
  NextQuestion next(1s);
  next.answered(7);
  EXPECT_TRUE(next.answered(6));
  EXPECT_EQ(0U, next.index());
  EXPECT_TRUE(next.answered(6));
  EXPECT_EQ(6U, next.index());
}

TEST(NextQuestion, PausesEverLongerUntilAnAnswer) {
  NextQuestion next(500ms, 200ms);
  EXPECT_EQ(200ms, next.failed());
  EXPECT_EQ(400ms, next.failed());
  EXPECT_EQ(500ms, next.failed());
  EXPECT_EQ(500ms, next.failed());
  next.answered(1);
  EXPECT_EQ(200ms, next.failed());
}

TEST(NextQuestion, AFailureKeepsTheIndexUntilItBeginsAnew) {
  NextQuestion next(1s);
  next.answered(7);
  next.failed();
  EXPECT_EQ(7U, next.index());
  next.begin_anew();
  EXPECT_EQ(0U, next.index());
}

struct Text {
  uint64_t change = 0;
  std::string text;
};
bool is_same(const Text& one, const Text& other) { return one.text == other.text; }

TEST(KeptAnswer, CountsWhatIsNews) {
  KeptAnswer<Text> kept;
  EXPECT_EQ(0U, kept.now().change);
  kept.take({.text = ""}, is_same);  // the first one is news, whatever it says
  EXPECT_EQ(1U, kept.now().change);
  kept.take({.text = "one"}, is_same);
  kept.take({.text = "one"}, is_same);
  EXPECT_EQ(2U, kept.now().change);
  EXPECT_EQ("one", kept.now().text);
}

TEST(KeptAnswer, AFirstOneIsWaitedFor) {
  KeptAnswer<Text> kept;
  EXPECT_EQ(0U, kept.wait(1ms).change);
  Text seen;
  std::thread waits([&] { seen = kept.wait(1h); });
  kept.take({.text = "one"}, is_same);
  waits.join();
  EXPECT_EQ("one", seen.text);
  EXPECT_EQ("one", kept.wait(1h).text);
}

TEST(KeptAnswer, NobodyWaitsOnceItIsStopped) {
  KeptAnswer<Text> kept;
  std::stop_source stop;
  std::thread waits([&] { EXPECT_EQ(0U, kept.wait(1h, stop.get_token()).change); });
  stop.request_stop();
  waits.join();
}

}  // namespace
}  // namespace drover
