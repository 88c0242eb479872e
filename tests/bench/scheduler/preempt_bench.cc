// Preemption: a group of a more important job on a cluster that is full of others, of one to five priorities.
//
//   preempt_bench [nodes]      default: 1,000, 5,000
//
// Beside it in the same rounds, in turn: the exact algorithm on every node, without a bound, and reading the columns
// once. Both must find a place of the same score. Processor time of one thread; the median of five rounds.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "drover/uuid.h"
#include "plugins/scheduler/placing/board.h"
#include "tests/bench/scheduler/measure.h"

namespace {

using namespace drover;
using namespace drover::bench;
using namespace drover::scheduler;

constexpr int kRounds = 5;
constexpr int kFurther = 20;
constexpr int kJobs = 500;

v1::Job make_job() {
  v1::Job job;
  job.set_id("bench");
  job.set_namespace_("default");
  job.set_type("service");
  job.set_priority(100);
  job.set_node_pool("default");
  job.add_datacenters("*");
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("app");
  group.set_count(1 + kFurther);
  v1::Task& task = *group.add_tasks();
  task.set_name("main");
  task.set_driver("exec");
  task.mutable_resources()->set_cpu(3000);
  task.mutable_resources()->set_memory_mb(6000);
  return job;
}

// Other jobs and their allocations, until no node has room for one more.
struct World {
  World(int nodes, int priorities) {
    std::mt19937_64 random(7);
    for (int i = 0; i < kJobs; ++i) {
      v1::Job& job = jobs["job" + std::to_string(i)];
      job.set_priority(10 * (1 + i % priorities));
      job.add_task_groups()->set_name("app");
      job.mutable_task_groups(0)->mutable_migrate()->set_max_parallel(1);
    }
    for (int i = 0; i < nodes; ++i) {
      auto node = std::make_shared<const v1::Node>(make_node(i));
      const std::string id = node->id();
      cluster.put_node(std::move(node));
      Amount left{32000, 65536, 500000};
      while (true) {
        Holding holding{.id = Uuid::random().bytes(),
                        .name_space = "default",
                        .job_id = "job" + std::to_string(random() % kJobs),
                        .group = "app",
                        .usage = {}};
        holding.usage.amount = {.cpu = 500 + static_cast<int64_t>(random() % 1500),
                                .memory_mb = 1000 + static_cast<int64_t>(random() % 3000),
                                .disk_mb = 300};
        left -= holding.usage.amount;
        if (left.cpu < 0 || left.memory_mb < 0) break;
        cluster.add(id, std::make_shared<const Holding>(std::move(holding)));
        ++held;
      }
    }
  }
  OtherJobs others() const {
    return {
        .job = [this](const std::string&, const std::string& id, uint64_t) -> const v1::Job* { return &jobs.at(id); },
        .alloc = {}};
  }

  std::map<std::string, v1::Job> jobs;
  Cluster cluster;
  int held = 0;
};

// The score of the best place, by the exact algorithm on every node.
double best_of_all(const World& world, const v1::Job& job) {
  const v1::TaskGroup& group = job.task_groups(0);
  double best = 0;
  world.cluster.visit([&](const ClusterNode& node) {
    std::vector<Candidate> candidates;
    for (const auto& holding : node.holdings) {
      const v1::Job& other = world.jobs.at(holding->job_id);
      candidates.push_back({.holding = holding,
                            .priority = other.priority(),
                            .max_parallel = other.task_groups(0).migrate().max_parallel()});
    }
    const auto found = preempt(*node.node, node.room, group, job.priority(), std::move(candidates));
    if (!found) return;
    const double packing = found->room.binpack(found->room.ask_of(group)) / 18;
    best = std::max(best, (packing + preemption_score(found->leaving)) / 2);
  });
  return best;
}

double read_columns(const Cluster& cluster) {
  const double began = processor_us();
  int64_t free = 0;
  for (size_t i = 0; i < cluster.blocks(); ++i) {
    for (size_t at = 0; at < kSlots; ++at) {
      free += cluster.block(i).free_cpu[at] + cluster.block(i).free_memory[at] + cluster.block(i).free_disk[at];
    }
  }
  if (free == 1) std::abort();
  return processor_us() - began;
}

void run(int nodes, int priorities) {
  const World world(nodes, priorities);
  const v1::Job job = make_job();
  const std::vector<v1::Allocation> none;
  std::vector<double> first, further, exhaustive, columns;
  for (int round = 0; round < kRounds; ++round) {
    v1::Allocation alloc;
    alloc.set_id(Uuid::random().bytes());
    const double began = processor_us();
    ClusterBoard board(world.cluster, none, "seed", {.preempts = true}, world.others());
    const auto placer = board.open(job, job.task_groups(0));
    if (!placer->place(alloc, {}) || placer->evicted().empty()) std::abort();
    const double placed = processor_us();
    for (int i = 0; i < kFurther; ++i) {
      v1::Allocation more;
      more.set_id(Uuid::random().bytes());
      if (!placer->place(more, {}) || placer->evicted().empty()) std::abort();
    }
    const double all = processor_us();
    const double best = best_of_all(world, job);
    exhaustive.push_back(processor_us() - all);
    columns.push_back(read_columns(world.cluster));
    first.push_back(placed - began);
    further.push_back((all - placed) / kFurther);
    if (std::abs(alloc.metrics().score_meta_data(0).norm_score() - best) > 1e-9) std::abort();
  }
  std::printf(
      "%6d nodes, %6d held, %d priorities  first %8.0f us, each further %7.0f us; every node %8.0f us "
      "(%.1f and %.1f x these; the columns %.1f us)\n",
      nodes, world.held, priorities, median(first), median(further), median(exhaustive),
      median(exhaustive) / median(first), median(exhaustive) / median(further), median(columns));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> sizes = {1000, 5000};
  if (argc > 1) sizes = {std::atoi(argv[1])};
  for (const int nodes : sizes) {
    for (int priorities = 1; priorities <= 5; ++priorities) run(nodes, priorities);
  }
  return 0;
}
