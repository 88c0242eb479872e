// The price of a log entry on the apply thread, from its command's bytes to the published commit: nanoseconds of
// processor time, messages decoded, allocations of memory. Through the kernel's table of commands and store, with the
// tables and apply functions of jobs, nodes and scheduler. Beside it the limit: one decoding and one encoding of the
// rows that the entry changes.
#include <dlfcn.h>
#include <google/protobuf/message_lite.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "drover/messages.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "jobs.pb.h"
#include "kernel/host/command_table.h"
#include "kernel/host/plugin_host.h"
#include "kernel/state/store.h"
#include "kernel/state/transaction.h"
#include "nodes.pb.h"
#include "plugins/jobs/tables.h"
#include "plugins/nodes/tables.h"
#include "plugins/scheduler/tables.h"
#include "scheduler.pb.h"

namespace {

uint64_t decodes = 0;
uint64_t allocations = 0;

}  // namespace

// In place of the library's own: every decoding of rows and commands goes through it.
namespace google::protobuf {
bool MessageLite::ParseFromArray(const void* data, int size) {
  ++decodes;
  using Parse = bool (*)(MessageLite*, const void*, int);
  static const auto real =
      reinterpret_cast<Parse>(dlsym(RTLD_NEXT, "_ZN6google8protobuf11MessageLite14ParseFromArrayEPKvi"));
  return real(this, data, size);
}
}  // namespace google::protobuf

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace drover {
namespace {

constexpr int kHistory = 20;  // evaluations of the job that are over
constexpr int kAllocations = 10;

double processor_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

struct Cost {
  double ns = 0, decodes = 0, allocations = 0;
};

Cost cost_of(int rounds, const std::function<void(int)>& step) {
  for (int i = 0; i < rounds / 10 + 1; ++i) step(-1 - i);  // warm
  const uint64_t decodes_before = decodes, allocations_before = allocations;
  const double began = processor_ns();
  for (int i = 0; i < rounds; ++i) step(i);
  const double n = rounds;
  return {.ns = (processor_ns() - began) / n,
          .decodes = static_cast<double>(decodes - decodes_before) / n,
          .allocations = static_cast<double>(allocations - allocations_before) / n};
}

class Log {
 public:
  Log() {
    const auto declare = [&](const char* plugin, auto&& tables) {
      const auto declarations =
          host::make_declarations(plugin, {store_, commands_, methods_, extensions_, configuration_});
      check(tables(*declarations));
    };
    declare("jobs", [&](Declarations& d) { return jobs::declare_tables(d, jobs_); });
    declare("nodes", [&](Declarations& d) { return nodes::declare_tables(d, nodes_); });
    declare("scheduler", [&](Declarations& d) { return scheduler::declare_tables(d, scheduler_); });
  }

  template <typename Command>
  static std::string entry(const Command& command) {
    return host::encode_command(Command::descriptor()->full_name(), serialize(command));
  }
  // As kernel/state_machine.cc does.
  void apply(const std::string& entry) {
    auto transaction = store_.begin(++index_);
    const auto command = host::decode_command(entry);
    check(command.status());
    check(commands_.apply(command->name, command->payload, index_, *transaction).status());
    transaction->commit();
  }
  template <typename Command>
  void apply(const Command& command) {
    apply(entry(command));
  }

  static void check(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", status.to_string().c_str());
    std::exit(1);
  }

 private:
  state::Store store_;
  host::CommandTable commands_;
  rpc::MethodTable methods_;
  host::ExtensionTable extensions_;
  DeclaredBlocks configuration_;
  jobs::Tables jobs_;
  Table<v1::Node> nodes_;
  scheduler::Tables scheduler_;
  uint64_t index_ = 0;
};

v1::Node make_node(const std::string& id) {
  v1::Node node;
  node.set_id(id);
  node.set_secret_id(Uuid::random().bytes());
  node.set_name("node-1");
  node.set_datacenter("dc1");
  node.set_status(v1::NODE_STATUS_READY);
  for (int i = 0; i < 60; ++i) (*node.mutable_attributes())["attribute.number." + std::to_string(i)] = "a value of it";
  return node;
}

v1::Job make_job(const std::string& id) {
  v1::Job job;
  job.set_id(id);
  job.set_name(id);
  job.set_namespace_("default");
  job.set_type("service");
  job.set_priority(50);
  job.add_datacenters("dc1");
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("app");
  group.set_count(kAllocations);
  for (const char* name : {"web", "sidecar"}) {
    v1::Task& task = *group.add_tasks();
    task.set_name(name);
    task.set_driver("raw_exec");
    task.set_config(R"({"command":"/usr/bin/web","args":["-listen","${NOMAD_ADDR_http}"]})");
    for (int i = 0; i < 10; ++i) (*task.mutable_env())["VARIABLE_" + std::to_string(i)] = "a value of some length";
  }
  return job;
}

v1::Evaluation make_evaluation(const std::string& job_id, v1::EvalStatus status) {
  v1::Evaluation eval;
  eval.set_id(Uuid::random().bytes());
  eval.set_namespace_("default");
  eval.set_job_id(job_id);
  eval.set_type("service");
  eval.set_priority(50);
  eval.set_triggered_by("job-register");
  eval.set_status(status);
  return eval;
}

v1::Allocation make_allocation(const std::string& job_id, const std::string& node_id) {
  v1::Allocation alloc;
  alloc.set_id(Uuid::random().bytes());
  alloc.set_eval_id(Uuid::random().bytes());
  alloc.set_node_id(node_id);
  alloc.set_namespace_("default");
  alloc.set_job_id(job_id);
  alloc.set_job_create_index(1);
  alloc.set_task_group("app");
  alloc.set_name(job_id + ".app[0]");
  alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
  alloc.set_client_status(v1::CLIENT_STATUS_PENDING);
  for (const char* task : {"web", "sidecar"}) {
    auto& resources = (*alloc.mutable_allocated_resources()->mutable_tasks())[task];
    resources.mutable_cpu()->set_cpu_shares(100);
    resources.mutable_memory()->set_memory_mb(256);
  }
  (*alloc.mutable_metrics()->mutable_nodes_available())["dc1"] = 1;
  alloc.mutable_metrics()->set_nodes_evaluated(1);
  return alloc;
}

v1::Allocation make_report(const v1::Allocation& alloc, bool is_running) {
  v1::Allocation report;
  report.set_id(alloc.id());
  report.set_client_status(is_running ? v1::CLIENT_STATUS_RUNNING : v1::CLIENT_STATUS_PENDING);
  report.set_client_description("Tasks are running");
  for (const char* task : {"web", "sidecar"}) {
    v1::TaskState& state = (*report.mutable_task_states())[task];
    for (const char* type : {"Received", "Task Setup", "Started"}) {
      v1::TaskEvent& event = *state.add_events();
      event.set_type(type);
      event.set_time(1);
      event.set_display_message("what is shown of it");
    }
  }
  return report;
}

// One decoding and one encoding of such a row.
template <typename Row>
Cost limit_of(const Row& row, int rows) {
  const std::string bytes = serialize(row);
  return cost_of(20000 / rows, [&](int) {
    for (int i = 0; i < rows; ++i) {
      const Row decoded = Table<Row>::parse(bytes);
      if (serialize(decoded).size() != bytes.size()) std::exit(1);
    }
  });
}

void print(const char* name, const Cost& cost, const Cost& limit) {
  std::printf("%-26s %10.0f %9.1f %12.1f %10.0f %8.1f\n", name, cost.ns, cost.decodes, cost.allocations, limit.ns,
              cost.ns / limit.ns);
}

void run() {
  Log log;
  const std::string node_id = Uuid::random().bytes();
  v1::NodeRegistered node;
  *node.mutable_node() = make_node(node_id);
  log.apply(node);
  v1::JobRegistered job;
  *job.mutable_job() = make_job("web");
  log.apply(job);
  for (int i = 0; i < kHistory; ++i) {
    v1::EvalsUpdated evals;
    *evals.add_evaluations() = make_evaluation("web", v1::EVAL_STATUS_COMPLETE);
    log.apply(evals);
  }
  v1::PlanApplied placed;
  for (int i = 0; i < kAllocations; ++i) *placed.add_placed() = make_allocation("web", node_id);
  log.apply(placed);

  std::printf("%-26s %10s %9s %12s %10s %8s\n", "one log entry", "ns", "decodes", "allocations", "limit, ns", "times");
  const v1::Allocation& one = placed.placed(0);
  std::string reports[2];
  for (int i = 0; i < 2; ++i) {
    v1::AllocationsReported report;
    *report.add_allocations() = make_report(one, i == 1);
    reports[i] = Log::entry(report);
  }
  v1::Allocation whole = one;
  *whole.mutable_task_states() = make_report(one, true).task_states();
  print("a status report", cost_of(20000, [&](int i) { log.apply(reports[i & 1]); }), limit_of(whole, 1));

  std::vector<std::string> plans;
  for (int i = 0; i < 230; ++i) {
    v1::PlanApplied plan;
    for (int k = 0; k < 100; ++k) *plan.add_placed() = make_allocation("web", node_id);
    plans.push_back(Log::entry(plan));
  }
  size_t next = 0;
  print("a plan of 100 placements", cost_of(200, [&](int) { log.apply(plans[next++]); }), limit_of(one, 100));

  std::vector<std::string> registrations;
  for (int i = 0; i < 2300; ++i) {
    v1::JobRegistered command;
    *command.mutable_job() = make_job("job-" + std::to_string(i));
    *command.mutable_evaluation() = make_evaluation(command.job().id(), v1::EVAL_STATUS_PENDING);
    registrations.push_back(Log::entry(command));
  }
  next = 0;
  print("a registration", cost_of(2000, [&](int) { log.apply(registrations[next++]); }), limit_of(job.job(), 1));
}

// Shows if entries that delete hold the apply thread for less than two milliseconds: each evaluation is of another job,
// which is the dearest case, since the numbers of each job change with it.
void run_deletions() {
  Log log;
  std::printf("\n%-42s %10s %10s\n", "an entry that deletes", "ns", "ns each");
  const auto measure = [&](const char* name, int each, int rounds, const auto& fill) {
    std::vector<std::string> entries;
    for (int i = 0; i < rounds + rounds / 10 + 1; ++i) entries.push_back(fill(each, i));
    size_t next = 0;
    const double ns = cost_of(rounds, [&](int) { log.apply(entries[next++]); }).ns;
    std::printf("%4d %-37s %10.0f %10.0f\n", each, name, ns, ns / each);
  };
  const auto job_name = [](int each, int round, int i) { return "job-" + std::to_string(round * each + i); };
  const std::string node_id = Uuid::random().bytes();
  const auto deletion_of_evals = [&log](int each, const auto& name_of) {
    v1::EvalsUpdated made;
    v1::EvalsDeleted deleted;
    for (int i = 0; i < each; ++i) {
      *made.add_evaluations() = make_evaluation(name_of(i), v1::EVAL_STATUS_PENDING);
      deleted.add_eval_ids(made.evaluations(i).id());
    }
    log.apply(made);
    return Log::entry(deleted);
  };
  measure("evaluations of as many jobs", 150, 200, [&](int each, int round) {
    return deletion_of_evals(each, [&](int i) { return job_name(each, round, i); });
  });
  measure("evaluations of one job", 150, 200, [&](int each, int) {
    return deletion_of_evals(each, [](int) { return std::string("web"); });
  });
  measure("allocations of as many jobs", 50, 200, [&](int each, int round) {
    v1::PlanApplied made;
    v1::EvalsDeleted deleted;
    for (int i = 0; i < each; ++i) {
      *made.add_placed() = make_allocation(job_name(each, round, i), node_id);
      *made.mutable_placed(i)->mutable_task_states() = make_report(made.placed(i), true).task_states();
      deleted.add_alloc_ids(made.placed(i).id());
    }
    log.apply(made);
    return Log::entry(deleted);
  });
  measure("jobs with six versions", 30, 40, [&](int each, int round) {
    v1::JobsDeleted deleted;
    for (int i = 0; i < each; ++i) {
      v1::JobRegistered made;
      *made.mutable_job() = make_job(job_name(each, round, i));
      for (int version = 0; version < 6; ++version) {
        made.mutable_job()->set_priority(50 + version);
        log.apply(made);
      }
      auto& name = *deleted.add_jobs();
      name.set_namespace_("default");
      name.set_id(made.job().id());
    }
    return Log::entry(deleted);
  });
  measure("nodes", 60, 40, [&](int each, int) {
    v1::NodesDeleted deleted;
    for (int i = 0; i < each; ++i) {
      v1::NodeRegistered made;
      *made.mutable_node() = make_node(Uuid::random().bytes());
      log.apply(made);
      deleted.add_node_ids(made.node().id());
    }
    return Log::entry(deleted);
  });
}

}  // namespace
}  // namespace drover

int main() {
  drover::run();
  drover::run_deletions();
}
