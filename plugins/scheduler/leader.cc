#include "leader.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <unordered_map>

#include "drover/log.h"
#include "drover/model/allocation.h"
#include "drover/model/evaluation.h"
#include "drover/model/job.h"
#include "drover/model/node.h"
#include "drover/paced_changes.h"
#include "drover/scheduler.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/job.pb.h"
#include "plan_applier.h"
#include "plans/sticky_claims.h"
#include "scheduler.pb.h"
#include "settings/config_rpc.h"
#include "volumes/coming_claims.h"
#include "volumes/gains.h"
#include "worker.h"

namespace drover::scheduler {
namespace {

// A configuration made for Nomad may name these, whether they have a scheduler here or not.
constexpr std::string_view kTypesOfNomad[] = {"service", "batch", "system", "sysbatch", "_core"};

using namespace std::chrono_literals;

constexpr auto kProposeTime = 10s;
constexpr auto kFeedWait = 10s;
constexpr auto kFeedRest = 1ms;
constexpr auto kReportEvery = 1s;
constexpr auto kRetryEvery = 1min;
constexpr auto kPruneEvery = 5min;

std::jthread thread_named(const char* name, std::stop_token stop, std::function<void(std::stop_token)> body) {
  return std::jthread([name, stop, body = std::move(body)] {
    pthread_setname_np(pthread_self(), name);
    body(stop);
  });
}

}  // namespace

Result<std::set<std::string>> enabled_types(const Host& host, const std::vector<std::string>& types) {
  std::string known;
  for (const std::string& type : host.extensions<Scheduler>()) known += (known.empty() ? "" : ", ") + type;
  for (const std::string& type : types) {
    if (host.extension<Scheduler>(type)) continue;
    const std::string why = "server.enabled_schedulers: \"" + type + "\" has no scheduler here; there are " + known;
    if (std::ranges::find(kTypesOfNomad, type) == std::end(kTypesOfNomad)) return invalid_argument(why);
    log::warn("scheduler", why);
  }
  return std::set<std::string>(types.begin(), types.end());
}

const Scheduler* scheduler_of(const Host& host, const std::set<std::string>& types, const std::string& type) {
  return types.empty() || types.contains(type) ? host.extension<Scheduler>(type) : nullptr;
}

Leader::Leader(Host& host, const Tables& tables, SharedColumns& columns, ExactRuns& exact_runs, LeaderOptions options)
    : host_(host),
      tables_(tables),
      columns_(columns),
      exact_runs_(exact_runs),
      options_(std::move(options)),
      evals_(host.clock()),
      gauges_(host.metrics(), tables),
      next_retry_(host.clock().steady() + kRetryEvery),
      next_prune_(host.clock().steady() + kPruneEvery) {}

void Leader::run(std::stop_token stop) {
  // The entries that former leaders committed must be seen before anything is decided.
  const uint64_t last = host_.raft().last_index;
  auto current = host_.snapshot_at(last, host_.clock().steady() + kProposeTime, stop);
  if (!current) log::warn("scheduler", "starts behind the log", {{"error", current.status().message()}});

  const Status configured = write_initial_configuration(host_, tables_, options_.initial);
  if (!configured.ok()) {
    log::warn("scheduler", "the configuration cannot be written yet", {{"error", configured.message()}});
  }
  PlanApplier plans(host_, columns_, evals_, options_.rejections, [this](const v1::PlanApplied& command) {
    return sticky_claims_of(command, *host_.snapshot(), tables_);
  });
  {
    std::vector<std::jthread> threads;
    threads.push_back(thread_named("plans", stop, [&](std::stop_token until) { plans.run(until); }));
    threads.push_back(thread_named("evals", stop, [&](std::stop_token until) { do_chores(until); }));
    threads.push_back(thread_named("workers", stop, [&](std::stop_token until) {
      const auto life = [&](const auto& types, const auto& is_busy, std::stop_token end) {
        Worker(host_, tables_, columns_, evals_, plans, types).run(std::move(end), is_busy);
      };
      options_.workers->run(host_.clock(), life, std::move(until));
    }));
    exact_runs_.open(evals_, plans);
    while (!stop.stop_requested()) follow(stop);
    exact_runs_.close();
  }
  evals_.flush();
  columns_.forget();
}

std::vector<TableId> Leader::followed() const {
  std::vector<TableId> tables = {tables_.evals.id(), tables_.allocs.id(), tables_.nodes, tables_.config.id(),
                                 tables_.jobs,       tables_.counts.id()};
  for (const auto& table :
       {tables_.csi_volumes, tables_.csi_claims, tables_.host_volumes, tables_.host_volume_claims}) {
    if (table) tables.push_back(*table);
  }
  return tables;
}

// Follows from one snapshot until the feed falls behind, or to the end.
void Leader::follow(std::stop_token stop) {
  auto [view, changes] = host_.follow(followed());
  // A first evaluation is never kept waiting; those behind it come a few at a time.
  PacedChanges feed(std::move(changes), kFeedRest, [this] { return evals_.is_busy(); });
  restore(*view);
  gauges_.restore(*view);
  view.reset();
  while (!stop.stop_requested()) {
    const auto event = feed.next(host_.clock().steady() + kFeedWait, stop);
    if (std::holds_alternative<ChangeSubscription::Resync>(event)) return;
    if (const auto* batch = std::get_if<std::shared_ptr<const ChangeBatch>>(&event)) {
      for (const Change& change : (*batch)->changes()) {
        take(change, (*batch)->index());
        gauges_.take(change);
      }
    }
  }
}

// Restores the room gained while nobody followed: the rows still say when. Must precede the blocked evaluations.
void Leader::restore_gains(const ReadView& view) {
  struct Gain {
    std::string computed_class;
    uint64_t newest = 0;
  };
  std::unordered_map<std::string, Gain> gains;  // by node
  Table<v1::Node>(tables_.nodes).scan(view, kPrimary, KeyRange::all(), [&](v1::Node& node, std::string_view) {
    gains[node.id()] = {node.computed_class(), accepts_work(node) ? node.modify_index() : 0};
    return true;
  });
  tables_.allocs.scan(view, kPrimary, KeyRange::all(), [&](v1::Allocation& alloc, std::string_view) {
    const auto at = gains.find(alloc.node_id());
    if (at != gains.end() && client_terminal(alloc))
      at->second.newest = std::max(at->second.newest, alloc.modify_index());
    return true;
  });
  evals_.storage_unknown(view.index());  // ended claims leave nothing behind
  for (const auto& [node, gain] : gains) {
    if (gain.newest > 0) evals_.room_gained(node, gain.computed_class, gain.newest);
  }
}

void Leader::restore(const ReadView& view) {
  evals_.forget_blocked();
  evals_.pause(is_paused(tables_, view));
  restore_gains(view);
  std::vector<v1::Evaluation> needless;
  for (const v1::EvalStatus status : {v1::EVAL_STATUS_PENDING, v1::EVAL_STATUS_BLOCKED}) {
    tables_.evals.scan(view, kEvalsByStatus, with_status(status), [&](v1::Evaluation& eval, std::string_view) {
      if (auto duplicate = evals_.changed(eval)) needless.push_back(*std::move(duplicate));
      return true;
    });
  }
  for (v1::Evaluation& eval : needless) {
    eval.set_status(v1::EVAL_STATUS_CANCELED);
    eval.set_status_description("existing blocked evaluation exists for job \"" + eval.job_id() + "\"");
  }
  propose(std::move(needless));
}

std::string Leader::class_of(const std::string& node_id) {
  auto node = Table<v1::Node>(tables_.nodes).get(*host_.snapshot(), node_id);
  return node ? node->computed_class() : "";
}

void Leader::take(const Change& change, uint64_t index) {
  if (change.table == tables_.evals.id()) {
    // Duplicates are cancelled where the table is written.
    if (change.after) {
      (void)evals_.changed(change.after->as<v1::Evaluation>());
    } else {
      evals_.deleted(change.before->as<v1::Evaluation>().id());
    }
  } else if (change.table == tables_.allocs.id()) {
    if (!change.before) return;
    const auto& before = change.before->as<v1::Allocation>();
    // A stopped one keeps its room until its node says that it ended.
    if (client_terminal(before)) return;
    if (!change.after || client_terminal(change.after->as<v1::Allocation>())) {
      take_ended(before, index);
    }
  } else if (change.table == tables_.nodes) {
    if (change.after) take_node(change, index);
  } else if (change.table == tables_.csi_volumes) {
    if (change.after) evals_.storage_gained(gain_of(change.after->as<v1::CsiVolume>()), index);
  } else if (change.table == tables_.csi_claims) {
    if (!change.after) evals_.storage_gained(gain_of(change.before->as<v1::CsiClaim>()), index);
  } else if (change.table == tables_.host_volumes) {
    if (!change.after) return;
    const auto& volume = change.after->as<v1::DynamicHostVolume>();
    evals_.storage_gained({.name_space = volume.namespace_(), .volume = volume.name()}, index);
  } else if (change.table == tables_.host_volume_claims) {
    if (change.after) return;
    const auto& claim = change.before->as<v1::HostVolumeClaim>();
    evals_.storage_gained({.name_space = claim.namespace_(), .volume = claim.volume_name()}, index);
  } else if (change.table == tables_.config.id()) {
    if (change.after) evals_.pause(change.after->as<v1::SchedulerConfiguration>().pause_eval_broker());
  } else if (change.table == tables_.jobs) {
    const auto& job = (change.after ? change.after : change.before)->as<v1::Job>();
    if (!change.after || job.stop()) evals_.job_gone(job.namespace_(), job.id());
  }
}

void Leader::take_node(const Change& change, uint64_t index) {
  const auto& node = change.after->as<v1::Node>();
  if (accepts_work(node)) evals_.room_gained(node.id(), node.computed_class(), index);
  const v1::Node* before = change.before ? &change.before->as<v1::Node>() : nullptr;
  for (const std::string& plugin : plugins_gained(before, node)) evals_.storage_gained({.plugin = plugin}, index);
}

// One that had not begun may have stood in the way of others without a claim that ends.
void Leader::take_ended(const v1::Allocation& alloc, uint64_t index) {
  evals_.room_gained(alloc.node_id(), class_of(alloc.node_id()), index);
  if (alloc.client_status() != v1::CLIENT_STATUS_PENDING || !evals_.awaits_storage()) return;
  const std::string key = job_version_key(alloc.namespace_(), alloc.job_id(), alloc.job_version());
  const auto job = Table<v1::Job>(tables_.job_versions).get(*host_.snapshot(), key);
  const v1::TaskGroup* group = job ? find_group(*job, alloc.task_group()) : nullptr;
  if (!group) return;
  for (const v1::CsiClaim& claim : claims_of(*group, alloc)) evals_.storage_gained(gain_of(claim), index);
}

void Leader::do_chores(std::stop_token stop) {
  while (!stop.stop_requested()) do_due_chores(host_.clock().steady() + kReportEvery, stop);
}

void Leader::do_due_chores(SteadyTime until, std::stop_token stop) {
  const auto chores = evals_.wait_for_chores(until, stop);
  if (stop.stop_requested()) return;
  if (!chores.empty()) write_down(chores);
  const SteadyTime now = host_.clock().steady();
  if (now >= next_retry_) {
    evals_.retry_conflicted();
    next_retry_ = now + kRetryEvery;
  }
  if (now >= next_prune_) {
    evals_.prune();
    next_prune_ = now + kPruneEvery;
  }
  evals_.report(host_.metrics());
}

void Leader::write_down(const EvalQueue::Chores& chores) {
  std::vector<v1::Evaluation> evals;
  for (v1::Evaluation eval : chores.cancelable) {
    eval.set_status(v1::EVAL_STATUS_CANCELED);
    eval.set_status_description("canceled after more recent eval was processed");
    evals.push_back(std::move(eval));
  }
  std::minstd_rand random(std::random_device{}());
  for (v1::Evaluation eval : chores.failed) {
    v1::Evaluation next = evaluation_after(eval, Uuid::random().bytes(), "failed-follow-up");
    const auto spread = std::uniform_int_distribution<int64_t>(0, std::chrono::nanoseconds(5min).count())(random);
    next.set_wait(std::chrono::nanoseconds(1min).count() + spread);
    eval.set_status(v1::EVAL_STATUS_FAILED);
    eval.set_status_description("evaluation reached delivery limit (3)");
    eval.set_next_eval(next.id());
    evals.push_back(std::move(eval));
    evals.push_back(std::move(next));
  }
  propose(std::move(evals));
}

void Leader::propose(std::vector<v1::Evaluation> evals) {
  if (evals.empty()) return;
  v1::EvalsUpdated command;
  for (v1::Evaluation& eval : evals) *command.add_evaluations() = std::move(eval);
  command.set_time(host_.clock().wall_ns());
  auto applied = host_.propose(command, host_.clock().steady() + kProposeTime);
  // They are still pending in the table: the next leader sees to them.
  if (!applied) log::warn("scheduler", "could not close evaluations", {{"error", applied.status().message()}});
}

}  // namespace drover::scheduler
