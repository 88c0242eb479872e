// How nodes are rated, and what is granted there.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "board.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

constexpr double kNear = 1e-6;

// A board that places allocations of one job one after the other.
struct World {
  v1::Job job = make_job();
  std::vector<v1::Node> nodes;
  std::vector<v1::Allocation> allocs;  // all there are
  PlacingRules rules = {};
  std::string seed = "seed";
  v1::AllocMetric failure = {};

  std::vector<v1::Allocation> place(int count, const GroupPlacer::Wish& wish = {}) {
    Cluster cluster;
    for (const v1::Node& node : nodes) cluster.put_node(std::make_shared<const v1::Node>(node));
    for (const v1::Allocation& alloc : allocs) cluster.add(alloc);
    std::vector<v1::Allocation> own;
    for (const v1::Allocation& alloc : allocs) {
      if (alloc.job_id() == job.id() && alloc.namespace_() == job.namespace_()) own.push_back(alloc);
    }
    ClusterBoard board(std::move(cluster), own, seed, rules);
    const auto placer = board.open(job, job.task_groups(0));
    std::vector<v1::Allocation> placed;
    for (int i = 0; i < count; ++i) {
      v1::Allocation alloc;
      alloc.set_id(id_of("new" + std::to_string(i)));
      if (placer->place(alloc, wish)) {
        placed.push_back(alloc);
      } else {
        failure = placer->failure();
      }
    }
    return placed;
  }
  // By node and name: the scores of the first that is placed.
  std::map<std::string, std::map<std::string, double>> scores(const GroupPlacer::Wish& wish = {}) {
    std::map<std::string, std::map<std::string, double>> scores;
    const auto placed = place(1, wish);
    if (placed.empty()) return scores;
    for (const v1::NodeScoreMeta& meta : placed[0].metrics().score_meta_data()) {
      for (const v1::Node& node : nodes) {
        if (node.id() != meta.node_id()) continue;
        auto& of_node = scores[node.name()];
        of_node.insert(meta.scores().begin(), meta.scores().end());
        of_node["final"] = meta.norm_score();
      }
    }
    return scores;
  }
  v1::Resources& ask() { return *job.mutable_task_groups(0)->mutable_tasks(0)->mutable_resources(); }
};

v1::Affinity affinity_of(const char* left, const char* right, int weight) {
  v1::Affinity affinity;
  affinity.set_l_target(left);
  affinity.set_operand("=");
  affinity.set_r_target(right);
  affinity.set_weight(weight);
  return affinity;
}

TEST(Rank, K1K2K3PackingCountsWhatIsReserved) {
  for (const bool spreads : {false, true}) {
    World world;
    world.rules.spreads = spreads;
    world.nodes = {make_node("exact", 2048, 2048), make_node("empty", 4096, 4096)};
    for (v1::Node& node : world.nodes) {
      node.mutable_reserved_resources()->mutable_cpu()->set_cpu_shares(1024);
      node.mutable_reserved_resources()->mutable_memory()->set_memory_mb(1024);
    }
    world.ask().set_cpu(1024);
    world.ask().set_memory_mb(1024);
    auto scores = world.scores();
    if (spreads) {
      EXPECT_NEAR(scores["exact"]["binpack"], 0, kNear);
      EXPECT_GT(scores["empty"]["binpack"], 0.4);
    } else {
      EXPECT_NEAR(scores["exact"]["binpack"], 1, kNear);
      EXPECT_GT(scores["empty"]["binpack"], 0.5);
      EXPECT_LT(scores["empty"]["binpack"], 0.6);
    }
    EXPECT_EQ(world.place(1)[0].node_name(), spreads ? "empty" : "exact");
  }
}

TEST(Rank, K4OnlyOwnAllocationsOfTheGroupPush) {
  World world;
  world.nodes = {make_node("n1")};
  world.job.mutable_task_groups(0)->set_count(4);
  world.allocs = {make_alloc(world.job, 0, "n1"), make_alloc(world.job, 1, "n1")};
  EXPECT_NEAR(world.scores()["n1"]["job-anti-affinity"], -0.75, kNear);
  for (v1::Allocation& alloc : world.allocs) alloc.set_task_group("other");
  EXPECT_NEAR(world.scores()["n1"]["job-anti-affinity"], 0, kNear);
  for (v1::Allocation& alloc : world.allocs) {
    alloc.set_task_group("app");
    alloc.set_namespace_("other");
  }
  EXPECT_NEAR(world.scores()["n1"]["job-anti-affinity"], 0, kNear);
}

TEST(Rank, K5AffinitiesAreTheShareOfTheirWeights) {
  World world;
  for (int i = 0; i < 4; ++i) world.nodes.push_back(make_node("n" + std::to_string(i)));
  world.nodes[1].set_datacenter("dc2");
  (*world.nodes[2].mutable_attributes())["kernel.version"] = "4.9";
  world.nodes[2].set_datacenter("dc2");
  world.nodes[3].set_node_class("large");
  world.nodes[3].set_datacenter("dc3");
  (*world.nodes[0].mutable_attributes())["kernel.version"] = "4.9";
  (*world.nodes[3].mutable_attributes())["kernel.version"] = "4.9";
  v1::TaskGroup& group = *world.job.mutable_task_groups(0);
  *world.job.add_affinities() = affinity_of("${node.datacenter}", "dc1", 100);
  *group.add_affinities() = affinity_of("${node.datacenter}", "dc2", -100);
  *group.mutable_tasks(0)->add_affinities() = affinity_of("${attr.kernel.version}", "4.9", 50);
  *group.mutable_tasks(0)->add_affinities() = affinity_of("${node.class}", "large", 50);
  auto scores = world.scores();
  EXPECT_NEAR(scores["n0"]["node-affinity"], 0.5, kNear);
  EXPECT_NEAR(scores["n1"]["node-affinity"], -1.0 / 3, kNear);
  EXPECT_NEAR(scores["n2"]["node-affinity"], -1.0 / 6, kNear);
  EXPECT_NEAR(scores["n3"]["node-affinity"], 1.0 / 3, kNear);
}

TEST(Rank, K6TheScoreIsTheMeanOfWhatCounts) {
  World world;
  world.nodes = {make_node("n1")};
  auto plain = world.scores()["n1"];
  EXPECT_NEAR(plain["final"], plain["binpack"], kNear);
  EXPECT_TRUE(plain.contains("node-affinity"));
  EXPECT_FALSE(plain.contains("allocation-spread"));
  EXPECT_FALSE(plain.contains("preemption"));

  world.allocs = {make_alloc(world.job, 0, "n1")};
  world.job.mutable_task_groups(0)->set_count(4);
  *world.job.add_affinities() = affinity_of("${node.datacenter}", "elsewhere", 10);
  auto pushed = world.scores({.penalised = {id_of("n1")}})["n1"];
  EXPECT_FALSE(pushed.contains("node-affinity"));  // it matched nothing, and does not count
  EXPECT_NEAR(pushed["job-anti-affinity"], -0.5, kNear);
  EXPECT_NEAR(pushed["final"], (pushed["binpack"] - 0.5 - 1) / 3, kNear);
}

TEST(Rank, K8PortsAreNamedBeforeCpu) {
  World world;
  world.nodes = {make_node("n1", 100)};
  v1::Port& port = *world.job.mutable_task_groups(0)->add_networks()->add_reserved_ports();
  port.set_label("x");
  port.set_value(80);
  world.nodes[0].mutable_reserved_resources()->mutable_networks()->set_reserved_host_ports("80");
  world.place(1);
  EXPECT_EQ(world.failure.dimension_exhausted().at("network: reserved port collision x=80"), 1);
}

TEST(Rank, K11CoresAreTheLowestFreeOnes) {
  World world;
  world.nodes = {make_node("n1", 8000)};
  v1::NodeCpu& cpu = *world.nodes[0].mutable_node_resources()->mutable_cpu();
  cpu.set_total_cpu_cores(4);
  for (uint32_t core = 0; core < 4; ++core) cpu.add_reservable_cpu_cores(core);
  v1::Job other = make_job();
  other.set_id("other");
  world.allocs = {make_alloc(other, 0, "n1")};
  v1::AllocatedCpu& taken = *(*world.allocs[0].mutable_allocated_resources()->mutable_tasks())["main"].mutable_cpu();
  taken.add_reserved_cores(1);
  taken.set_cpu_shares(2000);
  world.ask().set_cores(2);
  const auto placed = world.place(2);
  ASSERT_EQ(placed.size(), 1U);
  const v1::AllocatedCpu& granted = placed[0].allocated_resources().tasks().at("main").cpu();
  EXPECT_EQ(std::vector<uint32_t>(granted.reserved_cores().begin(), granted.reserved_cores().end()),
            (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(granted.cpu_shares(), 4000);
  EXPECT_EQ(world.failure.dimension_exhausted().at("cores"), 1);

  world.nodes[0].mutable_reserved_resources()->mutable_cpu()->add_reserved_cpu_cores(0);
  world.nodes[0].mutable_reserved_resources()->mutable_cpu()->add_reserved_cpu_cores(2);
  EXPECT_TRUE(world.place(1).empty());
}

TEST(Rank, K13AStoppedAllocationHoldsItsRoomUntilItEnds) {
  World world;
  world.nodes = {make_node("n1", 600)};
  v1::Job other = make_job();
  other.set_id("other");
  world.allocs = {make_alloc(other, 0, "n1")};
  world.allocs[0].set_desired_status(v1::DESIRED_STATUS_STOP);
  EXPECT_TRUE(world.place(1).empty());
}

TEST(Rank, K14G36TasksThatDoNotRunTogetherShareRoom) {
  struct Extra {
    const char* hook;
    bool sidecar;
    int cpu;
  };
  struct Case {
    const char* name;
    std::vector<Extra> extra;  // beside a main task of 500
    int64_t cpu;
  };
  const Case cases[] = {{"G36 init, sidecar and main", {{"prestart", false, 500}, {"prestart", true, 500}}, 1000},
                        {"G36 a large init", {{"prestart", false, 700}, {"prestart", true, 500}}, 1200},
                        {"poststop", {{"poststop", false, 400}}, 500},
                        {"K14 poststart", {{"poststart", false, 300}}, 800},
                        {"poststart sidecar", {{"poststart", true, 300}}, 800}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    world.nodes = {make_node("n1")};
    v1::TaskGroup& group = *world.job.mutable_task_groups(0);
    for (const Extra& extra : c.extra) {
      v1::Task task = group.tasks(0);
      task.set_name("task" + std::to_string(group.tasks_size()));
      task.mutable_lifecycle()->set_hook(extra.hook);
      task.mutable_lifecycle()->set_sidecar(extra.sidecar);
      task.mutable_resources()->set_cpu(extra.cpu);
      *group.add_tasks() = task;
    }
    EXPECT_EQ(amount_of(group).cpu, c.cpu);
    const auto placed = world.place(1);
    ASSERT_EQ(placed.size(), 1U);
    EXPECT_EQ(amount_of(placed[0].allocated_resources()).cpu, c.cpu);
  }
}

TEST(Rank, K15EquallyGoodNodesAreChosenByTheSeed) {
  World world;
  for (int i = 0; i < 50; ++i) world.nodes.push_back(make_node("n" + std::to_string(i)));
  const std::string first = world.place(1)[0].node_name();
  EXPECT_EQ(world.place(1)[0].node_name(), first);
  world.seed = "another";
  const std::string other = world.place(1)[0].node_name();
  EXPECT_NE(other, first);
  EXPECT_EQ(world.place(1)[0].node_name(), other);
}

TEST(Rank, G2MoreMemoryIsGrantedWhereTheOperatorAllowsIt) {
  for (const bool allowed : {false, true}) {
    World world;
    world.rules.memory_max = allowed;
    world.nodes = {make_node("n1", 4000, 256)};
    world.ask().set_memory_max_mb(512);
    const auto placed = world.place(1);
    ASSERT_EQ(placed.size(), 1U);
    const auto& memory = placed[0].allocated_resources().tasks().at("main").memory();
    EXPECT_EQ(memory.memory_max_mb(), allowed ? 512 : 0);
  }
}

TEST(Rank, G3G4ThePreferredNodeIsTakenIfItCan) {
  World world;
  world.nodes = {make_node("better", 600), make_node("wanted")};
  EXPECT_EQ(world.place(1, {.preferred_node = id_of("wanted")})[0].node_name(), "wanted");
  world.nodes[1].set_status(v1::NODE_STATUS_DOWN);
  EXPECT_EQ(world.place(1, {.preferred_node = id_of("wanted")})[0].node_name(), "better");
  world.nodes[1] = make_node("wanted", 100);
  EXPECT_EQ(world.place(1, {.preferred_node = id_of("wanted")})[0].node_name(), "better");
}

TEST(Rank, G5ADiskLargerThanAnyNodeIsNamed) {
  World world;
  world.nodes = {make_node("n1")};
  world.job.mutable_task_groups(0)->mutable_ephemeral_disk()->set_size_mb(1'000'000);
  world.place(1);
  EXPECT_EQ(world.failure.dimension_exhausted().at("disk"), 1);
}

TEST(Rank, G6OneMoreThanThereAreHosts) {
  World world;
  for (int i = 0; i < 10; ++i) world.nodes.push_back(make_node("n" + std::to_string(i)));
  world.job.add_constraints()->set_operand("distinct_hosts");
  EXPECT_EQ(world.place(11).size(), 10U);
  EXPECT_EQ(world.failure.constraint_filtered().at("distinct_hosts"), 10);
}

TEST(Rank, G7TwoOfEachRack) {
  World world;
  for (int i = 0; i < 4; ++i) {
    world.nodes.push_back(make_node("n" + std::to_string(i)));
    (*world.nodes.back().mutable_meta())["rack"] = i % 2 ? "r1" : "r0";
  }
  v1::Constraint& constraint = *world.job.add_constraints();
  constraint.set_operand("distinct_property");
  constraint.set_l_target("${meta.rack}");
  constraint.set_r_target("2");
  EXPECT_EQ(world.place(5).size(), 4U);
  EXPECT_EQ(world.failure.constraint_filtered().at("distinct_property: ${meta.rack}=r0 used by 2 allocs"), 2);
  EXPECT_EQ(world.failure.constraint_filtered().at("distinct_property: ${meta.rack}=r1 used by 2 allocs"), 2);
}

TEST(Rank, G11G12ClassesAreToldUnlessAConstraintEscapesThem) {
  World world;
  world.nodes = {make_node("full", 100), make_node("other")};
  (*world.nodes[1].mutable_attributes())["kernel.name"] = "windows";
  v1::Constraint& constraint = *world.job.add_constraints();
  constraint.set_l_target("${attr.kernel.name}");
  constraint.set_operand("=");
  constraint.set_r_target("linux");
  for (const bool escapes : {false, true}) {
    if (escapes) {
      v1::Constraint& unique = *world.job.mutable_task_groups(0)->add_constraints();
      unique.set_l_target("${node.unique.name}");
      unique.set_operand("is_set");
    }
    Cluster cluster;
    for (const v1::Node& node : world.nodes) cluster.put_node(std::make_shared<const v1::Node>(node));
    ClusterBoard board(std::move(cluster), {}, "seed");
    RoomWait wait;
    board.open(world.job, world.job.task_groups(0))->describe(wait);
    EXPECT_EQ(wait.escaped, escapes);
    const std::map<std::string, bool> classes = {{"v1:full", true}, {"v1:other", false}};
    EXPECT_EQ(wait.class_eligibility, escapes ? (std::map<std::string, bool>()) : classes);
  }
}

}  // namespace
}  // namespace drover::scheduler
