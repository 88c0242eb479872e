#include "drover/mutex.h"

#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <thread>

namespace drover {
namespace {

static_assert(sizeof(Mutex) == sizeof(std::mutex));
static_assert(sizeof(MutexLock) == sizeof(std::unique_lock<std::mutex>));
static_assert(sizeof(CondVar) == sizeof(std::condition_variable));
static_assert(sizeof(SharedMutex) == sizeof(std::shared_mutex));

struct Counter {
  Mutex mutex;
  CondVar changed;
  CondVarAny stoppable;
  int count DROVER_GUARDED_BY(mutex) = 0;
};

TEST(MutexTest, AWaitGivesTheMutexUpAndHasItBack) {
  Counter counter;
  std::thread other([&counter] {
    const MutexLock lock(counter.mutex);
    counter.count = 1;
    counter.changed.notify_one();
  });
  {
    MutexLock lock(counter.mutex);
    counter.changed.wait(lock, [&]() DROVER_REQUIRES(counter.mutex) { return counter.count == 1; });
    EXPECT_FALSE(std::async(std::launch::async, [&] {
                   const bool is_free = counter.mutex.try_lock();
                   if (is_free) counter.mutex.unlock();
                   return is_free;
                 }).get());
    lock.unlock();
    EXPECT_TRUE(counter.mutex.try_lock());
    counter.mutex.unlock();
    lock.lock();
  }
  other.join();
  EXPECT_TRUE(counter.mutex.try_lock());
  counter.mutex.unlock();
}

TEST(MutexTest, AStopEndsAWait) {
  Counter counter;
  std::stop_source stop;
  std::jthread other([&stop] { stop.request_stop(); });
  MutexLock lock(counter.mutex);
  EXPECT_FALSE(counter.stoppable.wait(lock, stop.get_token(), [] { return false; }));
}

TEST(ThreadCheckerTest, EveryThreadIsRightUntilOneIsBound) {
  ThreadChecker checker("raft");
  DROVER_ASSERT_ON(checker);
  checker.bind();
  DROVER_ASSERT_ON(checker);
  EXPECT_TRUE(checker.is_bound_here());
  std::thread([&] { EXPECT_FALSE(checker.is_bound_here()); }).join();
  checker.unbind();
  EXPECT_FALSE(checker.is_bound());
  std::thread([&] { DROVER_ASSERT_ON(checker); }).join();
}

#if !defined(NDEBUG) && !defined(DROVER_NO_THREAD_CHECKS)
void step(const ThreadChecker& checker) { DROVER_ASSERT_ON(checker); }

TEST(ThreadCheckerDeathTest, ACallOnAnotherThreadEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto call_from_elsewhere = [] {
    ThreadChecker checker("raft");
    std::thread([&checker] { checker.bind(); }).join();
    step(checker);
  };
  EXPECT_DEATH(call_from_elsewhere(), "step belongs to \\[raft\\] and was called on the thread");
}
#endif

}  // namespace
}  // namespace drover
