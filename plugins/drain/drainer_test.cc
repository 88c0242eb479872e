#include "drainer.h"

#include <gtest/gtest.h>

#include <thread>

#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "sdk/testing/fake_host.h"

namespace drover::drain {
namespace {

using namespace std::chrono_literals;

const std::string kNode = "nnnnnnnnnnnnnnnn";
const std::string kAlloc = "aaaaaaaaaaaaaaaa";

// A server in memory whose owners of nodes and allocations do as they are told.
class Drains : public ::testing::Test {
 protected:
  Drains() {
    Declarations& rows = host_.rows();
    nodes_ = *declare_table(rows, nodes_table());
    allocs_ = *declare_table(rows, allocs_table());
    jobs_ = *declare_table(rows, jobs_table());
    EXPECT_TRUE(
        rows.command("drover.v1.AllocationsTransitioned",
                     [this](std::string_view bytes, ApplyContext& context) { return transitioned(bytes, context); })
            .ok());
    EXPECT_TRUE(
        rows.command("drover.v1.NodeDrainUpdated",
                     [this](std::string_view bytes, ApplyContext& context) { return drain_updated(bytes, context); })
            .ok());
    v1::Job job;
    job.set_namespace_("default");
    job.set_id("web");
    job.set_type("service");
    job.add_task_groups()->set_name("app");
    job.mutable_task_groups(0)->set_count(1);
    host_.commit([&](WriteTransaction& write) { EXPECT_TRUE(jobs_.put(write, job).ok()); });
  }

  Result<std::string> transitioned(std::string_view bytes, ApplyContext& context) {
    DROVER_TRY(const auto command, parse_message<v1::AllocationsTransitioned>(bytes));
    for (const std::string& id : command.alloc_ids()) {
      v1::Allocation alloc = allocs_.get(context.rows(), id).value();
      alloc.mutable_desired_transition()->MergeFrom(command.transition());
      DROVER_RETURN_IF_ERROR(allocs_.put(context.rows(), alloc));
    }
    return std::string();
  }
  Result<std::string> drain_updated(std::string_view bytes, ApplyContext& context) {
    DROVER_TRY(const auto command, parse_message<v1::NodeDrainUpdated>(bytes));
    v1::Node node = nodes_.get(context.rows(), command.node_id()).value();
    node.set_drain(false);
    *node.add_events() = command.event();
    DROVER_RETURN_IF_ERROR(nodes_.put(context.rows(), node));
    return std::string();
  }

  void put_alloc(v1::ClientStatus status) {
    v1::Allocation alloc;
    alloc.set_id(kAlloc);
    alloc.set_namespace_("default");
    alloc.set_job_id("web");
    alloc.set_task_group("app");
    alloc.set_node_id(kNode);
    alloc.set_client_status(status);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(allocs_.put(rows, alloc).ok()); });
  }
  void begin_drain(int64_t deadline = 0) {
    v1::Node node;
    node.set_id(kNode);
    node.set_drain(true);
    node.mutable_drain_strategy()->set_deadline(deadline);
    if (deadline > 0) node.mutable_drain_strategy()->set_force_deadline(host_.clock().wall_ns() + deadline);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(nodes_.put(rows, node).ok()); });
  }
  std::jthread lead() {
    return std::jthread([this](std::stop_token stop) {
      Drainer(host_, {.nodes = nodes_.id(), .allocs = allocs_.id(), .jobs = jobs_.id()}).run(stop);
    });
  }
  bool moves() {
    return host_.eventually(
        [&](const ReadView& view) { return allocs_.get(view, kAlloc)->desired_transition().migrate(); });
  }
  bool is_done() {
    return host_.eventually([&](const ReadView& view) { return !nodes_.get(view, kNode)->drain(); });
  }

  drover::testing::FakeHost host_;
  Table<v1::Node> nodes_;
  Table<v1::Allocation> allocs_;
  Table<v1::Job> jobs_;
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
