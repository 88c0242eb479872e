#include "place.h"

#include <gtest/gtest.h>

#include <random>

#include "deciding/decide.h"
#include "deciding/descriptions.h"
#include "deciding/generic_scheduler.h"
#include "drover/model/allocation.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/trial.pb.h"
#include "placing/board.h"
#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

Cluster cluster_of(const std::vector<v1::Node>& nodes) {
  Cluster cluster;
  for (const v1::Node& node : nodes) cluster.put_node(std::make_shared<const v1::Node>(node));
  return cluster;
}

TEST(Place, FillsTheFullestNodeAndSpreadsAJob) {
  Cluster cluster = cluster_of({make_node("big", 8000, 8192), make_node("small", 2000, 2048)});
  const v1::Job job = make_job("service", 2);
  std::vector<Neighbour> neighbours;
  Surroundings around{cluster, neighbours, "seed"};
  Placer placer(around, job, job.task_groups(0));
  const auto first = placer.place("a1", {});
  const auto second = placer.place("a2", {});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->node->name(), "small");
  EXPECT_EQ(second->node->name(), "big");
}

TEST(Place, AvoidsWhereItFailed) {
  Cluster cluster = cluster_of({make_node("big", 8000, 8192), make_node("small", 2000, 2048)});
  const v1::Job job = make_job();
  std::vector<Neighbour> neighbours;
  Surroundings around{cluster, neighbours, "seed"};
  Placer placer(around, job, job.task_groups(0));
  const auto choice = placer.place("a1", {.penalised = {id_of("small")}});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->node->name(), "big");
}

TEST(Place, SaysWhyNoNodeWillDo) {
  v1::Node other = make_node("n1");
  other.set_node_class("arm");
  (*other.mutable_attributes())["kernel.name"] = "windows";
  v1::Node draining = make_node("n3");
  draining.set_drain(true);
  Cluster cluster = cluster_of({other, make_node("n2", 100), draining});
  v1::Job job = make_job();
  v1::Constraint& constraint = *job.add_constraints();
  constraint.set_l_target("${attr.kernel.name}");
  constraint.set_operand("=");
  constraint.set_r_target("linux");
  std::vector<Neighbour> neighbours;
  Surroundings around{cluster, neighbours, "seed"};
  Placer placer(around, job, job.task_groups(0));

  EXPECT_FALSE(placer.place("a1", {}));
  const v1::AllocMetric& metric = placer.failure();
  EXPECT_EQ(metric.nodes_evaluated(), 2);
  EXPECT_EQ(metric.nodes_in_pool(), 3);
  EXPECT_EQ(metric.nodes_filtered(), 1);
  EXPECT_EQ(metric.nodes_available().at("dc1"), 2);
  EXPECT_EQ(metric.class_filtered().at("arm"), 1);
  EXPECT_EQ(metric.constraint_filtered().at("${attr.kernel.name} = linux"), 1);
  EXPECT_EQ(metric.nodes_exhausted(), 1);
  EXPECT_EQ(metric.dimension_exhausted().at("cpu"), 1);
}

TEST(Place, ShowsTheFiveBestScores) {
  std::vector<v1::Node> nodes;
  for (int i = 0; i < 7; ++i) nodes.push_back(make_node("n" + std::to_string(i), 1000 + 500 * i));
  Cluster cluster = cluster_of(nodes);
  const v1::Job job = make_job();
  std::vector<Neighbour> neighbours;
  Surroundings around{cluster, neighbours, "seed"};
  const auto choice = Placer(around, job, job.task_groups(0)).place("a1", {});
  ASSERT_TRUE(choice);
  ASSERT_EQ(choice->metric.score_meta_data_size(), 5);
  EXPECT_EQ(choice->metric.score_meta_data(0).node_id(), choice->node->id());
  EXPECT_GT(choice->metric.score_meta_data(0).norm_score(), choice->metric.score_meta_data(4).norm_score());
  EXPECT_TRUE(choice->metric.score_meta_data(0).scores().contains("binpack"));
}

struct World {
  v1::Job job = make_job();
  std::vector<v1::Node> nodes;
  std::vector<v1::Allocation> allocs;
  uint64_t ids = 0;

  Scheduler::Decision decide() {
    v1::Evaluation eval;
    eval.set_id(id_of("eval"));
    eval.set_priority(50);
    Cluster cluster = cluster_of(nodes);
    for (const v1::Allocation& alloc : allocs) {
      if (!client_terminal(alloc)) cluster.add(alloc);
    }
    ClusterBoard board(std::move(cluster), allocs, eval.id());
    return GenericScheduler(job.type() == "batch")
        .decide({.eval = eval,
                 .job = &job,
                 .allocs = allocs,
                 .version = [](uint64_t) { return nullptr; },
                 .deployments = nullptr,
                 .config = default_configuration(),
                 .now = 1'000'000'000'000,
                 .new_id = [this] { return id_of("id" + std::to_string(++ids)); }},
                board);
  }
  // Applies the plan as the log would.
  void commit(const Scheduler::Plan& plan) {
    for (const auto& [node, deltas] : plan.changed) {
      for (const v1::AllocationDelta& delta : deltas) {
        v1::Allocation& alloc = *std::ranges::find(allocs, delta.id(), &v1::Allocation::id);
        if (delta.desired_status()) alloc.set_desired_status(delta.desired_status());
        if (delta.client_status()) alloc.set_client_status(delta.client_status());
        if (delta.has_job_version()) alloc.set_job_version(delta.job_version());
      }
    }
    for (const v1::Allocation& alloc : plan.placed) allocs.push_back(alloc);
  }
};

TEST(Evaluate, QueuesWhatFindsNoRoom) {
  World world;
  world.job = make_job("service", 5);
  world.nodes = {make_node("n1", 1000), make_node("n2", 500)};
  const auto decision = world.decide();
  EXPECT_EQ(decision.plan.placed.size(), 3U);
  EXPECT_EQ(decision.queued.at("app"), 2);
  EXPECT_EQ(decision.failed.at("app").coalesced_failures(), 1);
  EXPECT_EQ(decision.failed.at("app").dimension_exhausted().at("cpu"), 2);
  const v1::Resources& missing = decision.failed.at("app").resources_exhausted().at("main");
  EXPECT_EQ(missing.cpu(), 1000);  // of both that found no room
  EXPECT_EQ(missing.memory_mb(), 0);
  ASSERT_EQ(decision.waits.size(), 1U);
  EXPECT_FALSE(decision.waits[0].escaped);
}

TEST(Evaluate, KeepsTheOldAllocationWhenItsUpdateFindsNoRoom) {
  World world;
  world.nodes = {make_node("n1", 600)};
  world.allocs = {make_alloc(world.job, 0, "n1")};
  world.job.set_version(1);
  world.job.mutable_task_groups(0)->mutable_tasks(0)->mutable_resources()->set_cpu(700);
  const auto decision = world.decide();
  EXPECT_TRUE(decision.plan.changed.empty());
  EXPECT_EQ(decision.queued.at("app"), 1);

  world.job.mutable_task_groups(0)->mutable_tasks(0)->mutable_resources()->set_cpu(600);
  const auto fitting = world.decide();
  ASSERT_EQ(fitting.plan.placed.size(), 1U);
  EXPECT_EQ(fitting.plan.placed[0].previous_allocation(), world.allocs[0].id());
  EXPECT_EQ(fitting.plan.changed.at(id_of("n1"))[0].desired_description(), kUpdating);
}

TEST(Evaluate, GroupsFailuresThatAreDueSoonAfterEachOther) {
  World world;
  world.job = make_job("service", 3);
  world.nodes = {make_node("n1")};
  const int64_t now = 1'000'000'000'000;
  for (int i = 0; i < 3; ++i) {
    v1::Allocation alloc = make_alloc(world.job, i, "n1", v1::CLIENT_STATUS_FAILED);
    alloc.set_modify_time(now - int64_t{i == 2 ? 10 : 20 - i} * 1'000'000'000);
    world.allocs.push_back(alloc);
  }
  const auto decision = world.decide();
  ASSERT_EQ(decision.plan.evaluations.size(), 2U);
  ASSERT_EQ(decision.plan.changed.at(id_of("n1")).size(), 3U);
  EXPECT_EQ(decision.plan.changed.at(id_of("n1"))[0].followup_eval_id(), decision.plan.evaluations[0].id());
  EXPECT_EQ(decision.plan.evaluations[0].wait_until(), now + 10'000'000'000);
}

// Random clusters and changes of a job: whatever happens, the promises hold.
TEST(Evaluate, NeverOvercommitsNodesNorRepeatsPortsOrNames) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    World world;
    for (int i = pick(1, 8); i > 0; --i) {
      world.nodes.push_back(make_node("n" + std::to_string(i), pick(200, 4000), pick(200, 4000)));
    }
    world.job = make_job(pick(0, 1) ? "service" : "batch", pick(0, 12));
    v1::NetworkResource& network = *world.job.mutable_task_groups(0)->add_networks();
    network.set_mode("host");
    network.add_dynamic_ports()->set_label("d");
    if (pick(0, 1)) {
      network.add_reserved_ports()->set_label("s");
      network.mutable_reserved_ports(0)->set_value(8080);
    }
    for (int round = 0; round < 8; ++round) {
      world.commit(world.decide().plan);

      std::map<std::string, NodeRoom> rooms;
      std::set<std::string> names;
      int running = 0;
      for (const v1::Node& node : world.nodes) rooms.emplace(node.id(), NodeRoom(node));
      for (const v1::Allocation& alloc : world.allocs) {
        if (terminal(alloc)) continue;
        ++running;
        rooms.at(alloc.node_id()).add(usage_of(alloc.allocated_resources()));
        EXPECT_TRUE(names.insert(alloc.name()).second) << alloc.name();
      }
      for (const auto& [id, room] : rooms) EXPECT_EQ(room.overcommitted(), "") << id;
      EXPECT_LE(running, world.job.task_groups(0).count());

      v1::TaskGroup& group = *world.job.mutable_task_groups(0);
      world.job.set_version(world.job.version() + 1);
      group.set_count(pick(0, 12));
      group.mutable_tasks(0)->mutable_resources()->set_cpu(pick(100, 900));
      v1::Node& node = world.nodes[static_cast<size_t>(pick(0, static_cast<int>(world.nodes.size()) - 1))];
      node.set_status(pick(0, 2) ? v1::NODE_STATUS_READY : v1::NODE_STATUS_DOWN);
      for (v1::Allocation& alloc : world.allocs) {
        if (client_terminal(alloc)) continue;
        if (server_terminal(alloc)) {  // its node has stopped it, or not yet
          if (pick(0, 1)) alloc.set_client_status(v1::CLIENT_STATUS_COMPLETE);
          continue;
        }
        const int fate = pick(0, 9);
        alloc.set_client_status(fate == 0   ? v1::CLIENT_STATUS_FAILED
                                : fate == 1 ? v1::CLIENT_STATUS_COMPLETE
                                            : v1::CLIENT_STATUS_RUNNING);
      }
    }
  }
}

}  // namespace
}  // namespace drover::scheduler
