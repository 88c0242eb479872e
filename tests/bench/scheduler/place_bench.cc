// Placing alone: a group of so many allocations on a cluster that is half full, from the fork of the cluster to the
// last node chosen. Without rows, reconciling or a log.
//
//   place_bench [nodes]      default: 1,000, 5,000, 10,000
//
// Then: why a group finds no place, beside finding that it does not.
//
// Beside it in the same rounds, in turn: for a pass what it costs to read the same columns once (their sum), and for a
// placement two powers and the maximum of 64 numbers. Processor time of one thread; the median of five rounds.
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "drover/api/why.pb.h"
#include "drover/uuid.h"
#include "plugins/scheduler/explaining/why.h"
#include "plugins/scheduler/placing/board.h"
#include "tests/bench/scheduler/measure.h"

namespace {

using namespace drover;
using namespace drover::bench;
using namespace drover::scheduler;

constexpr int kRounds = 5;

struct Variant {
  const char* name;
  int capacities = 1;
  bool racks = false, hosts = false, affinity = false, constraints = false, port = false;
};

v1::Node make_node(int number, const Variant& variant, std::mt19937_64& random) {
  v1::Node node;
  std::string id(16, '\0');
  for (char& byte : id) byte = static_cast<char>(random());
  node.set_id(id);
  node.set_name("node-" + std::to_string(number));
  node.set_datacenter("dc" + std::to_string(1 + number % 2));
  node.set_node_pool("default");
  const std::string rack = "rack" + std::to_string(number % 25);
  if (variant.racks) (*node.mutable_meta())["rack"] = rack;
  const int capacity = number % variant.capacities;
  node.set_computed_class("v1:" + std::to_string(number % 2) + (variant.racks ? rack : "") + std::to_string(capacity));
  node.set_status(v1::NODE_STATUS_READY);
  node.set_scheduling_eligibility("eligible");
  v1::NodeResources& resources = *node.mutable_node_resources();
  resources.mutable_cpu()->set_cpu_shares(32000 + 8000 * capacity);
  resources.mutable_memory()->set_memory_mb(65536);
  resources.mutable_disk()->set_disk_mb(500000);
  v1::NetworkResource& network = *resources.add_networks();
  network.set_mode("host");
  network.set_device("eth0");
  network.set_ip("10.0.0.1");
  (*node.mutable_drivers())["exec"].set_detected(true);
  (*node.mutable_drivers())["exec"].set_healthy(true);
  (*node.mutable_attributes())["kernel.name"] = "linux";
  (*node.mutable_attributes())["kernel.version"] = "5.10";
  return node;
}

v1::Job make_job(int count, const Variant& variant) {
  v1::Job job = make_service_job("bench", count, 100, 64);
  v1::TaskGroup& group = *job.mutable_task_groups(0);
  const auto constrain = [&](const char* left, const char* operand, const char* right) {
    v1::Constraint& constraint = *job.add_constraints();
    constraint.set_l_target(left);
    constraint.set_operand(operand);
    constraint.set_r_target(right);
  };
  if (variant.constraints) {
    constrain("${attr.kernel.name}", "=", "linux");
    constrain("${attr.kernel.version}", "version", ">= 4.0");
  }
  if (variant.hosts) constrain("", "distinct_hosts", "");
  if (variant.racks) group.add_spreads()->set_attribute("${meta.rack}");
  if (variant.affinity) {
    v1::Affinity& affinity = *group.add_affinities();
    affinity.set_l_target("${node.datacenter}");
    affinity.set_operand("=");
    affinity.set_r_target("dc1");
    affinity.set_weight(50);
  }
  if (variant.port) {
    v1::NetworkResource& network = *group.add_networks();
    network.set_mode("host");
    network.add_dynamic_ports()->set_label("http");
  }
  return job;
}

Cluster half_full(int nodes, const Variant& variant) {
  std::mt19937_64 random(7);
  Cluster cluster;
  for (int i = 0; i < nodes; ++i) {
    auto node = std::make_shared<const v1::Node>(make_node(i, variant, random));
    const std::string id = node->id();
    cluster.put_node(std::move(node));
    for (int held = 0; held < 4; ++held) {
      Holding holding{
          .id = Uuid::random().bytes(), .name_space = "default", .job_id = "other", .group = "app", .usage = {}};
      holding.usage.amount = {.cpu = 1000 + static_cast<int64_t>(random() % 3000),
                              .memory_mb = 4000 + static_cast<int64_t>(random() % 8000),
                              .disk_mb = 1000};
      cluster.add(id, std::make_shared<const Holding>(std::move(holding)));
    }
  }
  return cluster;
}

// Microseconds for one pass of `count`.
double pass(const Cluster& cluster, const v1::Job& job, int count) {
  std::vector<v1::Allocation> allocs(static_cast<size_t>(count));
  for (v1::Allocation& alloc : allocs) alloc.set_id(Uuid::random().bytes());
  const std::vector<v1::Allocation> none;
  const double began = processor_us();
  {
    ClusterBoard board(cluster, none, "seed");
    const auto placer = board.open(job, job.task_groups(0));
    for (v1::Allocation& alloc : allocs) {
      if (!placer->place(alloc, {})) std::abort();
    }
  }
  return processor_us() - began;
}

double read_columns(const Cluster& cluster) {
  const double began = processor_us();
  int64_t free = 0;
  double power = 0;
  for (size_t i = 0; i < cluster.blocks(); ++i) {
    const ClusterBlock& block = cluster.block(i);
    for (size_t at = 0; at < kSlots; ++at) {
      free += block.free_cpu[at] + block.free_memory[at] + block.free_disk[at];
      power += block.cpu_power[at] + block.memory_power[at];
    }
  }
  if (power + static_cast<double>(free) == 0.5) std::abort();
  return processor_us() - began;
}

double two_powers_and_a_maximum(int times) {
  std::array<double, kSlots> scores{};
  double most = 0;
  const double began = processor_us();
  for (int i = 0; i < times; ++i) {
    scores[static_cast<size_t>(i) % scores.size()] = std::pow(10, 1.0 / (i + 1)) + std::pow(10, 0.5 / (i + 1));
    most += *std::ranges::max_element(scores);
  }
  if (most == 0.5) std::abort();
  return (processor_us() - began) / times;
}

void run(int nodes, const Variant& variant) {
  const Cluster cluster = half_full(nodes, variant);
  std::printf("%6d nodes, %-16s", nodes, variant.name);
  double setup = 0;
  for (const int count : {1, 10, 300, 1200}) {
    const v1::Job job = make_job(count, variant);
    if (variant.hosts && count > nodes) continue;
    std::vector<double> times, bounds, columns;
    for (int round = 0; round < kRounds; ++round) {
      const int repeat = count < 300 ? 20 : 1;
      double sum = 0;
      for (int i = 0; i < repeat; ++i) sum += pass(cluster, job, count);
      times.push_back(sum / repeat);
      columns.push_back(read_columns(cluster));
      bounds.push_back(two_powers_and_a_maximum(2000));
    }
    const double took = median(times);
    if (count == 1) {
      setup = took;
      std::printf("  one %7.1f us (%.1f x reading the columns)", took, took / median(columns));
    } else {
      const double each = (took - setup) / (count - 1);
      std::printf("  %d: +%.2f us (%.0f x)", count, each, each / median(bounds));
    }
  }
  std::printf("\n");
}

// Why nothing finds a place, beside the decision that nothing does: all nodes lack memory.
void run_why(int nodes) {
  const Cluster cluster = half_full(nodes, {.name = "why"});
  v1::Job job = make_job(1, {.name = "why", .constraints = true});
  job.mutable_task_groups(0)->mutable_tasks(0)->mutable_resources()->set_memory_mb(100000);
  std::vector<double> decided, explained;
  for (int round = 0; round < kRounds; ++round) {
    v1::Allocation alloc;
    alloc.set_id(std::string(16, 'a'));
    const double began = processor_us();
    {
      ClusterBoard board(cluster, {}, "seed");
      if (board.open(job, job.task_groups(0))->place(alloc, {})) std::abort();
    }
    const double between = processor_us();
    v1::WhyResponse answer;
    explain_group({.cluster = cluster, .allocs = {}, .job = job}, job.task_groups(0), answer);
    if (answer.changes().empty()) std::abort();
    explained.push_back(processor_us() - between);
    decided.push_back(between - began);
  }
  std::printf("%6d nodes, why         decided in %.1f us, explained in %.1f us (%.0f x)\n", nodes, median(decided),
              median(explained), median(explained) / median(decided));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> sizes = {1000, 5000, 10000};
  if (argc > 1) sizes = {std::atoi(argv[1])};
  const Variant variants[] = {{.name = "plain"},
                              {.name = "four capacities", .capacities = 4},
                              {.name = "25 racks", .racks = true},
                              {.name = "distinct hosts", .hosts = true},
                              {.name = "affinity", .affinity = true},
                              {.name = "two constraints", .constraints = true},
                              {.name = "dynamic port", .port = true}};
  for (const int nodes : sizes) {
    for (const Variant& variant : variants) run(nodes, variant);
    run_why(nodes);
  }
  return 0;
}
