#include "devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "device_value.h"
#include "feasibility.h"
#include "place.h"
#include "plan.h"
#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

// "nvidia/gpu/T4" with instances; one whose name begins with '!' is unhealthy.
void add_devices(v1::Node& node, const std::string& name, const std::vector<std::string>& instances,
                 const std::vector<std::pair<std::string, std::string>>& attributes = {}) {
  v1::NodeDeviceResource& device = *node.mutable_node_resources()->add_devices();
  const size_t first = name.find('/'), second = name.find('/', first + 1);
  device.set_vendor(name.substr(0, first));
  device.set_type(name.substr(first + 1, second - first - 1));
  device.set_name(name.substr(second + 1));
  for (const std::string& id : instances) {
    v1::NodeDevice& instance = *device.add_instances();
    instance.set_healthy(!id.starts_with('!'));
    instance.set_id(instance.healthy() ? id : id.substr(1));
  }
  for (const auto& [key, value] : attributes) (*device.mutable_attributes())[key] = parse_device_value(value);
}

v1::RequestedDevice& ask(v1::Job& job, const std::string& name, uint64_t count = 1) {
  v1::RequestedDevice& wanted = *job.mutable_task_groups(0)->mutable_tasks(0)->mutable_resources()->add_devices();
  wanted.set_name(name);
  wanted.set_count(count);
  return wanted;
}

void constrain(v1::RequestedDevice& wanted, const std::string& left, const std::string& operand,
               const std::string& right) {
  v1::Constraint& constraint = *wanted.add_constraints();
  constraint.set_l_target(left);
  constraint.set_operand(operand);
  constraint.set_r_target(right);
}

void prefer(v1::RequestedDevice& wanted, const std::string& left, const std::string& right, int weight) {
  v1::Affinity& affinity = *wanted.add_affinities();
  affinity.set_l_target(left);
  affinity.set_operand("=");
  affinity.set_r_target(right);
  affinity.set_weight(weight);
}

v1::AllocatedResources holding(const std::string& name, const std::vector<std::string>& instances) {
  v1::Node node;
  add_devices(node, name, instances);
  const v1::NodeDeviceResource& device = node.node_resources().devices(0);
  v1::AllocatedResources resources;
  v1::AllocatedDevice& held = *(*resources.mutable_tasks())["main"].add_devices();
  held.set_vendor(device.vendor());
  held.set_type(device.type());
  held.set_name(device.name());
  for (const std::string& id : instances) held.add_device_ids(id);
  return resources;
}

// "main=nvidia/gpu/T4:a,b main=…", or "none".
std::string chosen(const v1::Node& node, const v1::Job& job, const TakenDevices& taken = {}) {
  const auto choice = choose_devices(node, job.task_groups(0), taken);
  if (!choice) return "none";
  std::string out;
  for (const auto& [task, device] : choice->grants) {
    out += (out.empty() ? "" : " ") + task + "=" + device_group(device) + ":";
    for (int i = 0; i < device.device_ids_size(); ++i) out += (i == 0 ? "" : ",") + device.device_ids(i);
  }
  return out;
}

v1::Node gpu_node(const std::string& name = "n1") {
  v1::Node node = make_node(name);
  add_devices(node, "nvidia/gpu/T4", {"a", "b", "!c"}, {{"memory", "16 GiB"}, {"cores_clock", "1590 MHz"}});
  add_devices(node, "nvidia/gpu/P100", {"d"}, {{"memory", "12 GiB"}});
  add_devices(node, "intel/fpga/F100", {"e", "f"}, {{"memory", "4 GiB"}});
  return node;
}

TEST(Devices, AreNamedByTypeVendorAndName) {
  const struct {
    const char* wanted;
    bool expected;
  } cases[] = {{"gpu", true},           {"nvidia/gpu", true}, {"nvidia/gpu/T4", true},
               {"fpga", false},         {"amd/gpu", false},   {"nvidia/fpga", false},
               {"nvidia/gpu/T", false}, {"nvidia", false},    {"nvidia/gpu/T4/x", false},
               {"nvidia/gpu/", false},  {"", false}};
  const v1::Node node = gpu_node();
  for (const auto& c : cases) {
    SCOPED_TRACE(c.wanted);
    EXPECT_EQ(c.expected, matches_name(c.wanted, node.node_resources().devices(0)));
  }
  v1::NodeDeviceResource slashed;
  slashed.set_vendor("v");
  slashed.set_type("t");
  slashed.set_name("a/b");
  EXPECT_TRUE(matches_name("v/t/a/b", slashed));
}

TEST(Devices, TargetsNameWhatADeviceIs) {
  const v1::Node node = gpu_node();
  const v1::NodeDeviceResource& device = node.node_resources().devices(0);
  const auto text = [&](const char* target) {
    const auto value = resolve_device_target(target, device);
    return value ? to_text(*value) : "(nothing)";
  };

  EXPECT_EQ("T4", text("${device.model}"));
  EXPECT_EQ("nvidia", text("${device.vendor}"));
  EXPECT_EQ("gpu", text("${device.type}"));
  EXPECT_EQ("a,b,c", text("${device.ids}"));
  EXPECT_EQ("16GiB", text("${device.attr.memory}"));
  EXPECT_EQ("(nothing)", text("${device.attr.colour}"));
  EXPECT_EQ("(nothing)", text("${attr.kernel.name}"));
  EXPECT_EQ("2GiB", text("2 GiB"));
}

TEST(Devices, OfTheNodeAreChosen) {
  struct Case {
    const char* name;
    std::function<void(v1::Job&)> ask_for;
    const char* expected;
    TakenDevices taken{};
  };
  TakenDevices one_taken, two_taken;
  one_taken.add(holding("nvidia/gpu/T4", {"a"}));
  two_taken.add(holding("nvidia/gpu/T4", {"a", "b"}));
  const Case cases[] = {
      {"nothing asked", [](auto&) {}, ""},
      {"by type, the first group by name", [](auto& job) { ask(job, "gpu"); }, "main=nvidia/gpu/P100:d"},
      {"by name", [](auto& job) { ask(job, "nvidia/gpu/T4"); }, "main=nvidia/gpu/T4:a"},
      {"two of one group", [](auto& job) { ask(job, "gpu", 2); }, "main=nvidia/gpu/T4:a,b"},
      {"an unhealthy one does not count", [](auto& job) { ask(job, "nvidia/gpu/T4", 3); }, "none"},
      {"groups are not mixed", [](auto& job) { ask(job, "gpu", 4); }, "none"},
      {"unknown", [](auto& job) { ask(job, "tpu"); }, "none"},
      {"what is taken is not given", [](auto& job) { ask(job, "nvidia/gpu/T4"); }, "main=nvidia/gpu/T4:b", one_taken},
      {"all is taken", [](auto& job) { ask(job, "nvidia/gpu/T4"); }, "none", two_taken},
      {"a constraint with another unit",
       [](auto& job) { constrain(ask(job, "gpu"), "${device.attr.memory}", ">=", "13000 MiB"); },
       "main=nvidia/gpu/T4:a"},
      {"a constraint that nothing meets",
       [](auto& job) { constrain(ask(job, "gpu"), "${device.attr.memory}", ">", "16 GiB"); }, "none"},
      {"a constraint on what is not there",
       [](auto& job) { constrain(ask(job, "gpu"), "${device.attr.cores_clock}", "is_set", ""); },
       "main=nvidia/gpu/T4:a"},
      {"an affinity", [](auto& job) { prefer(ask(job, "gpu"), "${device.model}", "T4", 50); }, "main=nvidia/gpu/T4:a"},
      {"an aversion", [](auto& job) { prefer(ask(job, "gpu"), "${device.model}", "P100", -50); },
       "main=nvidia/gpu/T4:a"},
      {"two blocks",
       [](auto& job) {
         ask(job, "fpga");
         ask(job, "gpu");
       },
       "main=intel/fpga/F100:e main=nvidia/gpu/P100:d"},
      {"two blocks of one group",
       [](auto& job) {
         ask(job, "fpga");
         ask(job, "fpga");
       },
       "main=intel/fpga/F100:e main=intel/fpga/F100:f"},
      {"an earlier block leaves the later one what only it can use",
       [](auto& job) {
         ask(job, "gpu");
         ask(job, "nvidia/gpu/P100");
       },
       "main=nvidia/gpu/T4:a main=nvidia/gpu/P100:d"},
      {"two tasks",
       [](auto& job) {
         ask(job, "fpga");
         v1::Task& other = *job.mutable_task_groups(0)->add_tasks();
         other = job.task_groups(0).tasks(0);
         other.set_name("other");
       },
       "main=intel/fpga/F100:e other=intel/fpga/F100:f"},
  };
  const v1::Node node = gpu_node();
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Job job = make_job();
    c.ask_for(job);
    EXPECT_EQ(c.expected, chosen(node, job, c.taken));
  }
}

TEST(Devices, PreferenceIsTheMatchedShareOfAllWeights) {
  const v1::Node node = gpu_node();
  v1::Job job = make_job();
  v1::RequestedDevice& gpu = ask(job, "nvidia/gpu/T4");
  prefer(gpu, "${device.model}", "T4", 60);
  prefer(gpu, "${device.vendor}", "amd", 20);
  prefer(ask(job, "fpga"), "${device.model}", "F100", -20);

  EXPECT_DOUBLE_EQ(0.4, *choose_devices(node, job.task_groups(0), {})->preference);

  v1::Job plain = make_job();
  ask(plain, "gpu");
  EXPECT_FALSE(choose_devices(node, plain.task_groups(0), {})->preference.has_value());
}

// True when any choice of groups for the blocks leaves each enough, by trying them all.
bool can_be_met(const v1::Node& node, const v1::TaskGroup& group, const TakenDevices& taken) {
  const auto& devices = node.node_resources().devices();
  std::vector<const v1::RequestedDevice*> blocks;
  for (const v1::Task& task : group.tasks()) {
    for (const v1::RequestedDevice& wanted : task.resources().devices()) blocks.push_back(&wanted);
  }
  std::vector<uint64_t> free;
  for (const v1::NodeDeviceResource& device : devices) {
    free.push_back(static_cast<uint64_t>(std::ranges::count_if(device.instances(), [&](const auto& instance) {
      return instance.healthy() && !taken.holds(device_group(device), instance.id());
    })));
  }
  size_t choices = 1;
  for (size_t i = 0; i < blocks.size(); ++i) choices *= free.size();
  for (size_t choice = 0; choice < choices; ++choice) {
    std::vector<uint64_t> left = free;
    bool fits = true;
    size_t rest = choice;
    for (const v1::RequestedDevice* wanted : blocks) {
      const size_t at = rest % free.size();
      rest /= free.size();
      const v1::NodeDeviceResource& device = devices[static_cast<int>(at)];
      fits = fits && matches_name(wanted->name(), device) && meets_constraints(*wanted, device) &&
             left[at] >= wanted->count();
      if (fits) left[at] -= wanted->count();
    }
    if (fits) return true;
  }
  return false;
}

TEST(Devices, AreFoundWheneverTheyCanBeAndNeverGivenTwice) {
  std::mt19937 random(7);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  int met = 0, unmet = 0;
  for (int round = 0; round < 2000; ++round) {
    v1::Node node = make_node("n1");
    TakenDevices taken;
    const uint32_t groups = 1 + below(3);
    for (uint32_t i = 0; i < groups; ++i) {
      const std::string name = (below(2) ? "a/gpu/n" : "b/gpu/n") + std::to_string(i);
      std::vector<std::string> instances;
      for (uint32_t k = 0; k <= below(3); ++k) instances.push_back((below(5) ? "i" : "!i") + std::to_string(k));
      add_devices(node, name, instances, {{"memory", std::to_string(below(3)) + " GiB"}});
      if (below(3) == 0) taken.add(holding(name, {"i0"}));
    }
    v1::Job job = make_job();
    const uint32_t blocks = 1 + below(3);
    for (uint32_t i = 0; i < blocks; ++i) {
      v1::RequestedDevice& wanted = ask(job, below(2) ? "gpu" : below(2) ? "a/gpu" : "b/gpu", 1 + below(2));
      if (below(2)) constrain(wanted, "${device.attr.memory}", ">=", std::to_string(below(2048)) + " MiB");
      if (below(2)) prefer(wanted, "${device.vendor}", below(2) ? "a" : "b", below(2) ? 50 : -50);
    }
    const v1::TaskGroup& group = job.task_groups(0);
    SCOPED_TRACE("round " + std::to_string(round) + ": " + node.node_resources().ShortDebugString() + " | " +
                 group.tasks(0).resources().ShortDebugString());

    const auto choice = choose_devices(node, group, taken);

    ASSERT_EQ(can_be_met(node, group, taken), choice.has_value());
    ++(choice ? met : unmet);
    if (!choice) continue;
    ASSERT_EQ(blocks, choice->grants.size());
    v1::AllocatedResources given;
    for (uint32_t i = 0; i < blocks; ++i) {
      ASSERT_EQ(group.tasks(0).resources().devices(static_cast<int>(i)).count(),
                static_cast<uint64_t>(choice->grants[i].device.device_ids_size()));
      *(*given.mutable_tasks())["main"].add_devices() = choice->grants[i].device;
    }
    ASSERT_TRUE(has_devices(node, given));
    taken.add(given);
    ASSERT_FALSE(taken.overcommitted());
  }
  EXPECT_GT(met, 200);
  EXPECT_GT(unmet, 200);
}

// Hundreds of blocks that can never all be met end in time.
TEST(Devices, ASearchWithoutEndIsGivenUp) {
  v1::Node node = make_node("n1");
  v1::Job job = make_job();
  for (int i = 0; i < 30; ++i) add_devices(node, "v/t/n" + std::to_string(i), {"x", "y"});
  for (int i = 0; i < 61; ++i) ask(job, "t");

  EXPECT_EQ("none", chosen(node, job));
}

TEST(Devices, ANodeWithoutThemIsFilteredAndOneThatIsFullExhausted) {
  v1::Job job = make_job("service", 5);
  ask(job, "nvidia/gpu/T4");
  Cluster cluster;
  cluster.put_node(std::make_shared<v1::Node>(gpu_node("with")));
  cluster.put_node(std::make_shared<v1::Node>(make_node("without")));
  std::vector<Neighbour> neighbours;
  Surroundings around{cluster, neighbours, "seed"};
  Placer placer(around, job, job.task_groups(0));

  const auto first = placer.place("alloc-1", {});
  const auto second = placer.place("alloc-2", {});
  ASSERT_TRUE(first && second);
  EXPECT_EQ("a", first->resources.tasks().at("main").devices(0).device_ids(0));
  EXPECT_EQ("b", second->resources.tasks().at("main").devices(0).device_ids(0));
  EXPECT_FALSE(placer.place("alloc-3", {}));

  EXPECT_EQ(1, placer.failure().constraint_filtered().at("missing devices"));
  EXPECT_EQ(1, placer.failure().dimension_exhausted().at("devices: no devices match request"));

  cluster.remove(id_of("with"), "alloc-1");
  placer.changed(id_of("with"));
  EXPECT_EQ("a", placer.place("alloc-4", {})->resources.tasks().at("main").devices(0).device_ids(0));
}

TEST(Devices, AffinitiesDecideBetweenNodes) {
  v1::Job job = make_job();
  prefer(ask(job, "gpu"), "${device.attr.memory}", "32 GiB", 100);
  v1::Node better = make_node("better");
  add_devices(better, "nvidia/gpu/V100", {"v"}, {{"memory", "32768 MiB"}});
  Cluster cluster;
  for (const char* name : {"n1", "n2", "n3"}) cluster.put_node(std::make_shared<v1::Node>(gpu_node(name)));
  cluster.put_node(std::make_shared<v1::Node>(better));
  std::vector<Neighbour> neighbours;
  Surroundings around{cluster, neighbours, "seed"};
  Placer placer(around, job, job.task_groups(0));

  const auto choice = placer.place("alloc", {});

  ASSERT_TRUE(choice);
  EXPECT_EQ("better", choice->node->name());
  EXPECT_DOUBLE_EQ(1, choice->metric.score_meta_data(0).scores().at("devices"));
  EXPECT_DOUBLE_EQ(0, choice->metric.score_meta_data(1).scores().at("devices"));
}

class DevicePlans : public ::testing::Test {
 protected:
  CheckedPlan check(const v1::AllocatedResources& resources) {
    v1::Job job = make_job();
    Plan plan;
    plan.placed.push_back(make_alloc(job, 0, "n1"));
    (*plan.placed[0].mutable_allocated_resources()->mutable_tasks())["main"] = resources.tasks().at("main");
    const Tables tables;
    Columns state(tables);
    state.put_node(node_);
    for (const v1::Allocation& alloc : there_) state.put_alloc(alloc);
    return check_plan(WeighedPlan(std::move(plan)), state, state.open());
  }
  v1::Node node_ = gpu_node();
  std::vector<v1::Allocation> there_;
};

TEST_F(DevicePlans, TakeAFreeInstance) { EXPECT_TRUE(check(holding("nvidia/gpu/T4", {"a"})).full()); }

TEST_F(DevicePlans, ThatTakeOneTwiceAreRefused) {
  v1::Allocation other = make_alloc(make_job(), 7, "n1");
  *other.mutable_allocated_resources() = holding("nvidia/gpu/T4", {"a"});
  there_.push_back(other);

  EXPECT_FALSE(check(holding("nvidia/gpu/T4", {"a"})).full());
  EXPECT_TRUE(check(holding("nvidia/gpu/T4", {"b"})).full());
}

TEST_F(DevicePlans, ForWhatIsUnhealthyOrGoneAreRefused) {
  EXPECT_FALSE(check(holding("nvidia/gpu/T4", {"c"})).full());
  EXPECT_FALSE(check(holding("nvidia/gpu/K80", {"a"})).full());
}

TEST(Devices, WhatATerminalAllocationHeldIsFreeAgain) {
  TakenDevices taken;
  taken.add(holding("nvidia/gpu/T4", {"a", "b"}));
  TakenDevices ended;
  ended.add(holding("nvidia/gpu/T4", {"a"}));
  taken.remove(ended);
  EXPECT_FALSE(taken.holds("nvidia/gpu/T4", "a"));
  EXPECT_TRUE(taken.holds("nvidia/gpu/T4", "b"));
  EXPECT_FALSE(taken.overcommitted());
  taken.add(holding("nvidia/gpu/T4", {"b"}));
  EXPECT_TRUE(taken.overcommitted());
}

}  // namespace
}  // namespace drover::scheduler
