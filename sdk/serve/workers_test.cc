#include "workers.h"

#include <gtest/gtest.h>

#include <atomic>
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

TEST(Workers, WhoSleepsIsCalledAgain) {
  Workers workers(4);
  std::atomic<int> done = 0;

  for (int round = 0; round < 500; ++round) {
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(workers.post([&] { ++done; }));
    ASSERT_TRUE(workers.wait_idle(after(30s))) << "in round " << round;
  }

  EXPECT_EQ(done, 2000);
}

TEST(Workers, WhatWasPostedIsDoneBeforeTheEnd) {
  std::atomic<int> done = 0;
  {
    Workers workers(2);
    ASSERT_TRUE(workers.post([] {}));
    ASSERT_TRUE(workers.wait_idle(after(30s)));
    ASSERT_TRUE(workers.post([&] { ++done; }));
    ASSERT_TRUE(workers.post([&] { ++done; }));
  }
  EXPECT_EQ(done, 2);
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
