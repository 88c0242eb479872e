// Whole decisions, on a board that takes what fits: versions of canaries, preferred nodes, system jobs.
#include <gtest/gtest.h>

#include "deciding/decide.h"
#include "deciding/generic_scheduler.h"
#include "deciding/system_scheduler.h"
#include "descriptions.h"
#include "drover/model/allocation.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/trial.pb.h"
#include "placing/board.h"
#include "testing/reconcile_world.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::kNow;
using testing::make_job;
using testing::make_node;
using World = testing::ReconcileWorld;
using Health = World::Health;

// Decides for a world whose nodes are those that its allocations name, and some more.
struct Decider {
  World world;
  std::vector<v1::Node> more;
  std::vector<v1::Job> others;  // that may be preempted
  int64_t wait_until = 0;       // of the evaluation

  Scheduler::Decision run(const Scheduler& scheduler) {
    v1::Evaluation eval;
    eval.set_id(id_of("eval"));
    eval.set_namespace_("default");
    eval.set_job_id("web");
    eval.set_priority(50);
    eval.set_wait_until(wait_until);
    Cluster cluster;
    std::set<std::string> known;
    const auto add = [&](v1::Node node) {
      if (!known.insert(node.id()).second) return;
      if (world.down.contains(node.id())) node.set_status(v1::NODE_STATUS_DOWN);
      if (world.away.contains(node.id())) node.set_status(v1::NODE_STATUS_DISCONNECTED);
      cluster.put_node(std::make_shared<const v1::Node>(std::move(node)));
    };
    for (const v1::Node& node : more) add(node);
    for (const v1::Allocation& alloc : world.allocs) {
      add(make_node(alloc.node_id().substr(0, alloc.node_id().find('.'))));
    }
    for (const v1::Allocation& alloc : world.allocs) {
      if (!client_terminal(alloc)) cluster.add(alloc);
    }
    std::vector<v1::Allocation> own;
    for (const v1::Allocation& alloc : world.allocs) {
      if (alloc.job_id() == world.job.id()) own.push_back(alloc);
    }
    OtherJobs jobs;
    if (!others.empty()) {
      jobs.job = [this](const std::string&, const std::string& id, uint64_t) -> const v1::Job* {
        const auto at = std::ranges::find(others, id, &v1::Job::id);
        return at == others.end() ? nullptr : &*at;
      };
    }
    ClusterBoard board(std::move(cluster), own, eval.id(), {.preempts = !others.empty()}, std::move(jobs));
    const std::vector<v1::Deployment> newest_first(world.deployments.rbegin(), world.deployments.rend());
    uint64_t ids = 0;
    return scheduler.decide({.eval = eval,
                             .job = &world.job,
                             .allocs = own,
                             .version = [&](uint64_t version) -> const v1::Job* {
                               if (version == world.job.version()) return &world.job;
                               auto at = world.versions.find(version);
                               return at == world.versions.end() ? nullptr : &at->second;
                             },
                             .deployments = &newest_first,
                             .config = default_configuration(),
                             .now = kNow,
                             .new_id = [&] { return id_of("new" + std::to_string(++ids)); }},
                            board);
  }
  Scheduler::Decision service() { return run(GenericScheduler(/*is_batch=*/false)); }
  Scheduler::Decision system() { return run(SystemScheduler(/*is_sysbatch=*/false)); }
};

TEST(Decisions, PlacedAllocationsBelongToTheDeploymentMadeWithThem) {
  Decider decider;
  decider.world.job = make_job("service", 2);
  decider.world.update(1);
  decider.more = {make_node("n1")};
  const auto decision = decider.service();
  ASSERT_EQ(decision.plan.deployments.size(), 1U);
  ASSERT_EQ(decision.plan.placed.size(), 2U);
  for (const v1::Allocation& alloc : decision.plan.placed) {
    EXPECT_EQ(alloc.deployment_id(), decision.plan.deployments[0].id());
    EXPECT_FALSE(alloc.has_deployment_status());
  }
}

TEST(Decisions, CanariesSaySo) {
  Decider decider;
  World& world = decider.world;
  world.job = make_job("service", 2);
  world.update(1).set_canary(1);
  world.run(2);
  world.next_destructive_version();
  const auto decision = decider.service();
  ASSERT_EQ(decision.plan.placed.size(), 1U);
  EXPECT_TRUE(decision.plan.placed[0].deployment_status().canary());
  EXPECT_EQ(decision.plan.placed[0].job_version(), 1U);
  EXPECT_TRUE(decision.plan.changed.empty());
}

TEST(Decisions, WhileCanariesAreJudgedALostOneKeepsItsVersion) {
  for (const bool promoted_before : {true, false}) {
    Decider decider;
    World& world = decider.world;
    world.job = make_job("service", 3);
    if (promoted_before) {
      world.update(1).set_canary(1);
      v1::DeploymentState& before = world.deploy(v1::DEPLOYMENT_STATUS_SUCCESSFUL, 3);
      before.set_promoted(true);
    }
    world.run(3);
    world.next_destructive_version();
    world.update(1).set_canary(1);
    world.deploy(v1::DEPLOYMENT_STATUS_RUNNING, 3).set_desired_canaries(1);
    world.add_deployed(0, Health::healthy, /*canary=*/true);
    world.down.insert(id_of("n2"));
    const auto decision = decider.service();
    ASSERT_EQ(decision.plan.placed.size(), 1U);
    EXPECT_EQ(decision.plan.placed[0].job_version(), 0U);
    EXPECT_EQ(decision.plan.placed[0].deployment_id(), promoted_before ? world.deployments[0].id() : "");
  }
}

TEST(Decisions, ASuccessfulDeploymentIsSaidToBeSo) {
  Decider decider;
  World& world = decider.world;
  world.update(1);
  world.deploy(v1::DEPLOYMENT_STATUS_RUNNING, 1).set_healthy_allocs(1);
  world.add_deployed(0, Health::healthy);
  const auto decision = decider.service();
  ASSERT_EQ(decision.plan.deployment_updates.size(), 1U);
  EXPECT_EQ(decision.plan.deployment_updates[0].status(), v1::DEPLOYMENT_STATUS_SUCCESSFUL);
}

TEST(Decisions, OneOutOfReachIsMarkedReplacedAndLookedAtAgain) {
  Decider decider;
  World& world = decider.world;
  world.group().set_max_client_disconnect(60 * testing::kSecond);
  world.run(1);
  world.away.insert(id_of("n0"));
  decider.more = {make_node("n1")};
  const auto decision = decider.service();
  ASSERT_EQ(decision.plan.evaluations.size(), 1U);
  EXPECT_EQ(decision.plan.evaluations[0].triggered_by(), "max-disconnect-timeout");
  EXPECT_EQ(decision.plan.evaluations[0].wait_until(), kNow + 60 * testing::kSecond);
  const auto& deltas = decision.plan.changed.at(id_of("n0"));
  ASSERT_EQ(deltas.size(), 2U);
  EXPECT_EQ(deltas[0].client_status(), v1::CLIENT_STATUS_UNKNOWN);
  EXPECT_EQ(deltas[0].client_description(), kUnknown);
  EXPECT_EQ(deltas[1].followup_eval_id(), decision.plan.evaluations[0].id());
  ASSERT_EQ(decision.plan.placed.size(), 1U);
  EXPECT_EQ(decision.plan.placed[0].previous_allocation(), world.allocs[0].id());
}

TEST(Decisions, WhatIsTriedAgainByTheClockDoesNotWaitForRoom) {
  for (const bool by_the_clock : {true, false}) {
    Decider decider;
    World& world = decider.world;
    world.job = make_job("service", 2);
    world.run(1);
    world.allocs[0].set_client_status(v1::CLIENT_STATUS_FAILED);
    world.allocs[0].set_modify_time(kNow);
    decider.more.clear();
    world.down.insert(id_of("n0"));  // no room for the second
    decider.wait_until = by_the_clock ? 0 : kNow;
    const auto decision = decider.service();
    ASSERT_EQ(decision.failed.size(), 1U);
    EXPECT_EQ(decision.waits.empty(), by_the_clock);
  }
}

TEST(Decisions, AfterOneFailureOfAGroupTheOthersAreOnlyCounted) {
  Decider decider;
  decider.world.job = make_job("service", 10);
  decider.more = {make_node("small", 100)};
  const auto decision = decider.service();
  EXPECT_EQ(decision.queued.at("app"), 10);
  const v1::AllocMetric& metric = decision.failed.at("app");
  EXPECT_EQ(metric.nodes_exhausted(), 1);
  EXPECT_EQ(metric.coalesced_failures(), 9);
  EXPECT_EQ(metric.resources_exhausted().at("main").cpu(), 5000);
}

v1::Constraint constraint_of(const char* left, const char* operand, const char* right) {
  v1::Constraint constraint;
  constraint.set_l_target(left);
  constraint.set_operand(operand);
  constraint.set_r_target(right);
  return constraint;
}

TEST(Decisions, G9APropertyThatMayBeUsedMoreOftenLeavesWhatRunsInPlace) {
  Decider decider;
  World& world = decider.world;
  world.job = make_job("service", 4);
  v1::Constraint& constraint = *world.job.add_constraints() =
      constraint_of("${node.datacenter}", "distinct_property", "2");
  decider.more = {make_node("n0"), make_node("n1"), make_node("n2"), make_node("n3")};
  EXPECT_EQ(decider.service().plan.placed.size(), 2U);
  world.run(2);
  world.next_version();
  world.job.set_job_modify_index(11);
  constraint.set_r_target("4");
  const auto decision = decider.service();
  EXPECT_EQ(decision.desired.at("app").in_place_update(), 2U);
  EXPECT_EQ(decision.plan.placed.size(), 2U);
  EXPECT_TRUE(decision.failed.empty());
}

TEST(Decisions, G13OneGroupThatFindsNoPlaceDoesNotStopTheOther) {
  Decider decider;
  decider.more = {make_node("n1")};
  v1::Job& job = decider.world.job;
  *job.add_task_groups() = job.task_groups(0);
  job.mutable_task_groups(1)->set_name("too big");
  job.mutable_task_groups(1)->mutable_tasks(0)->mutable_resources()->set_cpu(100000);
  const auto decision = decider.service();
  ASSERT_EQ(decision.plan.placed.size(), 1U);
  EXPECT_EQ(decision.plan.placed[0].task_group(), "app");
  ASSERT_EQ(decision.failed.size(), 1U);
  EXPECT_TRUE(decision.failed.contains("too big"));
}

// Two jobs that hold n1, each with allocations of 500 MHz and that priority.
void hold(Decider& decider, const char* id, int32_t priority, int count, const char* node) {
  v1::Job job = make_job("service", count);
  job.set_id(id);
  job.set_priority(priority);
  for (int i = 0; i < count; ++i) {
    v1::Allocation alloc = testing::make_alloc(job, i, node);
    alloc.set_id(id_of(std::string(id) + std::to_string(i)));
    decider.world.allocs.push_back(alloc);
  }
  decider.others.push_back(std::move(job));
}

TEST(Decisions, P9TwoEvictionsOfOneJobAreOneEvaluationOfIt) {
  Decider decider;
  decider.world.job = make_job("service", 1);
  decider.world.job.set_priority(90);
  decider.world.group().mutable_tasks(0)->mutable_resources()->set_cpu(1000);
  decider.more = {make_node("n1", 1000)};
  hold(decider, "low", 20, 2, "n1");
  const auto decision = decider.service();
  ASSERT_EQ(decision.plan.placed.size(), 1U);
  EXPECT_EQ(decision.plan.placed[0].preempted_allocations_size(), 2);
  ASSERT_EQ(decision.plan.evaluations.size(), 1U);
  EXPECT_EQ(decision.plan.evaluations[0].triggered_by(), "preemption");
  EXPECT_EQ(decision.plan.evaluations[0].job_id(), "low");
  EXPECT_EQ(decision.desired.at("app").preemptions(), 2U);
  for (const v1::AllocationDelta& delta : decision.plan.changed.at(id_of("n1"))) {
    EXPECT_EQ(delta.desired_status(), v1::DESIRED_STATUS_EVICT);
    EXPECT_EQ(delta.preempted_by_allocation(), decision.plan.placed[0].id());
  }
}

TEST(Decisions, Y10ASystemJobEvictsInItsOnlyAttempt) {
  Decider decider;
  decider.world.job = make_job("system");
  decider.world.job.set_priority(100);
  decider.more = {make_node("n1", 500), make_node("n2", 500)};
  hold(decider, "service", 50, 1, "n1");
  const auto decision = decider.system();
  EXPECT_EQ(decision.plan.placed.size(), 2U);
  ASSERT_TRUE(decision.plan.changed.contains(id_of("n1")));
  EXPECT_EQ(decision.plan.changed.at(id_of("n1"))[0].desired_status(), v1::DESIRED_STATUS_EVICT);
  decider.others.clear();  // nothing is preempted
  const auto refused = decider.system();
  EXPECT_EQ(refused.plan.placed.size(), 1U);
  EXPECT_EQ(refused.failed.at("app").dimension_exhausted().at("cpu"), 1);
}

// S9: counters of one version must not count for another.
TEST(Decisions, S9AnAllocationOfAnEarlierVersionIsSpreadByThatVersionsBlocks) {
  Decider decider;
  World& world = decider.world;
  world.job = make_job("service", 3);
  world.run(3);
  world.next_destructive_version();  // the first knows of no spread
  world.group().add_spreads()->set_attribute("${node.datacenter}");
  world.update(1).set_canary(1);
  world.deploy(v1::DEPLOYMENT_STATUS_RUNNING, 3).set_desired_canaries(1);
  world.down.insert(id_of("n2"));
  decider.more = {make_node("free")};
  const auto decision = decider.service();
  ASSERT_EQ(decision.plan.placed.size(), 2U) << "one canary, and the lost one in its own version";
  for (const v1::Allocation& alloc : decision.plan.placed) {
    ASSERT_GT(alloc.metrics().score_meta_data_size(), 0);
    const bool is_spread = alloc.metrics().score_meta_data(0).scores().contains("allocation-spread");
    EXPECT_EQ(is_spread, alloc.job_version() == 1U) << alloc.name();
  }
}

TEST(Decisions, ASystemJobTakesEveryNodeItSuits) {
  Decider decider;
  decider.world.job = make_job("system");
  decider.more = {make_node("n1"), make_node("n2"), make_node("n3"), make_node("small", 100)};
  v1::Constraint& constraint = *decider.world.job.add_constraints();
  constraint.set_l_target("${node.unique.name}");
  constraint.set_operand("!=");
  constraint.set_r_target("n3");
  const auto decision = decider.system();
  EXPECT_EQ(decision.plan.placed.size(), 2U);
  EXPECT_EQ(decision.queued.at("app"), 1) << "a node that it does not want is not waited for";
  ASSERT_EQ(decision.failed.size(), 1U);
  EXPECT_EQ(decision.failed.at("app").dimension_exhausted().at("cpu"), 1);
  ASSERT_EQ(decision.waits.size(), 1U);
  EXPECT_EQ(decision.waits[0].node_id, id_of("small"));
}

TEST(Decisions, ASystemJobThatSuitsNoNodeSaysSoOnce) {
  Decider decider;
  decider.world.job = make_job("system");
  decider.more = {make_node("n1"), make_node("n2")};
  v1::Constraint& constraint = *decider.world.job.add_constraints();
  constraint.set_l_target("${attr.kernel.name}");
  constraint.set_operand("=");
  constraint.set_r_target("plan9");
  const auto decision = decider.system();
  ASSERT_EQ(decision.failed.size(), 1U);
  const v1::AllocMetric& metric = decision.failed.at("app");
  EXPECT_EQ(metric.nodes_filtered(), 2);
  EXPECT_EQ(metric.constraint_filtered().at("${attr.kernel.name} = plan9"), 2);
  EXPECT_EQ(metric.coalesced_failures(), 0);
  EXPECT_EQ(decision.queued.at("app"), 0);
  EXPECT_TRUE(decision.waits.empty());
}

}  // namespace
}  // namespace drover::scheduler
