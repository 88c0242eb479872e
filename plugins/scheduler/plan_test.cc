#include "plan.h"

#include <gtest/gtest.h>

#include <map>

#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

struct World {
  std::map<std::string, v1::Node> nodes;
  std::vector<v1::Allocation> allocs;

  PlanState state() const {
    return PlanState({.node =
                          [this](const std::string& id) {
                            auto at = nodes.find(id);
                            return at == nodes.end() ? std::nullopt : std::optional(at->second);
                          },
                      .allocs =
                          [this](const std::string& id) {
                            std::vector<v1::Allocation> there;
                            for (const auto& alloc : allocs) {
                              if (alloc.node_id() == id) there.push_back(alloc);
                            }
                            return there;
                          },
                      .alloc =
                          [this](const std::string& id) {
                            for (const auto& alloc : allocs) {
                              if (alloc.id() == id) return std::optional(alloc);
                            }
                            return std::optional<v1::Allocation>();
                          }});
  }
};

TEST(CheckPlan, DropsOnlyNodesThatCannotTakeTheirPart) {
  World world;
  world.nodes[id_of("n1")] = make_node("n1", 1000);
  world.nodes[id_of("n2")] = make_node("n2", 1000);
  world.nodes[id_of("n2")].set_status(v1::NODE_STATUS_DOWN);
  const v1::Job job = make_job("service", 3);
  Plan plan;
  plan.placed = {make_alloc(job, 0, "n1"), make_alloc(job, 1, "n2"), make_alloc(job, 2, "gone")};
  PlanState state = world.state();
  const CheckedPlan checked = check_plan(plan, state);
  EXPECT_FALSE(checked.full());
  EXPECT_EQ(checked.refused.size(), 2U);
  ASSERT_EQ(checked.plan.placed.size(), 1U);
  EXPECT_EQ(checked.plan.placed[0].node_id(), id_of("n1"));
}

TEST(CheckPlan, CountsWhatTheSamePlanStopsAndWhatEarlierPlansTook) {
  World world;
  world.nodes[id_of("n1")] = make_node("n1", 1000);
  const v1::Job job = make_job("service", 9);
  world.allocs = {make_alloc(job, 0, "n1"), make_alloc(job, 1, "n1")};
  PlanState state = world.state();
  Plan full;
  full.placed = {make_alloc(job, 2, "n1")};
  EXPECT_FALSE(check_plan(full, state).full());

  Plan exchange = full;
  v1::AllocationDelta& change = exchange.changed[id_of("n1")].emplace_back();
  change.set_id(world.allocs[0].id());
  change.set_desired_status(v1::DESIRED_STATUS_STOP);
  EXPECT_TRUE(check_plan(exchange, state).full());
  EXPECT_FALSE(check_plan(exchange, state).full());  // its room was given away by the first
}

TEST(CheckPlan, RefusesPortsTakenMeanwhile) {
  World world;
  world.nodes[id_of("n1")] = make_node("n1", 4000);
  const v1::Job job = make_job("service", 2);
  v1::Allocation first = make_alloc(job, 0, "n1");
  first.mutable_allocated_resources()->mutable_shared()->add_ports()->set_value(8080);
  v1::Allocation second = first;
  second.set_id(id_of("second"));
  world.allocs = {first};
  Plan plan;
  plan.placed = {second};
  PlanState state = world.state();
  const CheckedPlan checked = check_plan(plan, state);
  ASSERT_EQ(checked.refused.size(), 1U);
  EXPECT_EQ(checked.refused[0].reason, "reserved alloc port collision: port 8080 of 10.0.0.1");
}

TEST(CheckPlan, RefusesAllOfAPlanThatIsAllOrNothing) {
  World world;
  world.nodes[id_of("n1")] = make_node("n1", 1000);
  const v1::Job job = make_job("service", 2);
  Plan plan;
  plan.all_at_once = true;
  plan.placed = {make_alloc(job, 0, "n1"), make_alloc(job, 1, "gone")};
  PlanState state = world.state();
  EXPECT_TRUE(check_plan(plan, state).plan.empty());
}

}  // namespace
}  // namespace drover::scheduler
