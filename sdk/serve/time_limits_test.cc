#include "time_limits.h"

#include <gtest/gtest.h>

#include <future>

namespace drover::serve {
namespace {

using namespace std::chrono_literals;

// Returns when the token is requested.
void wait_for(const std::stop_token& stop) {
  std::promise<void> asked;
  const std::stop_callback callback(stop, [&] { asked.set_value(); });
  asked.get_future().wait();
}

TEST(TimeLimits, TheTimeEndsACall) {
  TimeLimits limits;
  const TimeLimits::Limit limit(limits, {}, 5ms);
  wait_for(limit.stop());
  EXPECT_TRUE(limit.is_over());
}

TEST(TimeLimits, WhoGoesEndsACallBeforeItsTime) {
  TimeLimits limits;
  std::stop_source caller;
  const TimeLimits::Limit limit(limits, caller.get_token(), 1h);
  caller.request_stop();
  EXPECT_TRUE(limit.stop().stop_requested());
  EXPECT_FALSE(limit.is_over());
}

TEST(TimeLimits, AShorterLimitThatComesLaterIsKept) {
  TimeLimits limits;
  const TimeLimits::Limit longer(limits, {}, 1h);
  for (int i = 0; i < 3; ++i) {
    const TimeLimits::Limit shorter(limits, {}, 5ms);
    wait_for(shorter.stop());
  }
  EXPECT_FALSE(longer.stop().stop_requested());
}

TEST(TimeLimits, ManyCallsAtOnceEachHaveTheirOwn) {
  TimeLimits limits;
  std::vector<std::future<void>> calls;
  for (int i = 0; i < 50; ++i) {
    calls.push_back(std::async(std::launch::async, [&limits, i] {
      const TimeLimits::Limit limit(limits, {}, std::chrono::milliseconds(i % 7 + 1));
      wait_for(limit.stop());
    }));
  }
  for (auto& call : calls) call.get();
}

}  // namespace
}  // namespace drover::serve
