// The cost of one evaluation in a full cluster: a new job (of ten allocations) among 1,000 nodes and 20,000 allocations.
// The cluster is read from the state anew, or kept in columns that follow the change feed; beside both stands the
// decision alone, with a cluster that is there already.
//
//   scheduler_bench [nodes] [allocations] [count]
//
// Processor time of this thread, so that a busy machine matters less.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "drover/config.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/trial.pb.h"
#include "kernel/state/store.h"
#include "kernel/state/transaction.h"
#include "plugins/scheduler/columns.h"
#include "plugins/scheduler/deciding/decide.h"
#include "plugins/scheduler/deciding/generic_scheduler.h"
#include "plugins/scheduler/tables.h"

namespace {

using namespace drover;
using namespace drover::scheduler;

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Declares the plugin's tables in a store; its other declarations are not needed here.
class InStore final : public Declarations {
 public:
  explicit InStore(state::Store& store) : store_(store) {}
  Result<TableId> table(TableSpec spec) override { return store_.add_table(std::move(spec)); }
  Result<TableId> other_table(std::string_view name) override {
    auto found = store_.find_table(name);
    if (!found) return not_found(std::string(name));
    return *found;
  }
  Status command(std::string, ApplyFunction) override { return ok_status(); }
  using Declarations::command;
  Status service(std::string_view, std::vector<MethodBinding>) override { return ok_status(); }
  Status configuration(std::string, ConfigSchema) override { return ok_status(); }
  Status extension(std::string, std::string, void*) override { return ok_status(); }

 private:
  state::Store& store_;
};

v1::Node make_node(int number) {
  v1::Node node;
  node.set_id(Uuid::random().bytes());
  node.set_name("node-" + std::to_string(number));
  node.set_datacenter("dc1");
  node.set_computed_class("v1:" + std::to_string(number % 5));
  node.set_status(v1::NODE_STATUS_READY);
  node.set_scheduling_eligibility("eligible");
  node.mutable_node_resources()->mutable_cpu()->set_cpu_shares(32000);
  node.mutable_node_resources()->mutable_memory()->set_memory_mb(65536);
  node.mutable_node_resources()->mutable_disk()->set_disk_mb(500000);
  v1::NetworkResource& network = *node.mutable_node_resources()->add_networks();
  network.set_mode("host");
  network.set_device("eth0");
  network.set_ip("10.0.0.1");
  v1::DriverInfo& driver = (*node.mutable_drivers())["raw_exec"];
  driver.set_detected(true);
  driver.set_healthy(true);
  for (int i = 0; i < 30; ++i) (*node.mutable_attributes())["attribute." + std::to_string(i)] = "value";
  (*node.mutable_attributes())["kernel.name"] = "linux";
  return node;
}

v1::Job make_job(int count) {
  v1::Job job;
  job.set_id("bench");
  job.set_namespace_("default");
  job.set_type("service");
  job.set_priority(50);
  job.add_datacenters("*");
  v1::Constraint& constraint = *job.add_constraints();
  constraint.set_l_target("${attr.kernel.name}");
  constraint.set_operand("=");
  constraint.set_r_target("linux");
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("app");
  group.set_count(count);
  v1::NetworkResource& network = *group.add_networks();
  network.set_mode("host");
  network.add_dynamic_ports()->set_label("http");
  v1::Task& task = *group.add_tasks();
  task.set_name("main");
  task.set_driver("raw_exec");
  task.mutable_resources()->set_cpu(100);
  task.mutable_resources()->set_memory_mb(64);
  return job;
}

v1::Allocation make_alloc(int number, const std::string& node) {
  v1::Allocation alloc;
  alloc.set_id(Uuid::random().bytes());
  alloc.set_namespace_("default");
  alloc.set_job_id("job-" + std::to_string(number / 10));
  alloc.set_task_group("app");
  alloc.set_name(alloc.job_id() + ".app[" + std::to_string(number % 10) + "]");
  alloc.set_node_id(node);
  alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
  alloc.set_client_status(v1::CLIENT_STATUS_RUNNING);
  auto& resources = *alloc.mutable_allocated_resources();
  resources.mutable_shared()->add_ports()->set_value(20000 + number % 1000);
  resources.mutable_shared()->set_disk_mb(300);
  auto& task = (*resources.mutable_tasks())["main"];
  task.mutable_cpu()->set_cpu_shares(100);
  task.mutable_memory()->set_memory_mb(64);
  auto& state = (*alloc.mutable_task_states())["main"];
  state.set_state("running");
  for (const char* type : {"Received", "Task Setup", "Started"}) state.add_events()->set_type(type);
  return alloc;
}

double per_second(const char* name, int rounds, double beside, const std::function<void()>& run) {
  const double began = processor_seconds();
  for (int i = 0; i < rounds; ++i) run();
  const double rate = rounds / (processor_seconds() - began);
  std::printf("  %-34s %10.1f a second", name, rate);
  if (beside > 0) std::printf("   %.2f of the decision alone", rate / beside);
  std::printf("\n");
  return rate;
}

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 1000, allocs = argc > 2 ? std::atoi(argv[2]) : 20000;
  const int count = argc > 3 ? std::atoi(argv[3]) : 10;
  state::Store store;
  InStore declarations(store);
  const TableId jobs = *store.add_table(jobs_table().spec());
  (void)*store.add_table(job_versions_table().spec());
  const TableId node_table = *store.add_table(nodes_table().spec());
  Tables tables;
  if (Status status = declare_tables(declarations, tables); !status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return 1;
  }
  const v1::Job job = make_job(count);
  std::vector<std::string> ids;
  {
    auto transaction = store.begin(1);
    bool written = Table<v1::Job>(jobs).put(*transaction, job).ok();
    for (int i = 0; i < nodes; ++i) {
      const v1::Node node = make_node(i);
      ids.push_back(node.id());
      written = written && Table<v1::Node>(node_table).put(*transaction, node).ok();
    }
    for (int i = 0; i < allocs; ++i) {
      const std::string& node = ids[static_cast<size_t>(i) % ids.size()];
      written = written && tables.allocs.put(*transaction, make_alloc(i, node)).ok();
    }
    transaction->commit();
    if (!written) return 1;
  }
  v1::Evaluation eval;
  eval.set_id(Uuid::random().bytes());
  eval.set_namespace_(job.namespace_());
  eval.set_job_id(job.id());
  eval.set_type(job.type());
  const auto view = store.shared_snapshot("bench");
  const auto decided = [&](Cluster cluster) {
    const auto decision =
        decide_on(GenericScheduler(/*is_batch=*/false), DecisionInput(eval, *view, tables), 1, cluster);
    if (decision.plan.placed.size() != static_cast<size_t>(count)) std::abort();
  };
  Columns columns(tables);
  columns.load(*view);
  std::printf("%d nodes, %d allocations, a job of %d\n", nodes, allocs, count);
  constexpr int kRounds = 2000;
  std::vector<Cluster> ready(kRounds, columns.cluster());
  size_t next = 0;
  const double alone = per_second("the decision alone", kRounds, 0, [&] { decided(std::move(ready[next++])); });
  const double anew = per_second("with the cluster read anew", 4, alone, [&] { decided(cluster_of(*view, tables)); });
  const double kept = per_second("with a copy of the columns", kRounds, alone, [&] { decided(columns.cluster()); });
  std::printf("  columns / read anew: %.1f\n", kept / anew);

  // The cost of the columns as the cluster changes.
  const std::string row = serialize(make_alloc(7, ids[7]));
  v1::Allocation ended = make_alloc(7, ids[7]);
  ended.set_client_status(v1::CLIENT_STATUS_COMPLETE);
  const std::string after = serialize(ended);
  per_second("an allocation followed", 20000, 0, [&] {
    columns.apply({.table = tables.allocs.id(), .key = {}, .before = {}, .after = ChangedRow(row)});
    columns.apply({.table = tables.allocs.id(), .key = {}, .before = ChangedRow(row), .after = ChangedRow(after)});
  });
  return 0;
}
