#include "drover/task_batches.h"

#include <gtest/gtest.h>

#include <deque>

namespace drover {
namespace {

// Runs a task when it is told to.
class Later final : public Executor {
 public:
  void post(std::function<void()> task) override { tasks.push_back(std::move(task)); }
  uint64_t post_at(SteadyTime, std::function<void()>) override { return 0; }
  bool cancel_timer(uint64_t) override { return false; }
  Status run_blocking(std::function<void()>) override { return unavailable("there is no thread"); }
  void run_next() {
    const auto task = std::move(tasks.front());
    tasks.pop_front();
    task();
  }

  std::deque<std::function<void()>> tasks;
};

class Batches : public ::testing::Test {
 protected:
  void post(int number) {
    batches_.post([this, number] { ran_.push_back(number); });
  }

  Later later_;
  TaskBatches batches_{later_};
  std::vector<int> ran_;
};

TEST_F(Batches, WhatComesInOneMomentIsOneTask) {
  post(1);
  post(2);
  post(3);
  ASSERT_EQ(later_.tasks.size(), 1U);
  EXPECT_TRUE(ran_.empty());
  later_.run_next();
  EXPECT_EQ(ran_, (std::vector<int>{1, 2, 3}));
}

TEST_F(Batches, WhatComesWhileOneRunsIsTheNext) {
  batches_.post([this] { post(2); });
  later_.run_next();
  EXPECT_TRUE(ran_.empty());
  ASSERT_EQ(later_.tasks.size(), 1U);
  later_.run_next();
  EXPECT_EQ(ran_, std::vector<int>{2});
}

TEST_F(Batches, TooMuchForOneThreadIsDivided) {
  for (int i = 0; i < 33; ++i) post(i);
  ASSERT_EQ(later_.tasks.size(), 2U);
  later_.run_next();
  EXPECT_EQ(ran_.size(), 32U);
  post(33);
  EXPECT_EQ(later_.tasks.size(), 1U) << "the second is still on its way";
  later_.run_next();
  EXPECT_EQ(ran_.size(), 34U);
}

TEST_F(Batches, ATaskThatIsDroppedTakesItsOwnAlongAndNoOther) {
  const auto held = std::make_shared<int>(0);
  batches_.post([held] {});
  later_.tasks.clear();
  EXPECT_EQ(held.use_count(), 1);
  post(1);
  ASSERT_EQ(later_.tasks.size(), 1U);
  later_.run_next();
  EXPECT_EQ(ran_, std::vector<int>{1});
}

}  // namespace
}  // namespace drover
