#include "cpu/sampler.h"

#include <gtest/gtest.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

namespace drover::status {
namespace {

using std::chrono::milliseconds;

// A loop that is nobody's but this one's, so that its addresses tell that it was met.
[[gnu::noinline]] uint64_t burn(const std::atomic<bool>& is_over) {
  uint64_t sum = 0;
  while (!is_over) {
    for (uint64_t i = 0; i < 1000; ++i) sum = sum * 6364136223846793005U + i;
    asm volatile("" : "+r"(sum));
  }
  return sum;
}

// Two threads that do nothing but burn().
class Burners {
 public:
  ~Burners() { is_over_ = true; }

 private:
  std::atomic<bool> is_over_ = false;
  std::jthread one_{[this] { burn(is_over_); }}, two_{[this] { burn(is_over_); }};
};

bool is_timer_set() {
  itimerval timer{};
  ::getitimer(ITIMER_PROF, &timer);
  return timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0;
}

TEST(Sampler, MeetsWhatTakesTheTimeOnEveryThread) {
  const Burners burners;
  int64_t all = 0, in_burn = 0, deep = 0;
  const auto begin = reinterpret_cast<uint64_t>(&burn);
  for (int i = 0; i < 100 && in_burn < 10; ++i) {  // a busy machine gives a process little
    const auto samples = sample_cpu(milliseconds(300), {});
    ASSERT_TRUE(samples.ok()) << samples.status().message();
    EXPECT_GE(samples->duration, milliseconds(300));
    for (const auto& [stack, count] : samples->stacks) {
      all += count;
      if (std::ranges::any_of(stack, [&](uint64_t at) { return begin <= at && at < begin + 512; })) in_burn += count;
      if (stack.size() > 2) deep += count;
    }
  }
  EXPECT_GE(in_burn, 10);
  EXPECT_GE(2 * in_burn, all);
  EXPECT_GE(2 * deep, all) << "callers are not found";
  EXPECT_FALSE(is_timer_set());
}

TEST(Sampler, EndsWhenItIsStoppedAndIsTakenOnceAtATime) {
  std::stop_source stop;
  std::atomic<bool> has_begun = false;
  Result<CpuSamples> first = unavailable("it has not ended");
  {
    const std::jthread other([&] {
      has_begun = true;
      first = sample_cpu(std::chrono::hours(1), stop.get_token());
    });
    while (!has_begun || !is_timer_set()) std::this_thread::yield();
    EXPECT_EQ(sample_cpu(milliseconds(1), {}).status(), resource_exhausted("cpu profiling already in use"));
    stop.request_stop();
  }
  EXPECT_TRUE(first.ok());
  EXPECT_FALSE(is_timer_set());
  EXPECT_TRUE(sample_cpu(milliseconds(1), {}).ok());
}

TEST(Sampler, LeavesNoSignalThatEndsTheProcess) {
  ASSERT_TRUE(sample_cpu(milliseconds(1), {}).ok());
  EXPECT_EQ(::raise(SIGPROF), 0);
}

}  // namespace
}  // namespace drover::status
