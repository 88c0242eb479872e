#include "drover/pause.h"

#include <gtest/gtest.h>

#include <thread>

namespace drover {
namespace {

using namespace std::chrono_literals;

TEST(Pause, EndsWithItsTime) {
  const std::stop_source stop;
  const SystemClock clock;
  const SteadyTime before = clock.steady();
  EXPECT_TRUE(pause_for(2ms, stop.get_token()));
  EXPECT_TRUE(pause_until(before + 4ms, stop.get_token()));
  EXPECT_GE(clock.steady() - before, 4ms);
  EXPECT_TRUE(pause_until(before, stop.get_token())) << "it has passed";
}

TEST(Pause, EndsWithAStop) {
  bool has_come = true;
  {
    std::jthread waiter([&](const std::stop_token& stop) {
      has_come = pause_for(1h, stop);
      wait_for_stop(stop);
    });
    waiter.request_stop();
  }
  EXPECT_FALSE(has_come);
}

}  // namespace
}  // namespace drover
