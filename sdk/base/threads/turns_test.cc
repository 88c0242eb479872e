#include "drover/turns.h"

#include <future>

#include "gtest/gtest.h"
#include "sdk/testing/waiting.h"

namespace drover {
namespace {

SteadyTime in(std::chrono::milliseconds time) { return SystemClock().steady() + time; }

TEST(Turns, ComeOneAfterTheOtherInOrder) {
  Turns turns;
  std::vector<int> order;
  auto first = turns.take("v", in(std::chrono::seconds(10)), {});
  ASSERT_TRUE(first.ok());
  std::vector<std::future<void>> others;
  for (int i = 0; i < 3; ++i) {
    std::promise<void> asks;
    auto asked = asks.get_future();
    others.push_back(std::async(std::launch::async, [&turns, &order, &asks, i] {
      asks.set_value();
      auto turn = turns.take("v", in(std::chrono::seconds(20)), {});
      if (turn) order.push_back(i);  // nobody else has the turn
    }));
    asked.get();
    ASSERT_TRUE(eventually([&] { return turns.waiting("v") == static_cast<size_t>(i) + 1; }));
  }
  first->end();
  for (auto& other : others) other.get();

  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(Turns, OfDifferentNamesDoNotWait) {
  Turns turns;
  const auto one = turns.take("v", in(std::chrono::seconds(10)), {});
  EXPECT_TRUE(turns.take("w", in(std::chrono::seconds(10)), {}).ok());
  EXPECT_TRUE(turns.take("", in(std::chrono::seconds(10)), {}).ok());
}

TEST(Turns, EndTheWaitInTimeAndOnStop) {
  Turns turns;
  {
    const auto one = turns.take("v", in(std::chrono::seconds(10)), {});
    EXPECT_EQ(turns.take("v", in(std::chrono::milliseconds(1)), {}).status().code(), Code::deadline_exceeded);
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(turns.take("v", in(std::chrono::seconds(10)), stop.get_token()).status().code(), Code::cancelled);
  }
  EXPECT_TRUE(turns.take("v", in(std::chrono::seconds(10)), {}).ok());  // who gave up is not waited for
}

}  // namespace
}  // namespace drover
