// Reconciling one group of a service: finding what must change, without placing anything.
//
//   reconcile_bench [allocations]      default: 10, 100, 1,000, 10,000, 100,000
//
// Beside it in the same rounds, in turn: reading 32 bytes for each allocation. Processor time of one thread; the median
// of five rounds.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "drover/uuid.h"
#include "plugins/scheduler/deciding/reconcile.h"
#include "tests/bench/scheduler/measure.h"

namespace {

using namespace drover;
using namespace drover::bench;
using namespace drover::scheduler;

constexpr int kRounds = 5;
constexpr int kOnANode = 20;
constexpr int64_t kNow = 1'000'000'000'000'000;

v1::Job make_job(int count) {
  v1::Job job;
  job.set_id("bench");
  job.set_namespace_("default");
  job.set_type("service");
  job.set_create_index(1);
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("app");
  group.set_count(count);
  group.mutable_reschedule_policy()->set_unlimited(true);
  v1::Task& task = *group.add_tasks();
  task.set_name("main");
  task.set_driver("exec");
  return job;
}

struct World {
  explicit World(int count) : job(make_job(count)), before(job) {}
  void run() {
    const int count = job.task_groups(0).count();
    for (int i = 0; i < count; ++i) {
      v1::Allocation& alloc = allocs.emplace_back();
      alloc.set_id(Uuid::random().bytes());
      alloc.set_namespace_("default");
      alloc.set_job_id(job.id());
      alloc.set_job_create_index(1);
      alloc.set_task_group("app");
      alloc.set_name("bench.app[" + std::to_string(i) + "]");
      alloc.set_node_id("node" + std::to_string(i / kOnANode));
      alloc.set_create_index(10);
      alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
      alloc.set_client_status(v1::CLIENT_STATUS_RUNNING);
    }
  }

  v1::Job job, before;
  std::vector<v1::Allocation> allocs;
  std::string down;
};

struct Case {
  const char* name;
  void (*make)(World& world);
  size_t (*expected)(size_t count);  // placements and replacements
};

const Case kCases[] = {
    {"nothing changed", [](World& world) { world.run(); }, [](size_t) -> size_t { return 0; }},
    {"new", [](World&) {}, [](size_t count) { return count; }},
    {"scaled up by a tenth",
     [](World& world) {
       world.run();
       v1::TaskGroup& group = *world.job.mutable_task_groups(0);
       group.set_count(group.count() + group.count() / 10);
     },
     [](size_t count) { return count / 10; }},
    {"one failed",
     [](World& world) {
       world.run();
       world.allocs[3].set_client_status(v1::CLIENT_STATUS_FAILED);
     },
     [](size_t) -> size_t { return 1; }},
    {"a node is down",
     [](World& world) {
       world.run();
       world.down = "node0";
     },
     [](size_t count) { return std::min<size_t>(count, kOnANode); }},
    {"another version",
     [](World& world) {
       world.run();
       world.job.set_version(1);
       world.job.mutable_task_groups(0)->mutable_tasks(0)->set_user("other");
     },
     [](size_t count) { return count; }},
};

double reconcile_once(const World& world, size_t expected) {
  ReconcileInput input;
  input.job = &world.job;
  input.allocs = world.allocs;
  input.node_status = [&](const std::string& id) {
    return id == world.down ? v1::NODE_STATUS_DOWN : v1::NODE_STATUS_READY;
  };
  input.version = [&](uint64_t version) { return version == 0 ? &world.before : nullptr; };
  input.may_stay = [](const v1::Allocation&, const v1::TaskGroup&) { return true; };
  input.now = kNow;
  const double began = processor_us();
  const Reconciled result = reconcile(input);
  const double took = processor_us() - began;
  const GroupPlan& plan = result.groups.at("app");
  if (plan.placements.size() + plan.destructive.size() != expected) std::abort();
  return took;
}

double read_records(size_t count) {
  static std::vector<uint64_t> records;
  records.assign(4 * count, 1);
  const double began = processor_us();
  uint64_t sum = 0;
  for (const uint64_t word : records) sum += word;
  const double took = processor_us() - began;
  if (sum == 7) std::abort();
  return took;
}

void run(int count, const Case& c) {
  World world(count);
  c.make(world);
  const int repeat = std::max(1, 1000 / count);
  std::vector<double> times, bounds;
  for (int round = 0; round < kRounds; ++round) {
    double sum = 0;
    for (int i = 0; i < repeat; ++i) sum += reconcile_once(world, c.expected(static_cast<size_t>(count)));
    times.push_back(sum / repeat);
    bounds.push_back(read_records(static_cast<size_t>(count)));
  }
  std::printf("%7d allocations, %-20s %10.1f us, %6.0f ns each (%.0f x reading 32 bytes each)\n", count, c.name,
              median(times), median(times) * 1000 / count, median(times) / std::max(median(bounds), 0.01));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> sizes = {10, 100, 1000, 10000, 100000};
  if (argc > 1) sizes = {std::atoi(argv[1])};
  for (const int count : sizes) {
    for (const Case& c : kCases) run(count, c);
  }
  return 0;
}
