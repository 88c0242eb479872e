// Plans in flight: how many plans a second the applier brings through a log whose commits take a fixed time, by the
// allocations of a plan and by how many plans are under way at once. Through the kernel's store and table of commands
// in this process, with an entry that closes each plan's evaluation.
//
//   pipeline_bench
//
// A depth is bound by depth / latency, or by the processor: its time a plan stands beside the rate.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drover/config.h"
#include "drover/metrics.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "kernel/host/command_table.h"
#include "kernel/host/plugin_host.h"
#include "kernel/state/store.h"
#include "kernel/state/transaction.h"
#include "plugins/scheduler/columns.h"
#include "plugins/scheduler/eval_queue.h"
#include "plugins/scheduler/plan_applier.h"
#include "plugins/scheduler/tables.h"

namespace {

using namespace drover;
using namespace drover::scheduler;
using namespace std::chrono_literals;

constexpr int kNodes = 1000;

void check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  std::exit(1);
}

double seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

v1::Node make_node() {
  v1::Node node;
  node.set_id(Uuid::random().bytes());
  node.set_status(v1::NODE_STATUS_READY);
  node.set_scheduling_eligibility("eligible");
  node.mutable_node_resources()->mutable_cpu()->set_cpu_shares(int64_t{1} << 40);
  node.mutable_node_resources()->mutable_memory()->set_memory_mb(int64_t{1} << 40);
  node.mutable_node_resources()->mutable_disk()->set_disk_mb(int64_t{1} << 40);
  return node;
}

v1::Evaluation make_eval(int number, v1::EvalStatus status) {
  v1::Evaluation eval;
  eval.set_id(Uuid::random().bytes());
  eval.set_namespace_("default");
  eval.set_job_id("job-" + std::to_string(number));
  eval.set_type("service");
  eval.set_priority(50);
  eval.set_status(status);
  return eval;
}

// The kernel as far as the applier sees it; an entry is committed `latency` after it was proposed.
class Kernel final : public Host, private Caller {
 public:
  explicit Kernel(std::chrono::nanoseconds latency) : latency_(latency) {
    check(store_.add_table(jobs_table().spec()).status());
    check(store_.add_table(job_versions_table().spec()).status());
    nodes_ = Table<v1::Node>(*store_.add_table(nodes_table().spec()));
    check(commands_.add_command("jobs", "drover.v1.JobStatusChanged",
                                [](std::string_view, ApplyContext&) { return Result<std::string>(std::string()); }));
    const auto declarations =
        host::make_declarations("scheduler", {store_, commands_, methods_, extensions_, configuration_});
    check(declare_tables(*declarations, tables_));
    auto transaction = store_.begin(++index_);
    for (int i = 0; i < kNodes; ++i) {
      const v1::Node node = make_node();
      nodes.push_back(node.id());
      check(nodes_.put(*transaction, node));
    }
    transaction->commit();
    log_ = std::jthread([this](std::stop_token stop) { commit(stop); });
  }

  const Tables& tables() const { return tables_; }
  std::vector<std::string> nodes;

  // Host
  Clock& clock() override { return clock_; }
  Metrics& metrics() override { return metrics_; }
  void propose(std::string_view command, std::string payload, SteadyTime, uint64_t,
               std::function<void(Result<Applied>)> done) override {
    std::lock_guard lock(mutex_);
    entries_.push_back({std::string(command), std::move(payload), clock_.steady() + latency_, std::move(done)});
    changed_.notify_one();
  }
  Result<Applied> propose(std::string_view, std::string, SteadyTime, uint64_t) override { std::terminate(); }
  uint64_t term() const override { return 1; }
  RaftInfo raft() const override { return {}; }
  std::shared_ptr<const ReadView> snapshot() override { return store_.shared_snapshot("bench"); }
  std::pair<std::shared_ptr<const ReadView>, std::unique_ptr<ChangeSubscription>> follow(
      std::vector<TableId> tables) override {
    auto view = snapshot();
    const uint64_t index = view->index();
    return {std::move(view), std::make_unique<Feed>(store_.subscribe(index, std::move(tables)))};
  }
  // Nobody here asks for the following.
  const AgentInfo& agent() const override { std::terminate(); }
  Caller& caller() override { return *this; }
  LocalStore& local_store() override { std::terminate(); }
  const ConfigBlock* configuration(std::string_view) const override { return nullptr; }
  std::string configuration_json() const override { return "{}"; }
  Result<std::shared_ptr<const ReadView>> snapshot_at(uint64_t, SteadyTime, std::stop_token) override {
    return snapshot();
  }
  Result<TableId> find_table(std::string_view name) const override { return not_found(std::string(name)); }
  RaftControl* raft_control() override { return nullptr; }
  void identify_node(Uuid, std::string) override {}
  std::optional<Uuid> local_node() const override { return std::nullopt; }
  void post(std::function<void()> task) override { task(); }
  void post_after(std::chrono::nanoseconds, std::function<void()> task) override { task(); }
  std::vector<std::string> methods() const override { return {}; }
  void* find_extension(std::string_view, std::string_view) const override { return nullptr; }
  std::vector<std::string> extension_names(std::string_view) const override { return {}; }

 private:
  struct Entry {
    std::string command, payload;
    SteadyTime due;
    std::function<void(Result<Applied>)> done;
  };
  class Feed final : public ChangeSubscription {
   public:
    explicit Feed(state::Subscription feed) : feed_(std::move(feed)) {}
    Event next(SteadyTime deadline, std::stop_token stop) override {
      state::FeedEvent event = feed_.next(deadline, stop);
      if (event.kind == state::FeedEvent::Kind::batch) return std::move(event.batch);
      if (event.kind == state::FeedEvent::Kind::resync) return Resync{};
      return Timeout{};
    }

   private:
    state::Subscription feed_;
  };

  void commit(std::stop_token stop) {
    while (true) {
      Entry entry;
      {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [&] { return !entries_.empty(); })) return;
        entry = std::move(entries_.front());
        entries_.pop_front();
      }
      std::this_thread::sleep_until(entry.due);
      auto transaction = store_.begin(++index_);
      check(commands_.apply(entry.command, entry.payload, index_, *transaction).status());
      transaction->commit();
      entry.done(Applied{index_, ""});
    }
  }

  void call(CallContext, std::string, std::function<void(Result<Reply>)>) override { std::terminate(); }
  Result<Reply> call_and_wait(CallContext, std::string) override { std::terminate(); }
  Result<std::unique_ptr<StreamCall>> open(CallContext, std::string, StreamReceiver) override { std::terminate(); }

  const std::chrono::nanoseconds latency_;
  SystemClock clock_;
  Metrics metrics_;
  state::Store store_;
  host::CommandTable commands_;
  rpc::MethodTable methods_;
  host::ExtensionTable extensions_;
  DeclaredBlocks configuration_;
  Tables tables_;
  Table<v1::Node> nodes_;
  uint64_t index_ = 0;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Entry> entries_;
  std::jthread log_;
};

Plan plan_of(const v1::Evaluation& eval, int allocations, const std::vector<std::string>& nodes, int first) {
  Plan plan;
  for (int i = 0; i < allocations; ++i) {
    v1::Allocation& alloc = plan.placed.emplace_back();
    alloc.set_id(Uuid::random().bytes());
    alloc.set_eval_id(eval.id());
    alloc.set_namespace_("default");
    alloc.set_job_id(eval.job_id());
    alloc.set_task_group("app");
    alloc.set_name(eval.job_id() + ".app[" + std::to_string(i) + "]");
    alloc.set_node_id(nodes[static_cast<size_t>(first + i) % nodes.size()]);
    alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
    alloc.set_client_status(v1::CLIENT_STATUS_PENDING);
    auto& task = (*alloc.mutable_allocated_resources()->mutable_tasks())["main"];
    task.mutable_cpu()->set_cpu_shares(100);
    task.mutable_memory()->set_memory_mb(64);
  }
  return plan;
}

struct Rate {
  double plans;      // a second
  double processor;  // microseconds a plan
};

Rate measure(std::chrono::nanoseconds latency, int allocations, int plans, int depth) {
  Kernel kernel(latency);
  EvalQueue evals(kernel.clock());
  SharedColumns columns(kernel, kernel.tables());
  PlanApplier applier(kernel, columns, evals);
  std::vector<PlanApplier::Submission> ready;
  for (int i = 0; i < plans; ++i) {
    v1::Evaluation eval = make_eval(i, v1::EVAL_STATUS_COMPLETE);
    Plan plan = plan_of(eval, allocations, kernel.nodes, i * 7);
    ready.push_back({.plan = WeighedPlan(std::move(plan)),
                     .end = {std::move(eval)},
                     .eval_id = {},
                     .token = {},
                     .priority = 50,
                     .term = 1,
                     .done = {}});
  }
  (void)columns.look(0, kernel.clock().steady() + 1s, {});
  std::mutex mutex;
  std::condition_variable answered;
  int under_way = 0;
  const std::jthread applying([&](std::stop_token stop) { applier.run(stop); });
  const double began = seconds(CLOCK_MONOTONIC), processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
  for (PlanApplier::Submission& submission : ready) {
    {
      std::unique_lock lock(mutex);
      answered.wait(lock, [&] { return under_way < depth; });
      ++under_way;
    }
    evals.changed([&] {
      v1::Evaluation pending = submission.end[0];
      pending.set_status(v1::EVAL_STATUS_PENDING);
      return pending;
    }());
    const Delivery delivery = evals.dequeue({}, {}).value();
    submission.eval_id = delivery.eval.id();
    submission.token = delivery.token;
    submission.done = [&, delivery](const Result<PlanApplier::Outcome>& outcome) {
      check(outcome.status());
      if (!outcome->full) std::abort();
      evals.ack(delivery);
      std::lock_guard lock(mutex);
      --under_way;
      answered.notify_one();
    };
    applier.submit(std::move(submission));
  }
  {
    std::unique_lock lock(mutex);
    answered.wait(lock, [&] { return under_way == 0; });
  }
  return {.plans = plans / (seconds(CLOCK_MONOTONIC) - began),
          .processor = (seconds(CLOCK_PROCESS_CPUTIME_ID) - processor) / plans * 1e6};
}

}  // namespace

int main() {
  std::printf("plan.pipeline: plans a second through the applier, %d nodes\n", kNodes);
  std::printf("  %-12s %12s %6s %12s %12s %10s %14s\n", "commit", "allocations", "depth", "plans/s", "depth 1",
              "us a plan", "bound by");
  struct Size {
    int allocations, plans;
  };
  for (const auto latency : {1000us, 0us}) {
    for (const Size size : {Size{1, 1500}, Size{10, 600}, Size{1000, 20}}) {
      double alone = 0;
      for (const int wanted : {1, 16, 64, 256}) {
        const int depth = std::min(wanted, size.plans);
        const Rate rate = measure(latency, size.allocations, size.plans, depth);
        if (depth == 1) alone = rate.plans;
        const double by_log = latency > 0us ? depth / (static_cast<double>(latency.count()) * 1e-6) : 1e12;
        std::printf("  %9.1f ms %12d %6d %12.0f %11.1fx %10.1f %14s\n", static_cast<double>(latency.count()) / 1000,
                    size.allocations, wanted, rate.plans, rate.plans / alone, rate.processor,
                    by_log < 1e6 / rate.processor ? "commits" : "processor");
      }
    }
  }
  return 0;
}
