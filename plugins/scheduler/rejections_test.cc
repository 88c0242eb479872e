#include "rejections.h"

#include <gtest/gtest.h>

#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using namespace std::chrono_literals;

constexpr SteadyTime kStart{std::chrono::hours(100)};

// The number of refusals, each after the former, until the node is closed; 0: it is not.
int closed_after(Rejections& rejections, const std::string& node, int refusals, std::chrono::nanoseconds apart,
                 SteadyTime from = kStart) {
  for (int i = 0; i < refusals; ++i) {
    if (rejections.add(node, from + i * apart)) return i + 1;
  }
  return 0;
}

TEST(Rejections, CloseANodeThatRefusesTooOften) {
  struct Case {
    const char* name;
    RejectionOptions options;
    std::chrono::nanoseconds apart;
    int closed_after;
  };
  const Case cases[] = {{"L6 a hundred in five minutes", {.enabled = true}, 3s, 100},
                        {"too far apart", {.enabled = true}, 4s, 0},
                        {"switched off", {.enabled = false}, 1s, 0},
                        {"another threshold", {.enabled = true, .node_threshold = 3}, 1s, 3}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Rejections rejections(c.options);
    EXPECT_EQ(closed_after(rejections, "n1", 300, c.apart), c.closed_after);
  }
}

TEST(Rejections, CloseFewNodesInARow) {
  Rejections rejections({.enabled = true, .node_threshold = 1});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(rejections.add("n" + std::to_string(i), kStart)) << i;
  EXPECT_FALSE(rejections.add("eleventh", kStart));
  EXPECT_FALSE(rejections.add("eleventh", kStart + 5min));
  EXPECT_TRUE(rejections.add("eleventh", kStart + 12min));
}

TEST(Rejections, ForgetNodesBeyondTheLastFifty) {
  Rejections rejections({.enabled = true, .node_threshold = 2});
  EXPECT_FALSE(rejections.add("old", kStart));
  for (int i = 0; i < 50; ++i) rejections.add("n" + std::to_string(i), kStart);
  EXPECT_FALSE(rejections.add("old", kStart));
  EXPECT_TRUE(rejections.add("old", kStart));
}

}  // namespace
}  // namespace drover::scheduler
