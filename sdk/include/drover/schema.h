// The tables that plugins read of each other: names, numbers of their indexes, and keys. Owners declare them so; they
// only grow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drover/keys.h"
#include "drover/tables.h"

namespace drover::v1 {
class Allocation;
class CsiClaim;
class CsiVolume;
class Deployment;
class DynamicHostVolume;
class Evaluation;
class HostVolumeClaim;
class Job;
class JobCounts;
class Namespace;
class Node;
class NodePool;
class SchedulerConfiguration;
class ServiceRegistration;
}  // namespace drover::v1

namespace drover {

// "jobs" (owner: jobs)              primary: (namespace, job)
inline constexpr uint32_t kJobsByParent = 1;         // (namespace, parent, job); of children
inline constexpr uint32_t kJobsByDispatchToken = 2;  // (namespace, parent, idempotency token, job); where it has one
inline constexpr uint32_t kJobsOnEveryNode = 3;      // (namespace, job); of system and sysbatch jobs, parents apart
inline constexpr uint32_t kJobsByCsiPlugin = 4;      // (plugin, namespace, job); of those that are not stopped
// "job_versions" (owner: jobs)      primary: (namespace, job, version descending)
// "nodes" (owner: nodes)            primary: node
inline constexpr uint32_t kNodesByPool = 1;    // (pool, node)
inline constexpr uint32_t kNodesBySecret = 2;  // (SHA-256 of a proof, node): the time of a look tells nothing of it
inline constexpr uint32_t kNodesByCsiPlugin = 3;  // (plugin, node)
// "node_pools" (owner: node_pools)  primary: (name)
// "namespaces" (owner: namespaces)  primary: (name); "default" has no row until somebody changes it
// "evals" (owner: scheduler)        primary: evaluation
inline constexpr uint32_t kEvalsByCreation = 1;  // (create index, evaluation)
inline constexpr uint32_t kEvalsByJob = 2;       // (namespace, job, evaluation)
inline constexpr uint32_t kEvalsByStatus = 3;    // (status byte, evaluation)
// "job_counts" (owner: scheduler)   primary: (namespace, job)
// "allocs" (owner: scheduler)       primary: allocation
inline constexpr uint32_t kAllocsByCreation = 1;  // (create index, allocation)
inline constexpr uint32_t kAllocsByJob = 2;       // (namespace, job, allocation)
inline constexpr uint32_t kAllocsByNode = 3;      // (node, allocation)
inline constexpr uint32_t kAllocsByEval = 4;      // (evaluation, allocation)

// "deployments" (owner: deployments)  primary: deployment
inline constexpr uint32_t kDeploymentsByCreation = 1;  // (create index, deployment)
inline constexpr uint32_t kDeploymentsByJob = 2;       // (namespace, job, create index descending, deployment)
// "service_registrations" (owner: services)  primary: (namespace, registration)
inline constexpr uint32_t kServicesByName = 1;   // (namespace, service, registration)
inline constexpr uint32_t kServicesByJob = 2;    // (namespace, job, registration)
inline constexpr uint32_t kServicesByNode = 3;   // (node, namespace, registration)
inline constexpr uint32_t kServicesByAlloc = 4;  // (allocation, namespace, registration)
// "csi_volumes" (owner: volumes)  primary: (namespace, volume)
inline constexpr uint32_t kVolumesByKey = 1;  // (root key, namespace, volume); those with secrets
// "csi_claims" (owner: volumes)   primary: (namespace, volume, allocation)
inline constexpr uint32_t kClaimsByAlloc = 1;   // (allocation, namespace, volume)
inline constexpr uint32_t kClaimsByNode = 2;    // (node, namespace, volume, allocation)
inline constexpr uint32_t kClaimsByRemote = 3;  // (plugin, the storage's name of the volume, namespace, volume, allocation)
inline constexpr uint32_t kClaimsByKey = 4;     // (root key, namespace, volume, allocation); those with secrets
// "host_volumes" (owner: host_volumes)  primary: (namespace, text of the volume)
inline constexpr uint32_t kHostVolumesByNode = 1;  // (node, name): there is one of a name
// "host_volume_claims" (owner: host_volumes)  primary: (namespace, text of the claim)
inline constexpr uint32_t kHostVolumeClaimsByJob = 1;  // (namespace, job, group, volume)
// "scheduler_config" (owner: scheduler)  primary: nothing, there is one row or none

std::string job_key(std::string_view name_space, std::string_view job_id);
std::string job_version_key(std::string_view name_space, std::string_view job_id, uint64_t version);

// A row of "service_registrations".
std::string service_key(std::string_view name_space, std::string_view id);
// In kServicesByName the instances of a service.
KeyRange of_service(std::string_view name_space, std::string_view name);

// A row of "csi_volumes"; with an allocation one of "csi_claims".
std::string csi_volume_key(std::string_view name_space, std::string_view id);
std::string csi_claim_key(std::string_view name_space, std::string_view volume_id, std::string_view alloc_id);
// In "csi_claims" those on the volume.
KeyRange of_csi_volume(std::string_view name_space, std::string_view id);
// In kClaimsByRemote those on the same volume of the storage, under whichever names it is known here.
KeyRange of_csi_remote(std::string_view plugin_id, std::string_view external_volume_id);
// In kNodesByCsiPlugin the nodes that run the plugin, in kJobsByCsiPlugin the jobs.
KeyRange of_csi_plugin(std::string_view plugin_id);

// A row of "host_volumes", or of "host_volume_claims". `id`: sixteen bytes.
std::string host_volume_key(std::string_view name_space, std::string_view id);
// In kHostVolumesByNode.
std::string host_volume_on_node_key(std::string_view node_id, std::string_view name);
// In kHostVolumeClaimsByJob.
std::string host_volume_claim_key(std::string_view name_space, std::string_view job_id, std::string_view group,
                                  std::string_view volume_id);

std::string node_pool_key(std::string_view name);
std::string namespace_key(std::string_view name);
// In kNodesByPool the nodes of the pool.
KeyRange nodes_of_pool(std::string_view name);
// In kNodesBySecret the node whose identity or secret that is, at most one; is_proof_of() says whether it still counts.
KeyRange node_of_secret(std::string_view secret);

// Keys that begin with the job: its versions; in kJobsByParent its children; in kEvalsByJob and kAllocsByJob its
// evaluations and allocations; in kServicesByJob the instances of its services; in kDeploymentsByJob its deployments,
// the newest first; in kHostVolumeClaimsByJob its claims on host volumes.
KeyRange of_job(std::string_view name_space, std::string_view job_id);
// In kJobsByDispatchToken the children of the job that were dispatched with that token.
KeyRange of_dispatch_token(std::string_view name_space, std::string_view job_id, std::string_view token);
// Keys that begin with the identifier: in kAllocsByNode and kAllocsByEval the allocations of a node or an evaluation;
// in kServicesByNode and kServicesByAlloc the instances of services on a node or of an allocation; the same of claims,
// and of host volumes on a node.
KeyRange of_id(std::string_view id);

// The shape of a table, for its owner, who declares it, and for tests that stand in for the owner.
template <typename Message>
struct TableShape {
  const char* name;
  std::vector<IndexSpec> indexes;
  void (*keys)(const Message& row, RowKeys& keys);

  TableSpec spec() const { return Table<Message>::spec(name, indexes, keys); }
};
// Declares it: declare_table(declarations, jobs_table()).
template <typename Message, typename Owner>
Result<Table<Message>> declare_table(Owner& declarations, TableShape<Message> shape) {
  return declarations.template table<Message>(shape.name, std::move(shape.indexes), shape.keys);
}

TableShape<v1::Job> jobs_table();
TableShape<v1::Job> job_versions_table();
TableShape<v1::Node> nodes_table();
TableShape<v1::NodePool> node_pools_table();
TableShape<v1::Namespace> namespaces_table();
TableShape<v1::Evaluation> evals_table();
TableShape<v1::JobCounts> job_counts_table();
TableShape<v1::Allocation> allocs_table();
TableShape<v1::Deployment> deployments_table();
TableShape<v1::ServiceRegistration> service_registrations_table();
TableShape<v1::CsiVolume> csi_volumes_table();
TableShape<v1::CsiClaim> csi_claims_table();
TableShape<v1::DynamicHostVolume> host_volumes_table();
TableShape<v1::HostVolumeClaim> host_volume_claims_table();
TableShape<v1::SchedulerConfiguration> scheduler_config_table();

}  // namespace drover
