#include "drover/schema.h"

#include "drover/model/job.h"
#include "drover/model/node.h"
#include "drover/sha256.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/job_counts.pb.h"
#include "drover/v1/namespace.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/node_pool.pb.h"
#include "drover/v1/scheduler_config.pb.h"
#include "drover/v1/service_registration.pb.h"

namespace drover {

std::string job_key(std::string_view name_space, std::string_view job_id) {
  return KeyBuilder().text(name_space).text(job_id).take();
}

std::string job_version_key(std::string_view name_space, std::string_view job_id, uint64_t version) {
  return KeyBuilder().text(name_space).text(job_id).descending().number(version).take();
}

KeyRange of_job(std::string_view name_space, std::string_view job_id) {
  return KeyRange::prefix(job_key(name_space, job_id));
}

KeyRange of_dispatch_token(std::string_view name_space, std::string_view job_id, std::string_view token) {
  return KeyRange::prefix(KeyBuilder().text(name_space).text(job_id).text(token).view());
}

std::string service_key(std::string_view name_space, std::string_view id) {
  return KeyBuilder().text(name_space).text(id).take();
}

KeyRange of_service(std::string_view name_space, std::string_view name) {
  return KeyRange::prefix(KeyBuilder().text(name_space).text(name).view());
}

std::string csi_volume_key(std::string_view name_space, std::string_view id) {
  return KeyBuilder().text(name_space).text(id).take();
}
std::string csi_claim_key(std::string_view name_space, std::string_view volume_id, std::string_view alloc_id) {
  return KeyBuilder().text(name_space).text(volume_id).id(alloc_id).take();
}
KeyRange of_csi_volume(std::string_view name_space, std::string_view id) {
  return KeyRange::prefix(csi_volume_key(name_space, id));
}
KeyRange of_csi_remote(std::string_view plugin_id, std::string_view external_volume_id) {
  return KeyRange::prefix(KeyBuilder().text(plugin_id).text(external_volume_id).view());
}
KeyRange of_csi_plugin(std::string_view plugin_id) { return KeyRange::prefix(KeyBuilder().text(plugin_id).view()); }

std::string host_volume_key(std::string_view name_space, std::string_view id) {
  return KeyBuilder().text(name_space).text(Uuid::from_bytes(id).to_string()).take();
}
std::string host_volume_on_node_key(std::string_view node_id, std::string_view name) {
  return KeyBuilder().id(node_id).text(name).take();
}
std::string host_volume_claim_key(std::string_view name_space, std::string_view job_id, std::string_view group,
                                  std::string_view volume_id) {
  return KeyBuilder().text(name_space).text(job_id).text(group).id(volume_id).take();
}

std::string node_pool_key(std::string_view name) { return KeyBuilder().text(name).take(); }

std::string namespace_key(std::string_view name) { return KeyBuilder().text(name).take(); }

KeyRange nodes_of_pool(std::string_view name) { return KeyRange::prefix(KeyBuilder().text(name).view()); }

KeyRange node_of_secret(std::string_view secret) { return of_id(sha256(secret)); }

KeyRange of_id(std::string_view id) { return KeyRange::prefix(KeyBuilder().id(id).view()); }

// The store appends the primary key to the keys of indexes that are not unique: functions leave out what it says.

TableShape<v1::Job> jobs_table() {
  std::vector<IndexSpec> indexes = {{"parent"}, {"dispatch_token"}, {"every_node"}, {"csi_plugin"}};
  return {"jobs", std::move(indexes), [](const v1::Job& job, RowKeys& keys) {
            keys.primary(job_key(job.namespace_(), job.id()));
            if (runs_everywhere(job) && !starts_children(job)) {
              keys.add(kJobsOnEveryNode, "");
            }
            for (const v1::TaskGroup& group : job.task_groups()) {
              for (const v1::Task& task : group.tasks()) {
                if (job.stop() || !task.has_csi_plugin_config()) continue;
                keys.add(kJobsByCsiPlugin, KeyBuilder().text(task.csi_plugin_config().id()).take());
              }
            }
            if (job.parent_id().empty()) return;
            const auto below_parent = [&] { return KeyBuilder().text(job.namespace_()).text(job.parent_id()); };
            keys.add(kJobsByParent, below_parent().text(job.id()).take());
            if (job.dispatch_idempotency_token().empty()) return;
            keys.add(kJobsByDispatchToken, below_parent().text(job.dispatch_idempotency_token()).text(job.id()).take());
          }};
}

TableShape<v1::Job> job_versions_table() {
  return {"job_versions", {}, [](const v1::Job& job, RowKeys& keys) {
            keys.primary(job_version_key(job.namespace_(), job.id(), job.version()));
          }};
}

TableShape<v1::Node> nodes_table() {
  return {"nodes", {{"pool"}, {"secret"}, {"csi_plugin"}}, [](const v1::Node& node, RowKeys& keys) {
            keys.primary(node.id());
            keys.add(kNodesByPool, KeyBuilder().text(pool_of(node)).take());
            const auto add_proof = [&](const std::string& digest) {
              if (!digest.empty()) keys.add(kNodesBySecret, digest);
            };
            add_proof(node.has_identity() ? node.identity().digest() : sha256(node.secret_id()));
            add_proof(node.identity().former_digest());
            for (const auto* plugins : {&node.csi_controller_plugins(), &node.csi_node_plugins()}) {
              for (const auto& [id, info] : *plugins) keys.add(kNodesByCsiPlugin, KeyBuilder().text(id).take());
            }
          }};
}

TableShape<v1::NodePool> node_pools_table() {
  return {"node_pools", {}, [](const v1::NodePool& pool, RowKeys& keys) { keys.primary(node_pool_key(pool.name())); }};
}

TableShape<v1::Namespace> namespaces_table() {
  return {"namespaces", {}, [](const v1::Namespace& row, RowKeys& keys) { keys.primary(namespace_key(row.name())); }};
}

TableShape<v1::Evaluation> evals_table() {
  return {"evals", {{"creation"}, {"job"}, {"status"}}, [](const v1::Evaluation& eval, RowKeys& keys) {
            keys.primary(eval.id());
            keys.add(kEvalsByCreation, KeyBuilder().number(eval.create_index()).take());
            keys.add(kEvalsByJob, job_key(eval.namespace_(), eval.job_id()));
            keys.add(kEvalsByStatus, KeyBuilder().byte(static_cast<uint8_t>(eval.status())).take());
          }};
}

TableShape<v1::JobCounts> job_counts_table() {
  return {"job_counts", {}, [](const v1::JobCounts& counts, RowKeys& keys) {
            keys.primary(job_key(counts.namespace_(), counts.job_id()));
          }};
}

TableShape<v1::Allocation> allocs_table() {
  return {"allocs", {{"creation"}, {"job"}, {"node"}, {"eval"}}, [](const v1::Allocation& alloc, RowKeys& keys) {
            keys.primary(alloc.id());
            keys.add(kAllocsByCreation, KeyBuilder().number(alloc.create_index()).take());
            keys.add(kAllocsByJob, job_key(alloc.namespace_(), alloc.job_id()));
            keys.add(kAllocsByNode, alloc.node_id());
            keys.add(kAllocsByEval, alloc.eval_id());
          }};
}

TableShape<v1::Deployment> deployments_table() {
  return {"deployments", {{"creation"}, {"job"}}, [](const v1::Deployment& row, RowKeys& keys) {
            keys.primary(row.id());
            keys.add(kDeploymentsByCreation, KeyBuilder().number(row.create_index()).take());
            keys.add(kDeploymentsByJob, KeyBuilder()
                                            .text(row.namespace_())
                                            .text(row.job_id())
                                            .descending()
                                            .number(row.create_index())
                                            .take());
          }};
}

TableShape<v1::ServiceRegistration> service_registrations_table() {
  return {"service_registrations",
          {{"name"}, {"job"}, {"node"}, {"alloc"}},
          [](const v1::ServiceRegistration& row, RowKeys& keys) {
            const std::string& ns = row.namespace_();
            keys.primary(service_key(ns, row.id()));
            keys.add(kServicesByName, KeyBuilder().text(ns).text(row.service_name()).text(row.id()).take());
            keys.add(kServicesByJob, KeyBuilder().text(ns).text(row.job_id()).text(row.id()).take());
            keys.add(kServicesByNode, row.node_id());
            keys.add(kServicesByAlloc, row.alloc_id());
          }};
}

TableShape<v1::CsiVolume> csi_volumes_table() {
  return {"csi_volumes", {{"key"}}, [](const v1::CsiVolume& volume, RowKeys& keys) {
            keys.primary(csi_volume_key(volume.namespace_(), volume.id()));
            if (volume.has_secrets()) keys.add(kVolumesByKey, volume.secrets().key_id());
          }};
}

TableShape<v1::CsiClaim> csi_claims_table() {
  return {"csi_claims", {{"alloc"}, {"node"}, {"remote"}, {"key"}}, [](const v1::CsiClaim& claim, RowKeys& keys) {
            keys.primary(csi_claim_key(claim.namespace_(), claim.volume_id(), claim.alloc_id()));
            keys.add(kClaimsByAlloc, claim.alloc_id());
            keys.add(kClaimsByNode, claim.node_id());
            keys.add(kClaimsByRemote, KeyBuilder().text(claim.plugin_id()).text(claim.external_volume_id()).take());
            if (claim.has_secrets()) keys.add(kClaimsByKey, claim.secrets().key_id());
          }};
}

TableShape<v1::DynamicHostVolume> host_volumes_table() {
  return {"host_volumes", {{.name = "node", .unique = true}}, [](const v1::DynamicHostVolume& volume, RowKeys& keys) {
            keys.primary(host_volume_key(volume.namespace_(), volume.id()));
            keys.add(kHostVolumesByNode, host_volume_on_node_key(volume.node_id(), volume.name()));
          }};
}

TableShape<v1::HostVolumeClaim> host_volume_claims_table() {
  return {"host_volume_claims", {{.name = "job", .unique = true}}, [](const v1::HostVolumeClaim& claim, RowKeys& keys) {
            keys.primary(host_volume_key(claim.namespace_(), claim.id()));
            keys.add(kHostVolumeClaimsByJob, host_volume_claim_key(claim.namespace_(), claim.job_id(),
                                                                   claim.task_group_name(), claim.volume_id()));
          }};
}

TableShape<v1::SchedulerConfiguration> scheduler_config_table() {
  return {"scheduler_config", {}, [](const v1::SchedulerConfiguration&, RowKeys& keys) { keys.primary(""); }};
}

}  // namespace drover
