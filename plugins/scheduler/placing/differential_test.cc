// The placer beside the rules as they are written (testing/reference_placer.h): random clusters, jobs and steps must
// give the same node, the same counts and reasons, and the same scores.
//
//   DROVER_DIFFERENTIAL_SEEDS=FIRST-LAST   other seeds than those of every run
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "board.h"
#include "drover/model/allocation.h"
#include "sdk/testing/chance.h"
#include "testing/fixtures.h"
#include "testing/reference_placer.h"

namespace drover::scheduler {
namespace {

using testing::add_plugin;
using testing::ask_volume;
using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;
using testing::place_by_the_rules;
using testing::ReferenceChoice;
using testing::ReferenceWorld;

constexpr double kNear = 1e-9;

using Random = Chance;

v1::Constraint constraint_of(const std::string& left, const std::string& operand, const std::string& right) {
  v1::Constraint constraint;
  constraint.set_l_target(left);
  constraint.set_operand(operand);
  constraint.set_r_target(right);
  return constraint;
}

class World {
 public:
  World(uint64_t seed, bool preempts) : random_(seed) {
    rules_.seed = "seed" + std::to_string(seed);
    rules_.rules.spreads = random_.one_in(4);
    rules_.rules.preempts = preempts;
    if (preempts) {
      rules_.importance = [](const Holding& holding) {
        return std::optional<Importance>({.priority = static_cast<int32_t>(holding.job_version), .max_parallel = 1});
      };
    }
    const int kinds = random_.between(1, 4);
    for (int i = random_.one_in(3) ? random_.between(100, 160) : random_.between(1, 30); i > 0; --i) add_node(i, kinds);
    make_storage();
    make_the_job();
    for (int i = random_.below(3 * static_cast<int>(rules_.nodes.size())); i > 0; --i) add_stranger(i);
  }

  // Compares some steps of an evaluation.
  void run() {
    Cluster cluster;
    for (const v1::Node& node : rules_.nodes) cluster.put_node(std::make_shared<const v1::Node>(node));
    std::vector<v1::Allocation> own;
    for (int i = random_.below(8); i > 0; --i) {
      v1::Allocation alloc = make_alloc(job_, 1000 + i, a_node().name());
      alloc.set_task_group(job_.task_groups(random_.below(job_.task_groups_size())).name());
      if (random_.one_in(4)) alloc.set_desired_status(v1::DESIRED_STATUS_STOP);
      own.push_back(alloc);
    }
    for (const v1::Allocation& alloc : own) rules_.allocs.push_back(alloc);
    for (const v1::Allocation& alloc : rules_.allocs) cluster.add(alloc);
    OtherJobs others;
    if (rules_.rules.preempts) {
      others.job = [this](const std::string&, const std::string&, uint64_t priority) {
        v1::Job& job = strangers_[priority];
        job.set_priority(static_cast<int32_t>(priority));
        if (job.task_groups().empty()) {
          job.add_task_groups()->set_name("app");
          job.mutable_task_groups(0)->mutable_migrate()->set_max_parallel(1);
        }
        return &job;
      };
    }
    ClusterBoard board(std::move(cluster), own, rules_.seed, rules_.rules, others, rules_.storage.rows());
    std::vector<std::unique_ptr<GroupPlacer>> placers;
    for (const v1::TaskGroup& group : job_.task_groups()) placers.push_back(board.open(job_, group));
    std::vector<const v1::Allocation*> away;
    for (int step = 0; step < 12; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      if (!own.empty() && random_.one_in(4)) {
        const v1::Allocation& alloc = own[static_cast<size_t>(random_.below(static_cast<int>(own.size())))];
        const auto at = std::ranges::find(away, &alloc);
        if (at == away.end()) {
          board.leave(alloc);
          std::erase_if(rules_.allocs, [&](const v1::Allocation& one) { return one.id() == alloc.id(); });
          away.push_back(&alloc);
        } else {
          board.come_back(alloc);
          rules_.allocs.push_back(alloc);
          away.erase(at);
        }
      }
      const int group = random_.below(job_.task_groups_size());
      place(*placers[static_cast<size_t>(group)], job_.task_groups(group), step);
      if (::testing::Test::HasFailure()) return;
    }
  }

  int placed() const { return placed_; }

 private:
  void add_node(int number, int kinds) {
    v1::Node node = make_node("n" + std::to_string(number));
    const int kind = random_.below(kinds);
    std::string shared = std::to_string(kind);
    const auto set = [&](const std::string& name, const std::string& value) {
      (*node.mutable_attributes())[name] = value;
      shared += "," + name + "=" + value;
    };
    set("cpu.arch", kind == 0 ? "amd64" : "arm64");
    set("version", "1." + std::to_string(kind));
    if (!random_.one_in(8)) {
      const std::string rack = "r" + std::to_string(random_.below(4));
      (*node.mutable_meta())["rack"] = rack;
      shared += ",rack=" + rack;
    }
    (*node.mutable_attributes())["unique.hostname"] = "host" + std::to_string(number % 3);
    node.set_datacenter("dc" + std::to_string(random_.between(1, 2)));
    if (random_.one_in(3)) node.set_node_class("class" + std::to_string(kind));
    if (random_.one_in(9)) node.set_node_pool("other");
    v1::NodeResources& resources = *node.mutable_node_resources();
    resources.mutable_cpu()->set_cpu_shares(kind % 2 == 0 ? 2000 : 4000);
    resources.mutable_memory()->set_memory_mb(kind % 3 == 0 ? 2048 : 3000);
    resources.mutable_cpu()->set_total_cpu_cores(4);
    for (uint32_t core = 0; core < 4; ++core) resources.mutable_cpu()->add_reservable_cpu_cores(core);
    resources.set_min_dynamic_port(20000);
    resources.set_max_dynamic_port(20000 + random_.between(1, 6));
    if (random_.one_in(6))
      node.mutable_reserved_resources()->mutable_networks()->set_reserved_host_ports("22,8080,20001");
    if (random_.one_in(5)) {
      v1::NodeNetwork& network = *resources.add_node_networks();
      network.set_mode("host");
      network.set_device("eth0");
      for (const char* alias : {"default", "private"}) {
        v1::NodeAddress& address = *network.add_addresses();
        address.set_alias(alias);
        address.set_address(alias == std::string("default") ? "10.0.0.1" : "192.168.0.1");
      }
    }
    if (random_.one_in(6)) {
      v1::NodeDeviceResource& device = *resources.add_devices();
      device.set_vendor("nvidia");
      device.set_type("gpu");
      device.set_name(random_.one_in(2) ? "T4" : "V100");
      shared += device.name();
      for (const char* id : {"a", "b"}) {
        device.add_instances()->set_id(id);
        device.mutable_instances()->rbegin()->set_healthy(!random_.one_in(5));
      }
    }
    for (const char* plugin : {"p", "q"}) {
      if (random_.one_in(4)) continue;
      v1::CsiInfo& info = add_plugin(node, plugin, random_.one_in(2) ? random_.between(1, 2) : 0);
      info.set_healthy(!random_.one_in(10));
    }
    for (int i = random_.below(4); i > 0; --i)
      (*node.mutable_host_volumes())["disk[" + std::to_string(random_.below(12)) + "]"].set_name("disk");
    if (random_.one_in(12)) (*node.mutable_drivers())["mock"].set_healthy(false);
    if (random_.one_in(15)) node.set_status(v1::NODE_STATUS_DOWN);
    if (random_.one_in(15)) node.set_scheduling_eligibility("ineligible");
    if (random_.one_in(15)) node.set_drain(true);
    node.set_computed_class(random_.one_in(20) ? ""
                                               : node.datacenter() + node.node_class() + node.node_pool() + shared);
    rules_.nodes.push_back(std::move(node));
  }

  // Volumes "data", "data[0]" and so on, some of them claimed.
  void make_storage() {
    for (int i = -1; i < 10; ++i) {
      if (random_.one_in(12)) continue;
      const std::string id = i < 0 ? "data" : "data[" + std::to_string(i) + "]";
      rules_.storage.add_volume(id, random_.one_in(5) ? "q" : "p");
    }
    rules_.storage.add_volume("logs", "p");
    for (int i = random_.below(6); i > 0; --i) {
      if (rules_.storage.volumes.empty()) return;
      const auto at = static_cast<size_t>(random_.below(static_cast<int>(rules_.storage.volumes.size())));
      const v1::CsiVolume volume = rules_.storage.volumes[at];
      if (!volume.access_mode().empty()) continue;  // one of each
      const std::string alloc = "claimant" + std::to_string(i);
      v1::CsiClaim& claim =
          rules_.storage.claim(volume.id(), random_.one_in(2) ? "web" : "db", alloc, a_node().name(),
                               volume.id() == "logs" ? "multi-node-multi-writer" : "single-node-writer");
      claim.set_read_only(random_.one_in(3));
      if (random_.one_in(3)) rules_.storage.allocs.erase(id_of(alloc));
    }
  }

  const v1::Node& a_node() {
    return rules_.nodes[static_cast<size_t>(random_.below(static_cast<int>(rules_.nodes.size())))];
  }

  void make_the_job() {
    job_ = make_job("service", random_.between(1, 10));
    job_.set_priority(rules_.rules.preempts ? 70 : 50);
    job_.clear_datacenters();
    job_.add_datacenters(random_.one_in(4) ? "dc1" : "*");
    if (random_.one_in(12)) job_.set_node_pool("all");
    if (random_.one_in(3)) *job_.add_task_groups() = job_.task_groups(0);
    if (job_.task_groups_size() > 1) job_.mutable_task_groups(1)->set_name("second");
    for (int i = random_.below(2); i > 0; --i) *job_.add_constraints() = a_constraint();
    if (random_.one_in(5)) *job_.add_affinities() = an_affinity();
    if (random_.one_in(5)) *job_.add_spreads() = a_spread();
    for (v1::TaskGroup& group : *job_.mutable_task_groups()) {
      if (random_.one_in(3)) *group.add_constraints() = a_constraint();
      if (random_.one_in(4)) *group.add_affinities() = an_affinity();
      if (random_.one_in(3)) *group.add_spreads() = a_spread();
      v1::Resources& ask = *group.mutable_tasks(0)->mutable_resources();
      ask.set_cpu(100 * random_.between(1, 9));
      ask.set_memory_mb(100 * random_.between(1, 9));
      if (random_.one_in(10)) ask.set_cores(random_.between(1, 2));
      if (random_.one_in(8)) {
        v1::RequestedDevice& device = *ask.add_devices();
        device.set_name(random_.one_in(2) ? "gpu" : "nvidia/gpu/T4");
        device.set_count(static_cast<uint64_t>(random_.between(1, 2)));
      }
      ask_for_volumes(group);
      if (!random_.one_in(3)) continue;
      v1::NetworkResource& network = *group.add_networks();
      network.set_mode("host");
      for (int i = random_.below(3); i > 0; --i) {
        v1::Port& port = *network.add_dynamic_ports();
        port.set_label("d" + std::to_string(i));
        if (random_.one_in(6)) port.set_host_network("private");
      }
      for (int i = random_.below(2); i > 0; --i) {
        v1::Port& port = *network.add_reserved_ports();
        port.set_label("s");
        port.set_value(random_.one_in(4) ? 20001 : 8080);
      }
    }
  }

  void ask_for_volumes(v1::TaskGroup& group) {
    if (random_.one_in(4)) {
      v1::VolumeRequest& request = ask_volume(group, "data");
      request.set_per_alloc(random_.one_in(2));
      request.set_read_only(random_.one_in(4));
    }
    if (random_.one_in(6)) ask_volume(group, "logs", "multi-node-multi-writer", "w").set_read_only(random_.one_in(2));
    if (random_.one_in(40)) ask_volume(group, "data", "multi-node-reader-only", "x");
    if (!random_.one_in(8)) return;
    v1::VolumeRequest& request = (*group.mutable_volumes())["h"];
    request.set_type("host");
    request.set_source("disk");
    request.set_per_alloc(true);
  }

  v1::Constraint a_constraint() {
    switch (random_.below(9)) {
      case 0:
        return constraint_of("${attr.cpu.arch}", "=", "amd64");
      case 1:
        return constraint_of("${meta.rack}", "is_set", "");
      case 2:
        return constraint_of("${attr.version}", "version", ">= 1.1");
      case 3:
        return constraint_of("", "distinct_hosts", random_.one_in(4) ? "false" : "");
      case 4:
        return constraint_of("${meta.rack}", "distinct_property", std::to_string(random_.between(1, 3)));
      case 5:
        return constraint_of("${attr.unique.hostname}", "distinct_property", "2");
      case 6:
        return constraint_of("${attr.unique.hostname}", "!=", "host1");
      case 7:
        return constraint_of("${node.class}", "regexp", "^class[01]");
      default:
        return constraint_of("${node.datacenter}", "!=", "dc3");
    }
  }
  v1::Affinity an_affinity() {
    const auto like = random_.one_in(4) ? constraint_of("${attr.unique.hostname}", "=", "host2")
                                        : constraint_of("${node.datacenter}", "=", "dc1");
    v1::Affinity affinity;
    affinity.set_l_target(like.l_target());
    affinity.set_operand(like.operand());
    affinity.set_r_target(like.r_target());
    affinity.set_weight(random_.one_in(2) ? 60 : -30);
    return affinity;
  }
  v1::Spread a_spread() {
    v1::Spread spread;
    spread.set_attribute(random_.one_in(3)   ? "${node.datacenter}"
                         : random_.one_in(5) ? "${node.unique.name}"
                                             : "${meta.rack}");
    if (random_.one_in(2)) spread.set_weight(random_.between(1, 100));
    if (random_.one_in(2)) return spread;
    int left = 100;
    for (const char* value : {"r0", "r1", "dc1"}) {
      if (random_.one_in(3)) continue;
      v1::SpreadTarget& target = *spread.add_spread_target();
      target.set_value(value);
      target.set_percent(static_cast<uint32_t>(random_.one_in(5) ? 0 : random_.below(left)));
      left -= static_cast<int>(target.percent());
    }
    return spread;
  }

  // An allocation of another job; its version says its priority.
  void add_stranger(int number) {
    v1::Job job = make_job();
    job.set_id("stranger" + std::to_string(number % 5));
    job.set_version(static_cast<uint64_t>(10 * random_.between(1, 8)));
    v1::Allocation alloc = make_alloc(job, number, a_node().name());
    v1::AllocatedResources& resources = *alloc.mutable_allocated_resources();
    (*resources.mutable_tasks())["main"].mutable_cpu()->set_cpu_shares(100 * random_.between(1, 9));
    (*resources.mutable_tasks())["main"].mutable_memory()->set_memory_mb(100 * random_.between(1, 6));
    if (random_.one_in(4))
      resources.mutable_shared()->add_ports()->set_value(random_.one_in(3) ? 8080 : 20000 + random_.below(4));
    rules_.allocs.push_back(std::move(alloc));
  }

  void place(GroupPlacer& placer, const v1::TaskGroup& group, int step) {
    GroupPlacer::Wish wish;
    if (random_.one_in(3)) wish.penalised.insert(a_node().id());
    if (random_.one_in(6)) wish.preferred_node = a_node().id();
    if (random_.one_in(6)) wish.only_node = a_node().id();
    v1::Allocation alloc;
    alloc.set_id(id_of("new" + std::to_string(step)));
    alloc.set_name("web.app[" + std::to_string(random_.below(12)) + "]");
    const ReferenceChoice expected = place_by_the_rules(rules_, job_, group, wish, alloc.name());
    const bool found = placer.place(alloc, wish);
    const std::string chosen = found ? alloc.node_id() : "";
    EXPECT_EQ(chosen, expected.node_id);
    expect_same(found ? alloc.metrics() : placer.failure(), expected.metric);
    if (!found) return;
    ++placed_;
    std::set<std::string> evicted(alloc.preempted_allocations().begin(), alloc.preempted_allocations().end());
    EXPECT_EQ(evicted, expected.evicted);
    for (const v1::Allocation& one : rules_.allocs) {
      if (evicted.contains(one.id())) ++rules_.evicted[{one.namespace_(), one.job_id(), one.task_group()}];
    }
    std::erase_if(rules_.allocs, [&](const v1::Allocation& one) { return evicted.contains(one.id()); });
    alloc.set_namespace_(job_.namespace_());
    alloc.set_job_id(job_.id());
    alloc.set_task_group(group.name());
    for (v1::CsiClaim& claim : claims_of(group, alloc)) {
      claim.set_plugin_id(rules_.storage.volume(claim.volume_id()).plugin_id());
      rules_.own_claims.push_back(std::move(claim));
    }
    rules_.allocs.push_back(alloc);
  }

  static void expect_same(const v1::AllocMetric& metric, const v1::AllocMetric& expected) {
    EXPECT_EQ(metric.nodes_evaluated(), expected.nodes_evaluated());
    EXPECT_EQ(metric.nodes_filtered(), expected.nodes_filtered());
    EXPECT_EQ(metric.nodes_exhausted(), expected.nodes_exhausted());
    EXPECT_EQ(metric.nodes_in_pool(), expected.nodes_in_pool());
    const auto same = [](const auto& one, const auto& other) {
      using Sorted = std::map<std::string, int>;
      EXPECT_EQ(Sorted(one.begin(), one.end()), Sorted(other.begin(), other.end()));
    };
    same(metric.nodes_available(), expected.nodes_available());
    same(metric.class_filtered(), expected.class_filtered());
    same(metric.constraint_filtered(), expected.constraint_filtered());
    same(metric.class_exhausted(), expected.class_exhausted());
    same(metric.dimension_exhausted(), expected.dimension_exhausted());
    ASSERT_EQ(metric.score_meta_data_size(), expected.score_meta_data_size());
    for (int i = 0; i < metric.score_meta_data_size(); ++i) {
      const v1::NodeScoreMeta& one = metric.score_meta_data(i);
      const v1::NodeScoreMeta& other = expected.score_meta_data(i);
      EXPECT_EQ(one.node_id(), other.node_id()) << "as number " << i;
      EXPECT_NEAR(one.norm_score(), other.norm_score(), kNear);
      ASSERT_EQ(one.scores_size(), other.scores_size());
      for (const auto& [name, value] : other.scores()) {
        ASSERT_TRUE(one.scores().contains(name)) << name;
        EXPECT_NEAR(one.scores().at(name), value, kNear) << name;
      }
    }
  }

  Random random_;
  ReferenceWorld rules_;
  v1::Job job_;
  std::map<uint64_t, v1::Job> strangers_;
  int placed_ = 0;
};

TEST(Differential, ThePlacerDoesWhatTheRulesSay) {
  unsigned first = 1, last = 250;
  if (const char* seeds = std::getenv("DROVER_DIFFERENTIAL_SEEDS")) {
    ASSERT_EQ(std::sscanf(seeds, "%u-%u", &first, &last), 2) << "DROVER_DIFFERENTIAL_SEEDS is FIRST-LAST";
  }
  int placed = 0;
  for (unsigned seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed, /*preempts=*/seed % 4 == 0);
    world.run();
    placed += world.placed();
    if (HasFailure()) return;
  }
  EXPECT_GT(placed, static_cast<int>(last - first + 1) * 3) << "most steps should find a place";
}

}  // namespace
}  // namespace drover::scheduler
