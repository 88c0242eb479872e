// Allocations in the log and in memory: bytes of each, by how many a plan places, beside the form that says each whole;
// a cluster that is filled job by job, from the decision to the published commit; and what a server does with so many
// afterwards: save, restore, follow, delete.
//
//   fill_bench [nodes] [allocations] [packed | whole: only fill]
//
// Processor time of this thread, so that a busy machine matters less. Nodes are of four sizes and differently full.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/config.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/trial.pb.h"
#include "kernel/host/command_table.h"
#include "kernel/host/plugin_host.h"
#include "kernel/state/snapshot_file.h"
#include "kernel/state/store.h"
#include "kernel/state/transaction.h"
#include "tests/bench/scheduler/measure.h"
#include "plugins/scheduler/columns.h"
#include "plugins/scheduler/deciding/decide.h"
#include "plugins/scheduler/deciding/generic_scheduler.h"
#include "plugins/scheduler/packing/pack.h"
#include "plugins/scheduler/tables.h"
#include "scheduler.pb.h"
#include "tests/support/string_stream.h"

namespace {

using namespace drover;
using namespace drover::scheduler;
using bench::processor_us;

enum class Form { whole, packed };

constexpr int64_t kTime = 1'700'000'000'000'000'000;

void check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  std::exit(1);
}

v1::Job job_of(int number, int count) {
  v1::Job job = bench::make_service_job("job-" + std::to_string(number), count, 10, 16);
  job.mutable_task_groups(0)->mutable_ephemeral_disk()->set_size_mb(300);
  job.set_create_index(static_cast<uint64_t>(1'000'000 + 10 * number));
  job.set_job_modify_index(job.create_index());
  return job;
}

// A server's state with the plugin's tables and commands, and the columns of a leader.
class Server {
 public:
  explicit Server(int nodes) : columns_(tables_) {
    jobs_ = Table<v1::Job>(*store_.add_table(jobs_table().spec()));
    check(store_.add_table(job_versions_table().spec()).status());
    nodes_ = Table<v1::Node>(*store_.add_table(nodes_table().spec()));
    for (const char* command : {"drover.v1.JobStatusChanged", "drover.v1.ServicesForgotten"}) {
      check(commands_.add_command("jobs", command,
                                  [](std::string_view, ApplyContext&) { return Result<std::string>(std::string()); }));
    }
    const auto declarations =
        host::make_declarations("scheduler", {store_, commands_, methods_, extensions_, configuration_});
    check(declare_tables(*declarations, tables_));
    auto transaction = store_.begin(++index_);
    for (int i = 0; i < nodes; ++i) {
      v1::Node node = bench::make_node(i);
      node.mutable_node_resources()->mutable_cpu()->set_cpu_shares(32000 + 4000 * (i % 4) + i % 977);
      check(nodes_.put(*transaction, node));
    }
    transaction->commit();
    columns_.load(*view());
    feed_ = std::make_unique<state::Subscription>(store_.subscribe(index_, {tables_.nodes, tables_.allocs.id()}));
  }

  struct Entry {
    std::string command, payload;
  };
  // The evaluation of a job, as its registration makes it.
  v1::Evaluation evaluate(const v1::Job& job) {
    v1::EvalsUpdated command;
    v1::Evaluation& eval = *command.add_evaluations();
    eval.set_id(Uuid::random().bytes());
    eval.set_namespace_(job.namespace_());
    eval.set_job_id(job.id());
    eval.set_type(job.type());
    eval.set_priority(50);
    eval.set_triggered_by("job-register");
    eval.set_job_modify_index(job.job_modify_index());
    eval.set_status(v1::EVAL_STATUS_PENDING);
    evals_.push_back(eval.id());
    command.set_time(kTime);
    apply(command);
    return *tables_.evals.get(*view(), evals_.back());
  }
  // The decision on it and its end, as the log gets it.
  Entry decide(v1::Evaluation eval, const v1::Job& job, int count, Form form) {
    const auto now = view();
    Cluster cluster = columns_.cluster();
    scheduler::Decision decision =
        decide_on(GenericScheduler(/*is_batch=*/false), DecisionInput(eval, *now, tables_, &job), 1, cluster);
    if (decision.plan.placed.size() != static_cast<size_t>(count)) std::abort();
    v1::PlanApplied command;
    for (v1::Evaluation& end : end_of(std::move(eval), decision, now->index())) {
      *command.add_evaluations() = std::move(end);
    }
    for (v1::Allocation& alloc : decision.plan.placed) {
      *command.add_placed() = std::move(alloc);
      command.mutable_placed()->rbegin()->mutable_metrics()->set_allocation_time(12345);
    }
    command.set_time(kTime + 20'000'000);
    if (form == Form::whole) return {v1::PlanApplied::descriptor()->full_name(), serialize(command)};
    const auto packed = packing::pack(command, packing::lookup_in(*now, tables_.nodes, tables_.evals.id()));
    return {v1::PlansPacked::descriptor()->full_name(), serialize(*packed)};
  }
  void apply(const Entry& entry) {
    auto transaction = store_.begin(++index_);
    check(commands_.apply(entry.command, entry.payload, index_, *transaction).status());
    transaction->commit();
  }
  template <typename Command>
  void apply(const Command& command) {
    apply({Command::descriptor()->full_name(), serialize(command)});
  }
  void follow() {
    while (seen_ < index_) {
      const state::FeedEvent event = feed_->next(SteadyTime::min());
      if (event.kind == state::FeedEvent::Kind::timed_out) return;
      if (event.kind != state::FeedEvent::Kind::batch) std::abort();
      for (const Change& change : event.batch->changes()) columns_.apply(change);
      seen_ = event.index;
    }
  }

  // Of the rows of allocations, with their indexes, and of what is said of them elsewhere.
  int64_t bytes() { return bytes_of("allocs") + bytes_of("alloc_metrics"); }
  int64_t bytes_of(std::string_view name) {
    for (const state::TableInfo& table : store_.tables()) {
      if (table.name == name) return table.bytes;
    }
    std::abort();
  }
  std::shared_ptr<const ReadView> view() { return store_.shared_snapshot("bench"); }
  state::Store& store() { return store_; }
  const Tables& tables() const { return tables_; }
  const std::vector<std::string>& evals() const { return evals_; }

 private:
  state::Store store_{{.feed_batches = 4, .feed_bytes = 1 << 28}};
  host::CommandTable commands_;
  rpc::MethodTable methods_;
  host::ExtensionTable extensions_;
  DeclaredBlocks configuration_;
  Tables tables_;
  Table<v1::Job> jobs_;
  Table<v1::Node> nodes_;
  Columns columns_;
  std::unique_ptr<state::Subscription> feed_;
  uint64_t index_ = 0, seen_ = 0;
  std::vector<std::string> evals_;
};

struct Size {
  double log, state;  // bytes an allocation
};

Size size_of(int nodes, int count, Form form) {
  Server server(nodes);
  const int jobs = std::max(20, 1000 / count);
  // Some is there before: then the scores of nodes differ.
  for (int i = 0; i < jobs; ++i) {
    const v1::Job job = job_of(i, count);
    server.apply(server.decide(server.evaluate(job), job, count, form));
    server.follow();
  }
  const int64_t before = server.bytes();
  size_t log = 0;
  for (int i = jobs; i < 2 * jobs; ++i) {
    const v1::Job job = job_of(i, count);
    const Server::Entry entry = server.decide(server.evaluate(job), job, count, form);
    log += entry.payload.size();
    server.apply(entry);
    server.follow();
  }
  const double allocs = static_cast<double>(jobs) * count;
  return {static_cast<double>(log) / allocs, static_cast<double>(server.bytes() - before) / allocs};
}

void bytes(int nodes) {
  std::printf("bytes an allocation, the end of its evaluation included; %d nodes\n", nodes);
  std::printf("  %8s %12s %12s %8s %14s %14s %8s\n", "a plan", "log, whole", "log, packed", "times", "rows, whole",
              "rows, packed", "times");
  for (const int count : {1, 10, 1000}) {
    const Size whole = size_of(nodes, count, Form::whole), packed = size_of(nodes, count, Form::packed);
    std::printf("  %8d %12.1f %12.1f %8.1f %14.0f %14.0f %8.1f\n", count, whole.log, packed.log, whole.log / packed.log,
                whole.state, packed.state, whole.state / packed.state);
  }
}

size_t memory() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

void fill(int nodes, int allocations, Form form) {
  constexpr int kEach = 1000;
  const int jobs = allocations / kEach;
  Server server(nodes);
  const size_t empty = memory();
  std::vector<double> times, decided, applied;
  size_t log = 0;
  for (int i = 0; i < jobs; ++i) {
    const v1::Job job = job_of(i, kEach);
    v1::Evaluation eval = server.evaluate(job);
    const double began = processor_us();
    const Server::Entry entry = server.decide(std::move(eval), job, kEach, form);
    const double proposed = processor_us();
    server.apply(entry);
    const double there = processor_us();
    server.follow();
    log += entry.payload.size();
    times.push_back((processor_us() - began) / kEach);
    decided.push_back((proposed - began) / kEach);
    applied.push_back((there - proposed) / kEach);
  }
  const auto tenth = static_cast<long>(std::max<size_t>(times.size() / 10, 1));
  const double first = bench::median({times.begin(), times.begin() + tenth});
  const double last = bench::median({times.end() - tenth, times.end()});
  double sum = 0;
  for (const double time : times) sum += time * kEach * 1e-6;
  std::printf("\n%d allocations on %d nodes, jobs of %d\n", allocations, nodes, kEach);
  std::printf("  %.1f s, %.0f a second; %.1f us each: %.1f decided and packed, %.1f applied, the rest followed\n", sum,
              allocations / sum, bench::median(times), bench::median(decided), bench::median(applied));
  std::printf("  last tenth / first tenth: %.2f\n", last / first);
  std::printf("  log: %.1f bytes each; state: %.0f, %.0f of an evaluation; all memory with a leader's columns: %.0f\n",
              static_cast<double>(log) / allocations, static_cast<double>(server.bytes()) / allocations,
              static_cast<double>(server.bytes_of("evals")) / static_cast<double>(server.evals().size()),
              static_cast<double>(memory() - empty) / allocations);

  StringSink sink;
  double began = processor_us();
  check(state::write_snapshot(*server.store().snapshot("bench"), sink));
  const double saved = processor_us() - began;
  Server other(1);
  StringSource source(sink.bytes);
  began = processor_us();
  check(other.store().restore(source));
  const double restored = processor_us() - began;
  began = processor_us();
  Columns columns(other.tables());
  columns.load(*other.view());
  const double loaded = processor_us() - began;
  std::printf("  snapshot: %.0f bytes each, saved in %.2f s, restored in %.2f s; columns of a new leader in %.2f s\n",
              static_cast<double>(sink.bytes.size()) / allocations, saved * 1e-6, restored * 1e-6, loaded * 1e-6);

  const auto steps = [&](const char* what, size_t each, const std::vector<std::string>& ids, auto add) {
    std::vector<double> took;
    for (size_t i = 0; i + each <= ids.size() && took.size() < 200; i += each) {
      v1::EvalsDeleted command;
      for (size_t k = i; k < i + each; ++k) add(command, ids[k]);
      const double step = processor_us();
      server.apply(command);
      took.push_back(processor_us() - step);
      server.follow();
    }
    if (took.empty()) return;
    std::printf("  deleted, %zu %s an entry: %.2f ms, %.2f at the most\n", each, what, bench::median(took) / 1000,
                *std::ranges::max_element(took) / 1000);
  };
  std::vector<std::string> allocs;
  const auto view = server.view();
  for (auto cursor = view->scan(server.tables().allocs.id(), kPrimary, KeyRange::all());
       cursor->valid() && allocs.size() < 10000; cursor->next()) {
    allocs.emplace_back(cursor->key());
  }
  steps("evaluations", 25, server.evals(), [](v1::EvalsDeleted& all, const std::string& id) { all.add_eval_ids(id); });
  steps("allocations", 40, allocs, [](v1::EvalsDeleted& all, const std::string& id) { all.add_alloc_ids(id); });
}

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 5000, allocations = argc > 2 ? std::atoi(argv[2]) : 100000;
  if (argc <= 3) bytes(nodes);
  fill(nodes, allocations, argc > 3 && std::string_view(argv[3]) == "whole" ? Form::whole : Form::packed);
  return 0;
}
