#include "drover/thread_pool.h"

#include <future>

#include "gtest/gtest.h"

namespace drover {
namespace {

using namespace std::chrono_literals;
constexpr auto kPatience = 20s;

template <typename T>
bool arrives(std::future<T>& future) {
  return future.wait_for(kPatience) == std::future_status::ready;
}

TEST(ThreadPool, RunsWhatIsPosted) {
  SystemClock clock;
  ThreadPool pool({.workers = 2, .max_borrowed = 1}, clock);
  std::promise<void> ran;
  auto future = ran.get_future();

  pool.post([&] { ran.set_value(); });

  EXPECT_TRUE(arrives(future));
}

TEST(ThreadPool, OneWorkerKeepsTheOrder) {
  SystemClock clock;
  ThreadPool pool({.workers = 1, .max_borrowed = 1}, clock);
  std::vector<int> order;
  std::promise<void> ran;
  auto future = ran.get_future();

  for (int i = 0; i < 3; ++i) pool.post([&order, i] { order.push_back(i); });
  pool.post([&] { ran.set_value(); });

  ASSERT_TRUE(arrives(future));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(ThreadPool, WhoWaitsOnABorrowedThreadKeepsNobodyWaiting) {
  SystemClock clock;
  ThreadPool pool({.workers = 1, .max_borrowed = 2}, clock);
  std::promise<void> answer;
  const auto answered = answer.get_future().share();
  std::promise<void> ran;
  auto future = ran.get_future();

  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pool.run_blocking([answered] { answered.wait(); }).ok());
  pool.post([&] { ran.set_value(); });

  EXPECT_TRUE(arrives(future));
  answer.set_value();
}

TEST(ThreadPool, ABorrowedThreadServesTheNextThatComes) {
  SystemClock clock;
  ThreadPool pool({.workers = 1, .max_borrowed = 1}, clock);
  std::thread::id first, second;
  const SteadyTime give_up = clock.steady() + kPatience;

  std::promise<void> ran;
  auto future = ran.get_future();
  ASSERT_TRUE(pool.run_blocking([&] { first = std::this_thread::get_id(); }).ok());
  const auto next = [&] {
    return pool.run_blocking([&] {
      second = std::this_thread::get_id();
      ran.set_value();
    });
  };
  while (!next().ok() && clock.steady() < give_up) std::this_thread::yield();

  ASSERT_TRUE(arrives(future));
  EXPECT_EQ(first, second);
}

TEST(ThreadPool, TimersRunInTheOrderOfTheirTimes) {
  SystemClock clock;
  ThreadPool pool({.workers = 1, .max_borrowed = 1}, clock);
  std::vector<std::string> order;
  std::promise<void> ran;
  auto future = ran.get_future();
  const SteadyTime now = clock.steady();

  pool.post_at(now + 60ms, [&] { ran.set_value(); });
  pool.post_at(now + 40ms, [&] { order.emplace_back("second"); });
  pool.post_at(now + 20ms, [&] { order.emplace_back("first"); });

  ASSERT_TRUE(arrives(future));
  EXPECT_EQ(order, (std::vector<std::string>{"first", "second"}));
  EXPECT_GE(clock.steady(), now + 60ms);
}

TEST(ThreadPool, ATimerOfThePastRunsAtOnce) {
  SystemClock clock;
  ThreadPool pool({.workers = 1, .max_borrowed = 1}, clock);
  std::promise<void> ran;
  auto future = ran.get_future();

  pool.post_at(clock.steady() - 1h, [&] { ran.set_value(); });

  EXPECT_TRUE(arrives(future));
}

TEST(ThreadPool, ACancelledTimerNeverRuns) {
  SystemClock clock;
  ThreadPool pool({.workers = 1, .max_borrowed = 1}, clock);
  bool has_run = false;
  std::promise<void> later;
  auto future = later.get_future();
  const SteadyTime now = clock.steady();
  const uint64_t timer = pool.post_at(now + 20ms, [&] { has_run = true; });
  pool.post_at(now + 40ms, [&] { later.set_value(); });

  EXPECT_NE(timer, 0u);
  EXPECT_TRUE(pool.cancel_timer(timer));
  EXPECT_FALSE(pool.cancel_timer(timer)) << "it is gone";

  ASSERT_TRUE(arrives(future));
  EXPECT_FALSE(has_run);
}

TEST(ThreadPool, ATimerThatHasRunCannotBeCancelled) {
  SystemClock clock;
  ThreadPool pool({.workers = 1, .max_borrowed = 1}, clock);
  std::promise<void> ran;
  auto future = ran.get_future();
  const uint64_t timer = pool.post_at(clock.steady(), [&] { ran.set_value(); });
  ASSERT_TRUE(arrives(future));

  EXPECT_FALSE(pool.cancel_timer(timer));
}

TEST(ThreadPool, WhatATimerHoldsMayUseThePoolWhenItIsDropped) {
  SystemClock clock;
  ThreadPool pool({.workers = 1, .max_borrowed = 1}, clock);
  std::promise<void> ran;
  auto future = ran.get_future();
  std::shared_ptr<int> held(new int, [&](int* p) {
    delete p;
    pool.post([&] { ran.set_value(); });
  });
  const uint64_t timer = pool.post_at(clock.steady() + 1h, [held] {});
  held.reset();

  EXPECT_TRUE(pool.cancel_timer(timer));

  EXPECT_TRUE(arrives(future));
}

TEST(ThreadPool, BorrowedThreadsAreLimited) {
  SystemClock clock;
  ThreadPool pool({.workers = 1, .max_borrowed = 1}, clock);
  std::promise<void> end;
  std::promise<void> second_ran;
  auto second = second_ran.get_future();
  ASSERT_TRUE(pool.run_blocking([go_on = end.get_future().share()] { go_on.wait(); }).ok());

  EXPECT_EQ(pool.run_blocking([] {}).to_string(), "resource_exhausted: too many calls and streams are open (limit 1)");
  end.set_value();

  // Its place is free once it has ended.
  Status status;
  const SteadyTime give_up = clock.steady() + kPatience;
  do {
    status = pool.run_blocking([&] { second_ran.set_value(); });
    if (!status.ok()) std::this_thread::yield();
  } while (!status.ok() && clock.steady() < give_up);
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_TRUE(arrives(second));
}

TEST(ThreadPool, StoppingDropsWhatIsQueuedAndWaitsForWhatRuns) {
  SystemClock clock;
  auto pool = std::make_unique<ThreadPool>(ThreadPool::Options{.workers = 1, .max_borrowed = 1}, clock);
  std::promise<void> started;
  std::promise<void> go_on;
  std::atomic<bool> is_done = false;
  std::atomic<bool> has_run = false;
  pool->post([&, released = go_on.get_future().share()] {
    started.set_value();
    released.wait();
    is_done = true;
  });
  auto begun = started.get_future();
  ASSERT_TRUE(arrives(begun));
  pool->post([&] { has_run = true; });
  pool->post_at(clock.steady() + 1h, [&] { has_run = true; });

  std::thread stopper([&] { pool->stop(); });
  const SteadyTime give_up = clock.steady() + kPatience;  // until it refuses streams it has not begun to stop
  while (pool->run_blocking([] {}).code() != Code::unavailable && clock.steady() < give_up) std::this_thread::yield();
  go_on.set_value();
  stopper.join();

  EXPECT_TRUE(is_done);
  EXPECT_FALSE(has_run);
  EXPECT_EQ(pool->run_blocking([] {}).to_string(), "unavailable: this agent is stopping");
  pool->post([&] { has_run = true; });
  pool->stop();
  EXPECT_FALSE(has_run);
}

TEST(ThreadPool, StoppingWaitsForBorrowedThreads) {
  SystemClock clock;
  ThreadPool pool({.workers = 1, .max_borrowed = 4}, clock);
  std::atomic<bool> has_ended = false;
  std::stop_source stop;
  ASSERT_TRUE(pool.run_blocking([&, token = stop.get_token()] {
                    std::mutex mutex;
                    std::condition_variable_any never;
                    std::unique_lock lock(mutex);
                    never.wait(lock, token, [] { return false; });
                    has_ended = true;
                  })
                  .ok());
  stop.request_stop();

  pool.stop();

  EXPECT_TRUE(has_ended);
}

}  // namespace
}  // namespace drover
