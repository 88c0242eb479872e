#include "preempt.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "board.h"
#include "drover/v1/allocation.pb.h"
#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

struct Held {
  const char* name;
  int priority;
  Amount amount{};
  int max_parallel = 0;
  int evicted = 0;
  int32_t port = 0;
  std::vector<std::string> devices{};  // "group=instance"
};

Candidate candidate_of(const Held& held) {
  Holding holding{.id = id_of(held.name), .name_space = "default", .job_id = held.name, .group = "app", .usage = {}};
  holding.usage.amount = held.amount;
  if (held.port) holding.usage.ports.push_back({"10.0.0.1", held.port});
  v1::AllocatedResources resources;
  for (const std::string& device : held.devices) {
    v1::AllocatedDevice& one = *(*resources.mutable_tasks())["main"].add_devices();
    one.set_vendor("nvidia");
    one.set_type("gpu");
    one.set_name(device.substr(0, device.find('=')));
    one.add_device_ids(device.substr(device.find('=') + 1));
  }
  holding.usage.devices.add(resources);
  return {.holding = std::make_shared<const Holding>(std::move(holding)),
          .priority = held.priority,
          .max_parallel = held.max_parallel,
          .evicted = held.evicted};
}

std::string names(const std::optional<std::vector<Candidate>>& leaving) {
  if (!leaving) return "none";
  std::set<std::string> sorted;
  for (const Candidate& one : *leaving) sorted.insert(one.holding->job_id);
  std::string text;
  for (const std::string& name : sorted) text += (text.empty() ? "" : " ") + name;
  return text;
}

TEST(Preemption, P1DistanceIsWhatIsMissing) {
  const Amount ask{2048, 512, 4096};
  EXPECT_NEAR(preemption_distance(ask, {1024, 400, 1024}), 0.928, 1e-3);
  EXPECT_NEAR(preemption_distance(ask, {8192, 200, 1024}), 3.152, 1e-3);
  EXPECT_NEAR(preemption_distance(ask, {2048, 500, 4096}), 0.023, 1e-3);
}

TEST(Preemption, ChoosesWhoLeavesForCpuMemoryAndDisk) {
  struct Case {
    const char* name;
    int priority;
    Amount ask;
    std::vector<Held> held;
    const char* leaving;
  };
  const Case cases[] = {
      {"P2 nine below stays", 99, {1000, 100, 0}, {{"a", 90, {4000, 100, 0}}}, "none"},
      {"P2 ten below leaves", 100, {1000, 100, 0}, {{"a", 90, {4000, 100, 0}}}, "a"},
      {"P3 all of them are not enough",
       100,
       {3000, 8000, 0},
       {{"a", 50, {2000, 100, 0}}, {"b", 95, {2000, 7000, 0}}},
       "none"},
      {"P4 a big one makes small ones needless",
       100,
       {2000, 200, 0},
       {{"small", 10, {500, 50, 0}}, {"big", 20, {3500, 400, 0}}},
       "big"},
      {"the lowest priority is enough",
       100,
       {1000, 100, 0},
       {{"low", 10, {2000, 100, 0}}, {"high", 60, {2000, 100, 0}}},
       "low"},
      {"the nearest of a priority",
       100,
       {1000, 100, 0},
       {{"far", 10, {2500, 100, 0}}, {"near", 10, {1000, 100, 0}}},
       "near"},
      {"P6 of a job that has lost one already",
       100,
       {1000, 100, 0},
       {{"again", 10, {1000, 100, 0}, 1, 1}, {"other", 10, {1500, 100, 0}, 1, 0}},
       "other"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    NodeRoom room(make_node("n1", 4000, 8192));
    std::vector<Candidate> candidates;
    for (const Held& held : c.held) candidates.push_back(candidate_of(held));
    Amount taken;
    for (const Candidate& one : candidates) {
      room.add(one.holding->usage);
      taken += one.holding->usage.amount;
    }
    Usage rest;  // of somebody who stays: the node is full
    rest.amount = {std::max<int64_t>(4000 - taken.cpu, 0), 0, 0};
    room.add(rest);
    EXPECT_EQ(names(preempt_for_amount(room, c.ask, c.priority, candidates)), c.leaving);
  }
}

TEST(Preemption, P5HoldersOfAStaticPortLeaveIfTheyMay) {
  for (const auto& [priority, leaving] : {std::pair(95, "none"), {30, "web"}}) {
    const v1::Node node = make_node("n1");
    NodeRoom room(node);
    const std::vector<Candidate> candidates = {candidate_of({.name = "web", .priority = priority, .port = 80}),
                                               candidate_of({.name = "other", .priority = 1, .port = 81})};
    for (const Candidate& one : candidates) room.add(one.holding->usage);
    v1::TaskGroup group = make_job().task_groups(0);
    v1::Port& port = *group.add_networks()->add_reserved_ports();
    port.set_label("x");
    port.set_value(80);
    EXPECT_EQ(names(preempt_for_ports(node, room, group, 100, candidates)), leaving);
  }
}

v1::Node node_with_gpus(const std::map<std::string, int>& groups) {
  v1::Node node = make_node("n1");
  for (const auto& [name, count] : groups) {
    v1::NodeDeviceResource& device = *node.mutable_node_resources()->add_devices();
    device.set_vendor("nvidia");
    device.set_type("gpu");
    device.set_name(name);
    for (int i = 0; i < count; ++i) {
      v1::NodeDevice& instance = *device.add_instances();
      instance.set_id(name + std::to_string(i));
      instance.set_healthy(true);
    }
  }
  return node;
}

TEST(Preemption, ChoosesWhoLeavesForDevices) {
  struct Case {
    const char* name;
    std::map<std::string, int> groups;
    std::vector<Held> held;
    uint64_t wanted;
    const char* leaving;
  };
  const Held three{.name = "three", .priority = 10, .devices = {"T4=T40", "T4=T41", "T4=T42"}};
  const Held four{.name = "four", .priority = 20, .devices = {"T4=T43", "T4=T44", "T4=T45", "T4=T46"}};
  const Case cases[] = {
      {"P7 those with most of them", {{"T4", 7}}, {three, four}, 4, "four"},
      {"P8 the group with the smaller sum of priorities",
       {{"A", 2}, {"B", 2}},
       {{.name = "a1", .priority = 30, .devices = {"A=A0"}},
        {.name = "a2", .priority = 40, .devices = {"A=A1"}},
        {.name = "b", .priority = 50, .devices = {"B=B0", "B=B1"}}},
       2,
       "b"},
      {"nobody may leave", {{"A", 1}}, {{.name = "a", .priority = 95, .devices = {"A=A0"}}}, 1, "none"},
      {"there are too few of them", {{"A", 1}}, {{.name = "a", .priority = 5, .devices = {"A=A0"}}}, 2, "none"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const v1::Node node = node_with_gpus(c.groups);
    std::vector<Candidate> candidates;
    TakenDevices taken;
    for (const Held& held : c.held) {
      candidates.push_back(candidate_of(held));
      taken.add(candidates.back().holding->usage.devices);
    }
    v1::RequestedDevice wanted;
    wanted.set_name("gpu");
    wanted.set_count(c.wanted);
    EXPECT_EQ(names(preempt_for_device(node, taken, wanted, 100, candidates)), c.leaving);
  }
}

// A board whose other jobs have the priority that stands in their name.
class PreemptingBoard : public ::testing::Test {
 protected:
  PreemptingBoard() { job_.set_priority(100); }

  const v1::Allocation& put(const std::string& job, int priority, const std::string& node, int64_t cpu) {
    v1::Job other = make_job();
    other.set_id(job);
    other.set_priority(priority);
    v1::Allocation alloc = make_alloc(other, static_cast<int>(allocs_.size()), node);
    (*alloc.mutable_allocated_resources()->mutable_tasks())["main"].mutable_cpu()->set_cpu_shares(cpu);
    cluster_.add(alloc);
    jobs_[job] = other;
    return allocs_[alloc.id()] = alloc;
  }
  ClusterBoard board(bool preempts = true) {
    OtherJobs others{.job = [this](const std::string&, const std::string& id, uint64_t) { return &jobs_.at(id); },
                     .alloc = [this](const std::string& id) { return std::optional(allocs_.at(id)); }};
    return ClusterBoard(cluster_, {}, "seed", {.preempts = preempts}, std::move(others));
  }
  static bool place(GroupPlacer& placer, v1::Allocation& alloc, const std::string& id,
                    const GroupPlacer::Wish& wish = {}) {
    alloc.set_id(id_of(id));
    return placer.place(alloc, wish);
  }

  Cluster cluster_;
  std::map<std::string, v1::Job> jobs_;
  std::map<std::string, v1::Allocation> allocs_;
  v1::Job job_ = make_job();  // 500 MHz
};

TEST_F(PreemptingBoard, G35EvictsOnAFullNodeAndSaysSo) {
  cluster_.put_node(std::make_shared<const v1::Node>(make_node("n1", 600)));
  put("low", 50, "n1", 600);
  ClusterBoard full = board();
  const auto placer = full.open(job_, job_.task_groups(0));
  v1::Allocation alloc;
  ASSERT_TRUE(place(*placer, alloc, "new"));
  ASSERT_EQ(placer->evicted().size(), 1U);
  EXPECT_EQ(placer->evicted()[0]->job_id(), "low");
  ASSERT_EQ(alloc.preempted_allocations_size(), 1);
  EXPECT_EQ(alloc.preempted_allocations(0), placer->evicted()[0]->id());
  EXPECT_EQ(alloc.metrics().nodes_exhausted(), 0);
  // The highest priority and their sum by it: 50 + 1.
  EXPECT_NEAR(alloc.metrics().score_meta_data(0).scores().at("preemption"), 0.99993, 1e-4);
}

TEST_F(PreemptingBoard, EvictsNobodyWhereThereIsRoomOrItIsOff) {
  cluster_.put_node(std::make_shared<const v1::Node>(make_node("n1", 600)));
  cluster_.put_node(std::make_shared<const v1::Node>(make_node("n2", 600)));
  put("low", 50, "n1", 600);
  v1::Allocation alloc;
  {
    ClusterBoard roomy = board();
    const auto placer = roomy.open(job_, job_.task_groups(0));
    ASSERT_TRUE(place(*placer, alloc, "new"));
    EXPECT_EQ(alloc.node_id(), id_of("n2"));
    EXPECT_TRUE(placer->evicted().empty());
  }
  put("low", 50, "n2", 600);
  ClusterBoard full = board(/*preempts=*/false);
  const auto placer = full.open(job_, job_.task_groups(0));
  EXPECT_FALSE(place(*placer, alloc, "new"));
  EXPECT_EQ(placer->failure().dimension_exhausted().at("cpu"), 2);
}

TEST_F(PreemptingBoard, P6SparesAJobThatHasLostOneInThisPlan) {
  for (const char* name : {"n1", "n2"}) cluster_.put_node(std::make_shared<const v1::Node>(make_node(name, 1200)));
  for (const char* node : {"n1", "n2"}) {
    put("one", 10, node, 600);
    put(std::string("other-") + node, 10, node, 600);
  }
  jobs_.at("one").mutable_task_groups(0)->mutable_migrate()->set_max_parallel(1);
  ClusterBoard full = board();
  job_.mutable_task_groups(0)->set_count(2);
  const auto placer = full.open(job_, job_.task_groups(0));
  v1::Allocation alloc;
  std::multiset<std::string> evicted;
  for (const char* id : {"new1", "new2", "new3"}) {
    ASSERT_TRUE(place(*placer, alloc, id));
    for (const v1::Allocation* one : placer->evicted()) evicted.insert(one->job_id());
  }
  EXPECT_LE(evicted.count("one"), 1U);
}

TEST_F(PreemptingBoard, Y10ANodeThatIsAskedForEvictsAtOnce) {
  cluster_.put_node(std::make_shared<const v1::Node>(make_node("n1", 600)));
  put("low", 50, "n1", 600);
  ClusterBoard full = board();
  const auto placer = full.open(job_, job_.task_groups(0));
  v1::Allocation alloc;
  ASSERT_TRUE(place(*placer, alloc, "new", {.only_node = id_of("n1")}));
  EXPECT_EQ(alloc.preempted_allocations_size(), 1);
  EXPECT_EQ(alloc.metrics().nodes_evaluated(), 1);
}

}  // namespace
}  // namespace drover::scheduler
