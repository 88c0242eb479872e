#include "decide.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "columns.h"
#include "drover/model/allocation.h"
#include "drover/model/disconnect.h"
#include "drover/model/evaluation.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/node_pool.pb.h"
#include "drover/v1/trial.pb.h"
#include "packing/ids.h"
#include "placing/board.h"

namespace drover::scheduler {

Cluster cluster_of(const ReadView& view, const Tables& tables) {
  Cluster cluster;
  Table<v1::Node>(tables.nodes).scan(view, kPrimary, KeyRange::all(), [&](v1::Node& node, std::string_view) {
    cluster.put_node(std::make_shared<const v1::Node>(std::move(node)));
    return true;
  });
  tables.allocs.scan(view, kPrimary, KeyRange::all(), [&](v1::Allocation& alloc, std::string_view) {
    if (!client_terminal(alloc)) cluster.add(alloc);
    return true;
  });
  return cluster;
}

v1::SchedulerConfiguration default_configuration() {
  v1::SchedulerConfiguration config;
  config.set_scheduler_algorithm("binpack");
  v1::PreemptionConfig& preemption = *config.mutable_preemption_config();
  preemption.set_system_scheduler_enabled(true);
  preemption.set_sys_batch_scheduler_enabled(true);
  preemption.set_batch_scheduler_enabled(true);
  preemption.set_service_scheduler_enabled(true);
  return config;
}

void adopt_pool(const ReadView& view, const Tables& tables, const v1::Job& job, v1::SchedulerConfiguration& config) {
  if (!tables.node_pools) return;
  const auto pool = Table<v1::NodePool>(*tables.node_pools).get(view, node_pool_key(job.node_pool()));
  if (!pool) return;
  const v1::NodePoolSchedulerConfiguration& own = pool->scheduler_configuration();
  if (!own.scheduler_algorithm().empty()) config.set_scheduler_algorithm(own.scheduler_algorithm());
  if (own.has_memory_oversubscription_enabled())
    config.set_memory_oversubscription_enabled(own.memory_oversubscription_enabled());
}

v1::SchedulerConfiguration configuration_for(const ReadView& view, const Tables& tables, const v1::Job* job) {
  v1::SchedulerConfiguration config = tables.config.get(view, "").value_or(default_configuration());
  if (job) adopt_pool(view, tables, *job, config);
  return config;
}

namespace {

// The evaluation of a job that lost allocations to another.
void describe_preempted(const ReadView& view, const Tables& tables, v1::Evaluation& eval) {
  const auto job = Table<v1::Job>(tables.jobs).get(view, job_key(eval.namespace_(), eval.job_id()));
  if (!job) return;
  eval.set_type(job->type());
  eval.set_priority(job->priority());
  eval.set_job_modify_index(job->job_modify_index());
}

}  // namespace

DecisionInput::DecisionInput(v1::Evaluation of, const ReadView& view, const Tables& tables, const v1::Job* other_job)
    : eval(std::move(of)),
      allocs(tables.allocs.list(view, kAllocsByJob, of_job(eval.namespace_(), eval.job_id()))),
      new_id(packing::ids_from(std::string(Uuid::random().bytes().substr(0, packing::kChanceBytes)) +
                               packing::rest_of(eval.id()))),
      view_(view),
      tables_(tables) {
  // Where one has come back beside its replacement, the better placed may be the one to stay.
  if (std::ranges::any_of(allocs, needs_reconnect)) {
    for (v1::Allocation& alloc : allocs) join_metric(tables, view, alloc);
  }
  if (other_job) {
    job = *other_job;
  } else {
    job = Table<v1::Job>(tables.jobs).get(view, job_key(eval.namespace_(), eval.job_id()));
  }
  config = configuration_for(view, tables, job ? &*job : nullptr);
  if (!tables.deployments) return;
  deployments = Table<v1::Deployment>(*tables.deployments)
                    .list(view, kDeploymentsByJob, of_job(eval.namespace_(), eval.job_id()));
}

Decision decide_on(const Scheduler& scheduler, const DecisionInput& input, int64_t now, Cluster& cluster) {
  const auto& [view, tables] = std::tie(input.view(), input.tables());
  const v1::Evaluation& eval = input.eval;
  std::map<uint64_t, std::optional<v1::Job>> versions;
  const auto find_version = [&](uint64_t version) -> const v1::Job* {
    auto [at, unknown] = versions.try_emplace(version);
    if (unknown) {
      const std::string key = job_version_key(eval.namespace_(), eval.job_id(), version);
      at->second = Table<v1::Job>(input.tables().job_versions).get(input.view(), key);
    }
    return at->second ? &*at->second : nullptr;
  };
  ClusterBoard board(std::move(cluster), input.allocs, eval.id(), rules_for(input.config, eval.type()),
                     others_of(view, tables), storage_of(view, tables));
  Decision decision = scheduler.decide({.eval = eval,
                                        .job = input.job ? &*input.job : nullptr,
                                        .allocs = input.allocs,
                                        .version = find_version,
                                        .deployments = tables.deployments ? &input.deployments : nullptr,
                                        .config = input.config,
                                        .now = now,
                                        .new_id = input.new_id},
                                       board);
  for (v1::Evaluation& other : decision.plan.evaluations) {
    if (other.job_id() != eval.job_id() || other.namespace_() != eval.namespace_())
      describe_preempted(view, tables, other);
  }
  cluster = std::move(board).take_cluster();
  return decision;
}

v1::Evaluation blocked_after(const v1::Evaluation& eval, std::string id, std::string_view trigger,
                             std::string description) {
  v1::Evaluation blocked = evaluation_after(eval, std::move(id), trigger);
  blocked.set_status(v1::EVAL_STATUS_BLOCKED);
  blocked.set_status_description(std::move(description));
  return blocked;
}

void describe_wait(const RoomWait& wait, uint64_t snapshot_index, v1::Evaluation& blocked) {
  blocked.clear_class_eligibility();
  for (const auto& [name, eligible] : wait.class_eligibility) {
    (*blocked.mutable_class_eligibility())[name] = eligible;
  }
  blocked.set_escaped_computed_class(wait.escaped);
  blocked.clear_storage_wait();
  if (!wait.volumes.empty() || !wait.plugins.empty()) {
    v1::StorageWait& storage = *blocked.mutable_storage_wait();
    storage.mutable_volumes()->Assign(wait.volumes.begin(), wait.volumes.end());
    storage.mutable_plugins()->Assign(wait.plugins.begin(), wait.plugins.end());
    storage.set_only(wait.only_storage.value_or(false));
  }
  blocked.set_snapshot_index(snapshot_index);
}

v1::Evaluation waiting_for_room(const v1::Evaluation& eval, const RoomWait& wait, uint64_t snapshot_index,
                                std::string id) {
  v1::Evaluation blocked =
      blocked_after(eval, std::move(id), "queued-allocs", "created to place remaining allocations");
  blocked.set_node_id(wait.node_id);
  describe_wait(wait, snapshot_index, blocked);
  return blocked;
}

std::vector<v1::Evaluation> end_of(v1::Evaluation eval, const Decision& decision, uint64_t snapshot_index) {
  const bool waited = eval.status() == v1::EVAL_STATUS_BLOCKED;
  eval.clear_queued_allocations();
  eval.clear_failed_tg_allocs();
  for (const auto& [group, count] : decision.queued) (*eval.mutable_queued_allocations())[group] = count;
  for (const auto& [group, metric] : decision.failed) (*eval.mutable_failed_tg_allocs())[group] = metric;
  eval.set_snapshot_index(snapshot_index);
  if (!decision.deployment_id.empty()) eval.set_deployment_id(decision.deployment_id);
  eval.set_status(v1::EVAL_STATUS_COMPLETE);
  std::vector<v1::Evaluation> evals(1);
  for (const RoomWait& wait : decision.waits) {
    if (waited && wait.node_id == eval.node_id()) {  // it goes on waiting
      eval.set_status(v1::EVAL_STATUS_BLOCKED);
      describe_wait(wait, snapshot_index, eval);
    } else {
      evals.push_back(waiting_for_room(eval, wait, snapshot_index, Uuid::random().bytes()));
    }
  }
  if (eval.status() == v1::EVAL_STATUS_COMPLETE) {
    eval.clear_status_description();
    if (evals.size() > 1) eval.set_blocked_eval(evals[1].id());
  }
  evals[0] = std::move(eval);
  return evals;
}

}  // namespace drover::scheduler
