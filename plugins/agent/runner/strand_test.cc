#include "strand.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

namespace drover::agent {
namespace {

using namespace std::chrono_literals;

class StrandTest : public ::testing::Test {
 protected:
  SystemClock clock_;
  ThreadPool pool_{{.workers = 4, .max_borrowed = 100}, clock_};
  Strand strand_{pool_};
};

TEST_F(StrandTest, RunsOneThingAfterTheOther) {
  constexpr int kTimes = 2000;
  int count = 0;  // guarded by nothing but the strand
  std::vector<std::jthread> posters;
  std::promise<void> all;
  for (int i = 0; i < 4; ++i) {
    posters.emplace_back([&] {
      for (int j = 0; j < kTimes; ++j) {
        strand_.post([&] {
          if (++count == 4 * kTimes) all.set_value();
        });
      }
    });
  }
  ASSERT_EQ(std::future_status::ready, all.get_future().wait_for(20s));
  EXPECT_EQ(4 * kTimes, count);
}

Async<std::string> name_of(Strand& strand, int number) {
  const auto work = [number] { return std::string("number ") + std::to_string(number) + " of a long name"; };
  co_return co_await strand.borrow(work);
}

Async<> collect(Strand& strand, std::vector<std::string>& names) {
  for (int i = 0; i < 3; ++i) names.push_back(co_await name_of(strand, i));
}

TEST_F(StrandTest, ACoroutineGoesOnWithWhatABorrowedThreadFound) {
  std::vector<std::string> names;
  strand_.spawn(collect(strand_, names));
  strand_.join();
  EXPECT_EQ((std::vector<std::string>{"number 0 of a long name", "number 1 of a long name", "number 2 of a long name"}),
            names);
}

// While one waits on a borrowed thread the strand does something else.
TEST_F(StrandTest, ABorrowedThreadHoldsUpNobody) {
  std::promise<void> go_on;
  std::vector<std::string> names;
  const auto slow = [](Strand& strand, std::vector<std::string>& all, std::future<void> until) -> Async<> {
    const auto work = [&until] { return until.wait(), 1; };
    co_await strand.borrow(work);
    all.push_back("slow");
  };
  strand_.spawn(slow(strand_, names, go_on.get_future()));
  std::promise<void> posted;
  strand_.post([&] {
    names.push_back("quick");
    posted.set_value();
  });
  posted.get_future().wait();
  go_on.set_value();
  strand_.join();
  EXPECT_EQ((std::vector<std::string>{"quick", "slow"}), names);
}

Async<> wait_for(Wakeup& wakeup, std::optional<SteadyTime> until, std::promise<void>& waits, bool& was_woken) {
  waits.set_value();
  was_woken = co_await wakeup.wait(until);
}

TEST_F(StrandTest, WakesWhoeverWaits) {
  Wakeup wakeup(strand_);
  std::promise<void> waits;
  bool was_woken = false;
  strand_.spawn(wait_for(wakeup, {}, waits, was_woken));
  waits.get_future().wait();
  wakeup.wake();  // runs after the coroutine has come to wait: both are on the strand
  strand_.join();
  EXPECT_TRUE(was_woken);
}

TEST_F(StrandTest, TheTimeEndsAWait) {
  Wakeup wakeup(strand_);
  std::promise<void> waits;
  bool was_woken = true;
  const SteadyTime until = clock_.steady() + 20ms;
  strand_.spawn(wait_for(wakeup, until, waits, was_woken));
  strand_.join();
  EXPECT_FALSE(was_woken);
  EXPECT_GE(clock_.steady(), until);
}

Async<> wait_twice(Wakeup& wakeup, SteadyTime soon, SteadyTime late, bool& first, bool& second) {
  wakeup.wake();  // stands on the strand before the time can: it comes first, however slow this is
  first = co_await wakeup.wait(soon);
  second = co_await wakeup.wait(late);
}

TEST_F(StrandTest, ATimeThatWasWaitedForDoesNotEndTheNextWait) {
  Wakeup wakeup(strand_);
  bool first = false, second = true;
  const SteadyTime soon = clock_.steady() + 10ms, late = soon + 40ms;
  strand_.spawn(wait_twice(wakeup, soon, late, first, second));
  strand_.join();
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
  EXPECT_GE(clock_.steady(), late);
}

}  // namespace
}  // namespace drover::agent
