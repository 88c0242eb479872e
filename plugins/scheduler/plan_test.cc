#include "plan.h"

#include <gtest/gtest.h>

#include <functional>
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

  Columns state() const {
    static const Tables tables;
    Columns columns(tables);
    for (const auto& [id, node] : nodes) columns.put_node(node);
    for (const v1::Allocation& alloc : allocs) columns.put_alloc(alloc);
    return columns;
  }
};

// Each plan as an entry of its own.
CheckedPlan check(const Plan& plan, Columns& state) { return check_plan(WeighedPlan(plan), state, state.open()); }

TEST(LeaveFirst, WhatIsReplacedStaysUntilItsSuccessorIsPlaced) {
  Plan plan;
  for (int i = 0; i < 5; ++i) {
    v1::Allocation& alloc = plan.placed.emplace_back();
    alloc.set_id(id_of("new" + std::to_string(i)));
    alloc.set_node_id(id_of("n1"));
    alloc.set_previous_allocation(id_of("old" + std::to_string(i)));
    v1::AllocationDelta& delta = plan.changed[id_of("n" + std::to_string(i))].emplace_back();
    delta.set_id(alloc.previous_allocation());
    delta.set_desired_status(v1::DESIRED_STATUS_STOP);
  }
  plan.changed[id_of("n0")].emplace_back().set_id(id_of("other"));
  (*plan.deployments.emplace_back().mutable_task_groups())["app"].add_placed_canaries(id_of("new4"));
  Plan whole = plan;
  EXPECT_FALSE(leave_first(whole, 5));
  EXPECT_TRUE(leave_first(plan, 2));
  EXPECT_EQ(plan.placed.size(), 2U);
  EXPECT_EQ(plan.changed.size(), 2U);
  EXPECT_EQ(plan.changed.at(id_of("n0")).size(), 2U);
  EXPECT_TRUE(plan.deployments[0].task_groups().at("app").placed_canaries().empty());
  whole.all_at_once = true;
  EXPECT_FALSE(leave_first(whole, 2)) << "all or nothing";
}

TEST(CheckPlan, DropsOnlyNodesThatCannotTakeTheirPart) {
  World world;
  world.nodes[id_of("n1")] = make_node("n1", 1000);
  world.nodes[id_of("n2")] = make_node("n2", 1000);
  world.nodes[id_of("n2")].set_status(v1::NODE_STATUS_DOWN);
  const v1::Job job = make_job("service", 3);
  Plan plan;
  plan.placed = {make_alloc(job, 0, "n1"), make_alloc(job, 1, "n2"), make_alloc(job, 2, "gone")};
  Columns state = world.state();
  const CheckedPlan checked = check(plan, state);
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
  Columns state = world.state();
  Plan full;
  full.placed = {make_alloc(job, 2, "n1")};
  EXPECT_FALSE(check(full, state).full());

  Plan exchange = full;
  v1::AllocationDelta& change = exchange.changed[id_of("n1")].emplace_back();
  change.set_id(world.allocs[0].id());
  change.set_desired_status(v1::DESIRED_STATUS_STOP);
  EXPECT_TRUE(check(exchange, state).full());
  EXPECT_FALSE(check(exchange, state).full());  // its room was given away by the first
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
  Columns state = world.state();
  const CheckedPlan checked = check(plan, state);
  ASSERT_EQ(checked.refused.size(), 1U);
  EXPECT_EQ(checked.refused[0].reason, "reserved alloc port collision: port 8080 of 10.0.0.1");
}

v1::AllocationDelta delta_of(const v1::Allocation& alloc, v1::DesiredStatus desired,
                             v1::ClientStatus client = v1::CLIENT_STATUS_UNSPECIFIED) {
  v1::AllocationDelta delta;
  delta.set_id(alloc.id());
  delta.set_desired_status(desired);
  delta.set_client_status(client);
  return delta;
}
v1::AllocationDelta in_place(const v1::Allocation& alloc) {
  v1::AllocationDelta delta;
  delta.set_id(alloc.id());
  delta.set_job_version(1);
  return delta;
}

TEST(CheckPlan, SaysWhyANodeRefuses) {
  const v1::Job job = make_job("service", 9);
  const v1::Allocation there = make_alloc(job, 0, "n1"), fresh = make_alloc(job, 1, "n1");
  v1::Allocation with_port = fresh, with_reserved = fresh, with_core = fresh, with_wrong_core = fresh;
  with_port.mutable_allocated_resources()->mutable_shared()->add_ports()->set_value(8080);
  with_reserved.mutable_allocated_resources()->mutable_shared()->add_ports()->set_value(22);
  (*with_core.mutable_allocated_resources()->mutable_tasks())["main"].mutable_cpu()->add_reserved_cores(1);
  (*with_wrong_core.mutable_allocated_resources()->mutable_tasks())["main"].mutable_cpu()->add_reserved_cores(7);
  v1::Allocation with_device = fresh;
  (*with_device.mutable_allocated_resources()->mutable_tasks())["main"].add_devices()->add_device_ids("none");
  struct Case {
    const char* name;
    std::function<void(v1::Node&)> node;
    std::vector<v1::Allocation> placed;
    std::vector<v1::AllocationDelta> changed;
    const char* reason;
  };
  const auto as_it_is = [](v1::Node&) {};
  const auto status = [](v1::NodeStatus to) { return [to](v1::Node& node) { node.set_status(to); }; };
  const auto ineligible = [](v1::Node& node) { node.set_scheduling_eligibility("ineligible"); };
  const v1::AllocationDelta unknown = delta_of(there, v1::DESIRED_STATUS_UNSPECIFIED, v1::CLIENT_STATUS_UNKNOWN);
  const v1::AllocationDelta stop = delta_of(there, v1::DESIRED_STATUS_STOP);
  const Case cases[] = {
      {"L1 missing", [](v1::Node& node) { node.set_id("gone"); }, {fresh}, {}, "node does not exist"},
      {"L1 down", status(v1::NODE_STATUS_DOWN), {fresh}, {}, "node is not ready for placements"},
      {"L1 initializing", status(v1::NODE_STATUS_INITIALIZING), {fresh}, {}, "node is not ready for placements"},
      {"L1 disconnected",
       status(v1::NODE_STATUS_DISCONNECTED),
       {fresh},
       {},
       "node is disconnected and contains invalid updates"},
      {"L1 ineligible", ineligible, {fresh}, {}, "node is not eligible"},
      {"L1 full",
       [](v1::Node& node) { node.mutable_node_resources()->mutable_cpu()->set_cpu_shares(999); },
       {fresh},
       {},
       "cpu"},
      {"L1 memory",
       [](v1::Node& node) { node.mutable_node_resources()->mutable_memory()->set_memory_mb(300); },
       {fresh},
       {},
       "memory"},
      {"L1 disk",
       [](v1::Node& node) { node.mutable_node_resources()->mutable_disk()->set_disk_mb(300); },
       {fresh},
       {},
       "disk"},
      {"L1 port", as_it_is, {with_port}, {}, "reserved alloc port collision: port 8080 of 10.0.0.1"},
      {"L1 port of the node", as_it_is, {with_reserved}, {}, "reserved node port collision: port 22 of 10.0.0.1"},
      {"L1 core held twice", as_it_is, {with_core}, {}, "cores"},
      {"L1 core that is none", as_it_is, {with_wrong_core}, {}, "cores"},
      {"L1 device", as_it_is, {with_device}, {}, "device oversubscribed"},
      {"L2 only stops on a down node", status(v1::NODE_STATUS_DOWN), {}, {stop}, ""},
      {"L2 only in place on an ineligible node", ineligible, {}, {in_place(there)}, ""},
      {"in place on a down node",
       status(v1::NODE_STATUS_DOWN),
       {},
       {in_place(there)},
       "node is not ready for placements"},
      {"L3 unknown on a disconnected node", status(v1::NODE_STATUS_DISCONNECTED), {}, {unknown}, ""},
      {"unknown on a down node", status(v1::NODE_STATUS_DOWN), {}, {unknown}, ""},
      {"a placement beside unknown on a down node",
       status(v1::NODE_STATUS_DOWN),
       {fresh},
       {unknown},
       "node is not ready for placements"},
      {"L3 a placement among them",
       status(v1::NODE_STATUS_DISCONNECTED),
       {fresh},
       {unknown},
       "node is disconnected and contains invalid updates"},
      {"in place on a disconnected node",
       status(v1::NODE_STATUS_DISCONNECTED),
       {},
       {in_place(there)},
       "node is disconnected and contains invalid updates"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    v1::Node node = make_node("n1");
    node.mutable_reserved_resources()->mutable_networks()->set_reserved_host_ports("22");
    node.mutable_node_resources()->mutable_cpu()->add_reservable_cpu_cores(1);
    c.node(node);
    world.nodes[node.id()] = node;
    world.allocs = {there};
    world.allocs[0].mutable_allocated_resources()->mutable_shared()->add_ports()->set_value(8080);
    (*world.allocs[0].mutable_allocated_resources()->mutable_tasks())["main"].mutable_cpu()->add_reserved_cores(1);
    Plan plan;
    plan.placed = c.placed;
    if (!c.changed.empty()) plan.changed[id_of("n1")] = c.changed;
    Columns state = world.state();
    const CheckedPlan checked = check(plan, state);
    EXPECT_EQ(checked.full() ? "" : checked.refused[0].reason, c.reason);
  }
}

TEST(CheckPlan, L4WhatIsToBeEvictedAndHasEndedIsLeftOut) {
  World world;
  world.nodes[id_of("n1")] = make_node("n1", 1000);
  const v1::Job job = make_job("service", 9);
  world.allocs = {make_alloc(job, 0, "n1"), make_alloc(job, 1, "n1", v1::CLIENT_STATUS_COMPLETE)};
  Plan plan;
  plan.placed = {make_alloc(job, 2, "n1"), make_alloc(job, 3, "n1")};
  for (const v1::Allocation& alloc : world.allocs) {
    plan.changed[id_of("n1")].push_back(delta_of(alloc, v1::DESIRED_STATUS_EVICT));
  }
  Columns state = world.state();
  const CheckedPlan checked = check(plan, state);
  EXPECT_TRUE(checked.full());
  ASSERT_EQ(checked.plan.changed.at(id_of("n1")).size(), 1U);
  EXPECT_EQ(checked.plan.changed.at(id_of("n1"))[0].id(), world.allocs[0].id());
  EXPECT_EQ(checked.plan.placed.size(), 2U);
}

TEST(CheckPlan, L5ACanaryWithoutAPlaceLeavesItsDeployment) {
  World world;
  world.nodes[id_of("n1")] = make_node("n1");
  const v1::Job job = make_job("service", 9);
  Plan plan;
  plan.placed = {make_alloc(job, 0, "n1"), make_alloc(job, 1, "gone")};
  v1::DeploymentState& group = (*plan.deployments.emplace_back().mutable_task_groups())["app"];
  for (const v1::Allocation& alloc : plan.placed) group.add_placed_canaries(alloc.id());
  Columns state = world.state();
  const CheckedPlan checked = check(plan, state);
  const v1::DeploymentState& after = checked.plan.deployments[0].task_groups().at("app");
  ASSERT_EQ(after.placed_canaries_size(), 1);
  EXPECT_EQ(after.placed_canaries(0), plan.placed[0].id());
}

TEST(CheckPlan, AnInPlaceUpdateThatGrowsMustFit) {
  World world;
  world.nodes[id_of("n1")] = make_node("n1", 1000);
  const v1::Job job = make_job("service", 9);
  world.allocs = {make_alloc(job, 0, "n1")};
  for (const auto& [cpu, fits] : {std::pair(1000, true), {1001, false}}) {
    Plan plan;
    v1::AllocationDelta& delta = plan.changed[id_of("n1")].emplace_back(in_place(world.allocs[0]));
    *delta.mutable_allocated_resources() = world.allocs[0].allocated_resources();
    (*delta.mutable_allocated_resources()->mutable_tasks())["main"].mutable_cpu()->set_cpu_shares(cpu);
    Columns state = world.state();
    EXPECT_EQ(check(plan, state).full(), fits) << cpu;
  }
}

TEST(CheckPlan, RefusesAllOfAPlanThatIsAllOrNothing) {
  World world;
  world.nodes[id_of("n1")] = make_node("n1", 1000);
  const v1::Job job = make_job("service", 2);
  Plan plan;
  plan.all_at_once = true;
  plan.placed = {make_alloc(job, 0, "n1"), make_alloc(job, 1, "gone")};
  Columns state = world.state();
  EXPECT_TRUE(check(plan, state).plan.empty());
}

}  // namespace
}  // namespace drover::scheduler
