#include "canonical.h"

#include "canonical_parts.h"

namespace drover::jobs {
namespace {

void restart_defaults(const v1::Job& job, v1::RestartPolicy& policy) {
  DROVER_DEFAULT(policy, attempts, is_batch(job) ? 3 : 2);
  DROVER_DEFAULT(policy, interval, is_batch(job) ? ns(24h) : ns(30min));
  DROVER_DEFAULT(policy, delay, ns(15s));
  DROVER_DEFAULT(policy, render_templates, false);
  DROVER_DEFAULT_TEXT(policy, mode, "fail");
}

void reschedule_defaults(const v1::Job& job, v1::ReschedulePolicy& policy) {
  const bool batch = job.type() == "batch";
  DROVER_DEFAULT(policy, attempts, batch ? 1 : 0);
  DROVER_DEFAULT(policy, interval, batch ? ns(24h) : 0);
  DROVER_DEFAULT(policy, delay, batch ? ns(5s) : ns(30s));
  DROVER_DEFAULT_TEXT(policy, delay_function, batch ? "constant" : "exponential");
  DROVER_DEFAULT(policy, max_delay, batch ? 0 : ns(1h));
  DROVER_DEFAULT(policy, unlimited, !batch);
}

void update_defaults(v1::UpdateStrategy& update) {
  DROVER_DEFAULT(update, stagger, ns(30s));
  DROVER_DEFAULT(update, max_parallel, 1);
  DROVER_DEFAULT(update, health_check, "checks");
  DROVER_DEFAULT(update, min_healthy_time, ns(10s));
  DROVER_DEFAULT(update, healthy_deadline, ns(5min));
  DROVER_DEFAULT(update, progress_deadline, ns(10min));
  DROVER_DEFAULT(update, auto_revert, false);
  DROVER_DEFAULT(update, auto_promote, false);
  DROVER_DEFAULT(update, canary, 0);
}

void migrate_defaults(v1::MigrateStrategy& migrate) {
  DROVER_DEFAULT(migrate, max_parallel, 1);
  DROVER_DEFAULT_TEXT(migrate, health_check, "checks");
  DROVER_DEFAULT(migrate, min_healthy_time, ns(10s));
  DROVER_DEFAULT(migrate, healthy_deadline, ns(5min));
}

void group(v1::Job& job, v1::TaskGroup& group) {
  if (!group.has_count()) group.set_count(group.scaling().has_min() ? static_cast<int32_t>(group.scaling().min()) : 1);
  restart_defaults(job, *group.mutable_restart_policy());
  if (!runs_everywhere(job)) {
    v1::ReschedulePolicy policy = job.reschedule();
    policy.MergeFrom(group.reschedule_policy());
    reschedule_defaults(job, policy);
    *group.mutable_reschedule_policy() = policy;
  }
  if (job.type() == "service") {
    v1::MigrateStrategy migrate = job.migrate();
    migrate.MergeFrom(group.migrate());
    migrate_defaults(migrate);
    *group.mutable_migrate() = migrate;
  }
  if (job.type() == "service" || job.type() == "system") {
    v1::UpdateStrategy update = job.update();
    update.MergeFrom(group.update());
    update_defaults(update);
    *group.mutable_update() = update;
  }
  v1::EphemeralDisk& disk = *group.mutable_ephemeral_disk();
  DROVER_DEFAULT(disk, size_mb, 300);
  if (disk.migrate()) disk.set_sticky(true);
  constraint_defaults(group);
  for (v1::Spread& spread : *group.mutable_spreads()) DROVER_DEFAULT(spread, weight, 50);
  for (v1::NetworkResource& network : *group.mutable_networks()) network_defaults(network);
  for (v1::Service& service : *group.mutable_services()) service_defaults(job, group, nullptr, service);
  for (auto& [name, volume] : *group.mutable_volumes()) DROVER_DEFAULT_TEXT(volume, name, name);
  if (group.has_scaling()) scaling_defaults(job, group, "", *group.mutable_scaling());
  if (group.has_consul()) DROVER_DEFAULT_TEXT(*group.mutable_consul(), cluster, "default");
  if (group.has_disconnect()) {
    DROVER_DEFAULT(*group.mutable_disconnect(), replace, true);
    DROVER_DEFAULT_TEXT(*group.mutable_disconnect(), reconcile, "best_score");
  }
  for (v1::Task& each : *group.mutable_tasks()) task_defaults(job, group, each);
}

}  // namespace

void canonicalize(v1::Job& job, const Priorities& priorities) {
  DROVER_DEFAULT_TEXT(job, name, job.id());
  DROVER_DEFAULT_TEXT(job, region, "global");
  DROVER_DEFAULT_TEXT(job, namespace_, "default");
  DROVER_DEFAULT_TEXT(job, type, "service");
  if (job.priority() == 0) job.set_priority(priorities.standard);
  DROVER_DEFAULT_TEXT(job, node_pool, "default");
  if (job.datacenters().empty()) *job.add_datacenters() = '*';
  constraint_defaults(job);
  for (v1::Spread& spread : *job.mutable_spreads()) DROVER_DEFAULT(spread, weight, 50);
  if (job.has_periodic()) {
    DROVER_DEFAULT(*job.mutable_periodic(), enabled, true);
    DROVER_DEFAULT_TEXT(*job.mutable_periodic(), spec_type, "cron");
    DROVER_DEFAULT_TEXT(*job.mutable_periodic(), time_zone, "UTC");
  }
  if (job.has_parameterized_job()) DROVER_DEFAULT_TEXT(*job.mutable_parameterized_job(), payload, "optional");
  if (job.has_update()) update_defaults(*job.mutable_update());
  for (v1::TaskGroup& each : *job.mutable_task_groups()) group(job, each);
  job.clear_reschedule();
  job.clear_migrate();
}

}  // namespace drover::jobs
