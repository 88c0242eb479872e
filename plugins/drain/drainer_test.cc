#include "drainer.h"

#include <gtest/gtest.h>

#include <thread>

#include "testing/drain_test.h"

namespace drover::drain {
namespace {

using namespace std::chrono_literals;
using testing::kAlloc;
using testing::kNode;

class Drains : public testing::DrainTest {
 protected:
  void begin_drain(int64_t deadline = 0) {
    v1::Node node;
    node.set_id(kNode);
    node.set_drain(true);
    node.mutable_drain_strategy()->set_deadline(deadline);
    if (deadline > 0) node.mutable_drain_strategy()->set_force_deadline(host_.clock().wall_ns() + deadline);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(nodes_.put(rows, node).ok()); });
  }
  std::jthread lead() {
    return std::jthread([this](std::stop_token stop) { Drainer(host_, tables_).run(stop); });
  }
  bool moves() {
    return host_.eventually(
        [&](const ReadView& view) { return allocs_.get(view, kAlloc)->desired_transition().migrate(); });
  }
  bool is_done() {
    return host_.eventually([&](const ReadView& view) { return !nodes_.get(view, kNode)->drain(); });
  }
};

TEST_F(Drains, ANodeIsDoneOnceItsAllocationsHaveMovedAndEnded) {
  put_alloc(v1::CLIENT_STATUS_RUNNING);
  const auto leader = lead();
  begin_drain();
  ASSERT_TRUE(moves());
  EXPECT_TRUE(nodes_.get(*host_.snapshot(), kNode)->drain());
  put_alloc(v1::CLIENT_STATUS_COMPLETE);
  ASSERT_TRUE(is_done());
  EXPECT_EQ(nodes_.get(*host_.snapshot(), kNode)->events(0).message(), "Node drain complete");
}

TEST_F(Drains, ANewLeaderGoesOnWhereTheLastOneStood) {
  put_alloc(v1::CLIENT_STATUS_COMPLETE);
  begin_drain();
  const auto leader = lead();
  EXPECT_TRUE(is_done());
}

TEST_F(Drains, ADeadlineEndsTheDrainOfAnAllocationInDoubt) {
  put_alloc(v1::CLIENT_STATUS_PENDING);  // not healthy: it would wait
  begin_drain(3600'000'000'000);
  const auto leader = lead();
  host_.forward_clock().advance(3601s);
  put_alloc(v1::CLIENT_STATUS_PENDING);  // something happens, so that the clock is looked at
  ASSERT_TRUE(moves());
  ASSERT_TRUE(is_done());
  EXPECT_EQ(nodes_.get(*host_.snapshot(), kNode)->events(0).details().at("deadline_reached"), "true");
}

}  // namespace
}  // namespace drover::drain
