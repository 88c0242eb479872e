#include "canonical.h"

#include "canonical_parts.h"
#include "drover/model/job.h"

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

void group(Side side, v1::Job& job, v1::TaskGroup& group) {
  DROVER_DEFAULT(group, name, "");
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
  // A service job has an `update` by now, a system job only where its file says so.
  if (job.type() == "service" || (job.type() == "system" && (job.has_update() || group.has_update()))) {
    v1::UpdateStrategy update = job.update();
    update.MergeFrom(group.update());
    update_defaults(update);
    *group.mutable_update() = update;
  }
  v1::EphemeralDisk& disk = *group.mutable_ephemeral_disk();
  DROVER_DEFAULT(disk, size_mb, 300);
  DROVER_DEFAULT(disk, sticky, false);
  DROVER_DEFAULT(disk, migrate, false);
  constraint_defaults(side, group);
  for (v1::Spread& spread : *group.mutable_spreads()) DROVER_DEFAULT(spread, weight, 50);
  for (v1::Service& service : *group.mutable_services()) service_defaults(side, job, group, nullptr, service);
  for (auto& [name, volume] : *group.mutable_volumes()) DROVER_DEFAULT_TEXT(volume, name, name);
  if (group.has_scaling()) scaling_defaults(side, job, group, "", *group.mutable_scaling());
  DROVER_DEFAULT_TEXT(*group.mutable_consul(), namespace_, job.consul_namespace());
  for (v1::Task& each : *group.mutable_tasks()) task_defaults(side, job, group, each);
  if (side == Side::client) return;
  if (disk.migrate()) disk.set_sticky(true);
  for (v1::NetworkResource& network : *group.mutable_networks()) network_defaults(network);
  v1::Consul& consul = *group.mutable_consul();  // of most groups it says nothing
  if (!consul.namespace_().empty() || !consul.partition().empty()) DROVER_DEFAULT_TEXT(consul, cluster, "default");
  if (group.has_disconnect()) {
    DROVER_DEFAULT(*group.mutable_disconnect(), replace, true);
    DROVER_DEFAULT_TEXT(*group.mutable_disconnect(), reconcile, "best_score");
  }
}

// The fields that servers keep are empty in a client's job, not null.
void servers_fields(v1::Job& job) {
  DROVER_DEFAULT(job, parent_id, "");
  DROVER_DEFAULT(job, stop, false);
  DROVER_DEFAULT(job, consul_token, "");
  DROVER_DEFAULT(job, vault_token, "");
  DROVER_DEFAULT(job, nomad_token_id, "");
  DROVER_DEFAULT(job, status, v1::JOB_STATUS_UNSPECIFIED);
  DROVER_DEFAULT(job, status_description, "");
  DROVER_DEFAULT(job, stable, false);
  DROVER_DEFAULT(job, version, 0);
  DROVER_DEFAULT(job, create_index, 0);
  DROVER_DEFAULT(job, modify_index, 0);
  DROVER_DEFAULT(job, job_modify_index, 0);
}

void fill_in(Side side, v1::Job& job) {
  DROVER_DEFAULT(job, id, "");
  DROVER_DEFAULT_TEXT(job, name, job.id());
  DROVER_DEFAULT_TEXT(job, region, "global");
  DROVER_DEFAULT_TEXT(job, namespace_, "default");
  DROVER_DEFAULT_TEXT(job, type, "service");
  DROVER_DEFAULT(job, priority, 0);
  DROVER_DEFAULT(job, all_at_once, false);
  DROVER_DEFAULT(job, consul_namespace, "");
  DROVER_DEFAULT(job, vault_namespace, "");
  servers_fields(job);
  constraint_defaults(side, job);
  for (v1::Spread& spread : *job.mutable_spreads()) DROVER_DEFAULT(spread, weight, 50);
  if (job.has_periodic()) {
    v1::PeriodicConfig& periodic = *job.mutable_periodic();
    DROVER_DEFAULT(periodic, enabled, true);
    DROVER_DEFAULT(periodic, spec, "");
    DROVER_DEFAULT_TEXT(periodic, spec_type, "cron");
    DROVER_DEFAULT(periodic, prohibit_overlap, false);
    DROVER_DEFAULT_TEXT(periodic, time_zone, "UTC");
  }
  if (job.has_update() || job.type() == "service") update_defaults(*job.mutable_update());
  for (v1::TaskGroup& each : *job.mutable_task_groups()) group(side, job, each);
}

}  // namespace

void fill_in_for_clients(v1::Job& job) { fill_in(Side::client, job); }

void canonicalize(v1::Job& job, const Priorities& priorities) {
  fill_in(Side::server, job);
  if (job.priority() == 0) job.set_priority(priorities.standard);
  DROVER_DEFAULT_TEXT(job, node_pool, "default");
  if (job.datacenters().empty()) *job.add_datacenters() = '*';
  if (job.has_parameterized_job()) DROVER_DEFAULT_TEXT(*job.mutable_parameterized_job(), payload, "optional");
  job.clear_reschedule();
  job.clear_migrate();
}

}  // namespace drover::jobs
