#include "canonical.h"

#include <chrono>
#include <cstdint>

#include "drover/v1/job.pb.h"

namespace drover::jobs {
namespace {

using namespace std::chrono_literals;

constexpr int64_t ns(std::chrono::nanoseconds duration) { return duration.count(); }

// Sets an optional field of the message where it is absent.
#define DEFAULT(message, field, value)                          \
  do {                                                          \
    if (!(message).has_##field()) (message).set_##field(value); \
  } while (false)
#define DEFAULT_TEXT(message, field, value)                      \
  do {                                                           \
    if ((message).field().empty()) (message).set_##field(value); \
  } while (false)

bool is_batch(const v1::Job& job) { return job.type() == "batch" || job.type() == "sysbatch"; }
bool runs_everywhere(const v1::Job& job) { return job.type() == "system" || job.type() == "sysbatch"; }

void restart_defaults(const v1::Job& job, v1::RestartPolicy& policy) {
  DEFAULT(policy, attempts, is_batch(job) ? 3 : 2);
  DEFAULT(policy, interval, is_batch(job) ? ns(24h) : ns(30min));
  DEFAULT(policy, delay, ns(15s));
  DEFAULT_TEXT(policy, mode, "fail");
}

void reschedule_defaults(const v1::Job& job, v1::ReschedulePolicy& policy) {
  const bool batch = job.type() == "batch";
  DEFAULT(policy, attempts, batch ? 1 : 0);
  DEFAULT(policy, interval, batch ? ns(24h) : 0);
  DEFAULT(policy, delay, batch ? ns(5s) : ns(30s));
  DEFAULT_TEXT(policy, delay_function, batch ? "constant" : "exponential");
  DEFAULT(policy, max_delay, batch ? 0 : ns(1h));
  DEFAULT(policy, unlimited, !batch);
}

void update_defaults(v1::UpdateStrategy& update) {
  if (update.stagger() == 0) update.set_stagger(ns(30s));
  DEFAULT(update, max_parallel, 1);
  DEFAULT_TEXT(update, health_check, "checks");
  DEFAULT(update, min_healthy_time, ns(10s));
  DEFAULT(update, healthy_deadline, ns(5min));
  DEFAULT(update, progress_deadline, ns(10min));
}

void migrate_defaults(v1::MigrateStrategy& migrate) {
  DEFAULT(migrate, max_parallel, 1);
  DEFAULT_TEXT(migrate, health_check, "checks");
  DEFAULT(migrate, min_healthy_time, ns(10s));
  DEFAULT(migrate, healthy_deadline, ns(5min));
}

void network_defaults(v1::NetworkResource& network) {
  if (network.mode().empty()) network.set_mode("host");
  for (auto* ports : {network.mutable_reserved_ports(), network.mutable_dynamic_ports()}) {
    for (v1::Port& port : *ports) DEFAULT_TEXT(port, host_network, "default");
  }
}

// The task's own fields win, field by field.
void inherit(v1::RestartPolicy& own, const v1::RestartPolicy& from) {
  v1::RestartPolicy merged = from;
  merged.MergeFrom(own);
  own = merged;
}

void task(const v1::Job& job, const v1::TaskGroup& group, v1::Task& task) {
  inherit(*task.mutable_restart_policy(), group.restart_policy());
  DEFAULT(task, kill_timeout, ns(5s));
  v1::Resources& resources = *task.mutable_resources();
  if (!resources.has_cpu() && resources.cores() == 0) resources.set_cpu(100);
  DEFAULT(resources, cpu, 0);
  DEFAULT(resources, memory_mb, 300);
  for (v1::NetworkResource& network : *resources.mutable_networks()) network_defaults(network);
  v1::LogConfig& logs = *task.mutable_log_config();
  DEFAULT(logs, max_files, 10);
  DEFAULT(logs, max_file_size_mb, 10);
  for (v1::Constraint& constraint : *task.mutable_constraints()) DEFAULT_TEXT(constraint, operand, "=");
  for (v1::Affinity& affinity : *task.mutable_affinities()) {
    DEFAULT_TEXT(affinity, operand, "=");
    DEFAULT(affinity, weight, 50);
  }
  for (v1::Service& service : *task.mutable_services()) {
    DEFAULT_TEXT(service, name, job.name() + "-" + group.name() + "-" + task.name());
    DEFAULT_TEXT(service, provider, "consul");
    DEFAULT_TEXT(service, address_mode, "auto");
    DEFAULT_TEXT(service, on_update, "require_healthy");
    DEFAULT_TEXT(service, task_name, task.name());
  }
}

void group(v1::Job& job, v1::TaskGroup& group) {
  DEFAULT(group, count, 1);
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
  DEFAULT(disk, size_mb, 300);
  for (v1::Constraint& constraint : *group.mutable_constraints()) DEFAULT_TEXT(constraint, operand, "=");
  for (v1::Affinity& affinity : *group.mutable_affinities()) {
    DEFAULT_TEXT(affinity, operand, "=");
    DEFAULT(affinity, weight, 50);
  }
  for (v1::Spread& spread : *group.mutable_spreads()) DEFAULT(spread, weight, 50);
  for (v1::NetworkResource& network : *group.mutable_networks()) network_defaults(network);
  for (v1::Service& service : *group.mutable_services()) {
    DEFAULT_TEXT(service, name, job.name() + "-" + group.name());
    DEFAULT_TEXT(service, provider, "consul");
    DEFAULT_TEXT(service, address_mode, "auto");
    DEFAULT_TEXT(service, on_update, "require_healthy");
  }
  for (v1::Task& each : *group.mutable_tasks()) task(job, group, each);
}

}  // namespace

void canonicalize(v1::Job& job) {
  DEFAULT_TEXT(job, name, job.id());
  DEFAULT_TEXT(job, region, "global");
  DEFAULT_TEXT(job, namespace_, "default");
  DEFAULT_TEXT(job, type, "service");
  DEFAULT(job, priority, 50);
  DEFAULT_TEXT(job, node_pool, "default");
  if (job.datacenters().empty()) job.add_datacenters("*");
  for (v1::Constraint& constraint : *job.mutable_constraints()) DEFAULT_TEXT(constraint, operand, "=");
  for (v1::Affinity& affinity : *job.mutable_affinities()) {
    DEFAULT_TEXT(affinity, operand, "=");
    DEFAULT(affinity, weight, 50);
  }
  for (v1::Spread& spread : *job.mutable_spreads()) DEFAULT(spread, weight, 50);
  if (job.has_periodic()) {
    DEFAULT(*job.mutable_periodic(), enabled, true);
    DEFAULT_TEXT(*job.mutable_periodic(), spec_type, "cron");
    DEFAULT_TEXT(*job.mutable_periodic(), time_zone, "UTC");
  }
  if (job.has_parameterized_job()) DEFAULT_TEXT(*job.mutable_parameterized_job(), payload, "optional");
  for (v1::TaskGroup& each : *job.mutable_task_groups()) group(job, each);
  job.clear_reschedule();
  job.clear_migrate();
}

}  // namespace drover::jobs
