#include "workers.h"

#include <gtest/gtest.h>

#include <latch>

namespace drover::serve {
namespace {

using namespace std::chrono_literals;

SteadyTime after(std::chrono::nanoseconds time) { return std::chrono::steady_clock::now() + time; }

TEST(Workers, BlockedTasksDoNotHoldUpOthers) {
  Workers workers(3);
  std::latch open(1), ran(1);
  ASSERT_TRUE(workers.post([&] { open.wait(); }));
  ASSERT_TRUE(workers.post([&] { open.wait(); }));

  ASSERT_TRUE(workers.post([&] { ran.count_down(); }));

  ran.wait();
  EXPECT_FALSE(workers.wait_idle(after(1ms)));
  open.count_down();
  EXPECT_TRUE(workers.wait_idle(after(30s)));
}

TEST(Workers, RefuseMoreThanTheirLimit) {
  Workers workers(1);
  std::latch open(1);
  ASSERT_TRUE(workers.post([&] { open.wait(); }));

  EXPECT_FALSE(workers.post([] {}));

  open.count_down();
  ASSERT_TRUE(workers.wait_idle(after(30s)));
  EXPECT_TRUE(workers.post([] {}));
}

}  // namespace
}  // namespace drover::serve
