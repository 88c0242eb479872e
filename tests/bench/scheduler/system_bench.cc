// A system job: one allocation on each of many nodes, then a node joins.
//
//   system_bench [nodes]      default: 5,000, 10,000
//
// Whole decisions without rows or a log: from the fork of the cluster to the plan. Beside them in the same rounds, in
// turn: two powers and the maximum of 64 numbers for each node. Processor time of one thread; the median of five
// rounds.
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "drover/uuid.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/trial.pb.h"
#include "plugins/scheduler/deciding/system_scheduler.h"
#include "plugins/scheduler/placing/board.h"
#include "tests/bench/scheduler/measure.h"

namespace {

using namespace drover;
using namespace drover::bench;
using namespace drover::scheduler;

constexpr int kRounds = 5;

v1::Job make_job() {
  v1::Job job;
  job.set_id("bench");
  job.set_name("bench");
  job.set_namespace_("default");
  job.set_type("system");
  job.set_priority(50);
  job.set_node_pool("default");
  job.add_datacenters("*");
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("app");
  group.set_count(1);
  v1::Task& task = *group.add_tasks();
  task.set_name("main");
  task.set_driver("exec");
  task.mutable_resources()->set_cpu(100);
  task.mutable_resources()->set_memory_mb(64);
  return job;
}

struct Decided {
  double us;
  std::vector<v1::Allocation> placed;
};

Decided decide(const Cluster& cluster, const v1::Job& job, const std::vector<v1::Allocation>& allocs) {
  v1::Evaluation eval;
  eval.set_id(std::string(16, 'e'));
  eval.set_namespace_(job.namespace_());
  eval.set_job_id(job.id());
  const v1::SchedulerConfiguration config;
  const Scheduler::Input input{.eval = eval,
                               .job = &job,
                               .allocs = allocs,
                               .version = [](uint64_t) { return nullptr; },
                               .deployments = nullptr,
                               .config = config,
                               .now = 1,
                               .new_id = [] { return Uuid::random().bytes(); }};
  const double began = processor_us();
  ClusterBoard board(cluster, allocs, eval.id());
  Scheduler::Decision decision = SystemScheduler(/*is_sysbatch=*/false).decide(input, board);
  return {processor_us() - began, std::move(decision.plan.placed)};
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
  return processor_us() - began;
}

void run(int nodes) {
  const v1::Job job = make_job();
  Cluster cluster;
  for (int i = 0; i < nodes; ++i) cluster.put_node(std::make_shared<const v1::Node>(make_node(i)));
  std::vector<v1::Allocation> there = decide(cluster, job, {}).placed;
  if (there.size() != static_cast<size_t>(nodes)) std::abort();
  Cluster joined = cluster;
  for (v1::Allocation& alloc : there) {
    alloc.set_client_status(v1::CLIENT_STATUS_RUNNING);
    joined.add(alloc);
  }
  joined.put_node(std::make_shared<const v1::Node>(make_node(nodes)));
  std::vector<double> all, one, bounds;
  for (int round = 0; round < kRounds; ++round) {
    all.push_back(decide(cluster, job, {}).us);
    const Decided next = decide(joined, job, there);
    if (next.placed.size() != 1) std::abort();
    one.push_back(next.us);
    bounds.push_back(two_powers_and_a_maximum(nodes));
  }
  std::printf(
      "%6d nodes  everywhere %9.0f us, %5.2f us each (%.1f x the powers); one joins %8.0f us, %5.2f us a node "
      "(%.1f x)\n",
      nodes, median(all), median(all) / nodes, median(all) / median(bounds), median(one), median(one) / nodes,
      median(one) / median(bounds));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> sizes = {5000, 10000};
  if (argc > 1) sizes = {std::atoi(argv[1])};
  for (const int nodes : sizes) run(nodes);
  return 0;
}
