#include "keeper/later.h"

#include <atomic>
#include <future>

#include "gtest/gtest.h"
#include "sdk/testing/waiting.h"
#include "testing/node_world.h"

namespace drover::mounts {
namespace {

using namespace std::chrono_literals;

TEST(Later, RunsTheNewestOrderOfAName) {
  testing::NodeHost host;
  Later later(host);
  std::atomic<int> ran{0};
  later.run("a", 1h, [&] { ran += 100; });
  later.run("a", 0s, [&] { ran += 1; });
  EXPECT_TRUE(eventually([&] { return ran == 1; }));
  later.hurry();
  later.stop();
  EXPECT_EQ(ran, 1);
}

TEST(Later, HurriesWhatWaits) {
  testing::NodeHost host;
  Later later(host);
  std::atomic<int> ran{0};
  later.run("a", 1h, [&] { ++ran; });
  later.run("b", 1h, [&] { ++ran; });
  later.hurry();
  EXPECT_TRUE(eventually([&] { return ran == 2; }));
}

TEST(Later, RunsANameOnceAtATimeAndOnceMoreAfterwards) {
  testing::NodeHost host;
  Later later(host);
  std::promise<void> begun, may_end;
  auto end = may_end.get_future().share();
  std::atomic<int> running{0}, ran{0};
  const auto count = [&] {
    EXPECT_EQ(++running, 1);
    ++ran;
    --running;
  };
  later.run("a", 0s, [&] {
    ++running;
    begun.set_value();
    end.wait();
    --running;
  });
  begun.get_future().wait();
  later.run("a", 0s, count);
  later.hurry();
  may_end.set_value();
  EXPECT_TRUE(eventually([&] { return ran == 1; }));
}

TEST(Later, WaitsAtItsEndForWhatRunsAndTakesNothingNew) {
  testing::NodeHost host;
  Later later(host);
  std::promise<void> begun;
  std::atomic<bool> has_ended{false};
  later.run("a", 0s, [&] {
    begun.set_value();
    EXPECT_TRUE(eventually([&] { return later.token().stop_requested(); }));
    has_ended = true;
  });
  begun.get_future().wait();
  later.stop();
  EXPECT_TRUE(has_ended);
  later.run("b", 0s, [] { FAIL(); });
}

}  // namespace
}  // namespace drover::mounts
