#include "topics.h"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "drover/api/logins.pb.h"
#include "drover/json.h"
#include "drover/options.pb.h"
#include "drover/permissions.h"
#include "drover/plugin.h"
#include "drover/uuid.h"
#include "drover/v1/acl.pb.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/node_pool.pb.h"
#include "drover/v1/service_registration.pb.h"

namespace drover::events {
namespace {

constexpr std::string_view kPackage = "drover.v1.";

std::string id_text(const std::string& bytes) { return bytes.empty() ? "" : Uuid::from_bytes(bytes).to_string(); }

// ---- rows: how they are named, and how they look

template <typename Message>
std::string as_it_is(const ChangedRow& row) {
  const auto json = serialized_to_json(row.bytes(), *Message::descriptor());
  return json ? *json : "null";
}

// The message without some of its fields.
template <typename Message, auto... clear>
std::string without(const ChangedRow& row) {
  Message shown = row.as<Message>();
  (std::invoke(clear, shown), ...);
  return message_to_json(shown);
}

void name_job(const ChangedRow& row, Event& event) {
  const auto& job = row.as<v1::Job>();
  event.key = job.id();
  event.name_space = job.namespace_();
}

void name_evaluation(const ChangedRow& row, Event& event) {
  const auto& eval = row.as<v1::Evaluation>();
  event.key = id_text(eval.id());
  event.name_space = eval.namespace_();
  event.filter_keys = {eval.job_id(), id_text(eval.deployment_id())};
}

void name_allocation(const ChangedRow& row, Event& event) {
  const auto& alloc = row.as<v1::Allocation>();
  event.key = id_text(alloc.id());
  event.name_space = alloc.namespace_();
  event.filter_keys = {alloc.job_id(), id_text(alloc.deployment_id())};
}

void name_deployment(const ChangedRow& row, Event& event) {
  const auto& deployment = row.as<v1::Deployment>();
  event.key = id_text(deployment.id());
  event.name_space = deployment.namespace_();
  event.filter_keys = {deployment.job_id()};
}

void name_node(const ChangedRow& row, Event& event) { event.key = id_text(row.as<v1::Node>().id()); }
void name_node_pool(const ChangedRow& row, Event& event) { event.key = row.as<v1::NodePool>().name(); }

void name_service(const ChangedRow& row, Event& event) {
  const auto& service = row.as<v1::ServiceRegistration>();
  event.key = service.id();
  event.name_space = service.namespace_();
  event.filter_keys = {service.job_id(), service.service_name()};
}

void name_volume(const ChangedRow& row, Event& event) {
  const auto& volume = row.as<v1::CsiVolume>();
  event.key = volume.id();
  event.name_space = volume.namespace_();
  event.filter_keys = {volume.id(), volume.name(), volume.plugin_id()};
}

void name_host_volume(const ChangedRow& row, Event& event) {
  const auto& volume = row.as<v1::DynamicHostVolume>();
  event.key = id_text(volume.id());
  event.name_space = volume.namespace_();
  event.filter_keys = {volume.name(), volume.plugin_id()};
}

void name_claim(const ChangedRow& row, Event& event) {
  const auto& claim = row.as<v1::CsiClaim>();
  event.key = claim.volume_id();
  event.name_space = claim.namespace_();
  event.filter_keys = {claim.volume_id(), id_text(claim.alloc_id()), claim.plugin_id()};
}

std::string claimed_volume(const ChangedRow& row) {
  const auto& claim = row.as<v1::CsiClaim>();
  const nlohmann::json volume = {{"ID", claim.volume_id()},
                                 {"Namespace", claim.namespace_()},
                                 {"PluginID", claim.plugin_id()},
                                 {"ExternalID", claim.external_volume_id()}};
  return volume.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void name_token(const ChangedRow& row, Event& event) { event.key = id_text(row.as<v1::AclToken>().accessor_id()); }
void name_policy(const ChangedRow& row, Event& event) { event.key = row.as<v1::AclPolicy>().name(); }
void name_role(const ChangedRow& row, Event& event) {
  event.key = id_text(row.as<v1::AclRole>().id());
  event.filter_keys = {row.as<v1::AclRole>().name()};
}
void name_auth_method(const ChangedRow& row, Event& event) { event.key = row.as<v1::AclAuthMethod>().name(); }
void name_binding_rule(const ChangedRow& row, Event& event) {
  event.key = id_text(row.as<v1::AclBindingRule>().id());
  event.filter_keys = {row.as<v1::AclBindingRule>().auth_method()};
}

// ---- kinds

struct Kind {
  std::string_view table;
  std::string_view topic;
  std::string_view payload;  // the object's name in the event
  Right right;
  void (*name)(const ChangedRow& row, Event& event);
  std::string (*json)(const ChangedRow& row);
  // The types of an event. Empty: the command says it.
  std::string_view written = {};
  std::string_view deleted = {};
  bool is_removal_news = true;  // also to clients that did not ask for removals
};

const std::array kKinds = {
    Kind{"jobs", "Job", "Job", Right::read_job, name_job, as_it_is<v1::Job>},
    Kind{"evals", "Evaluation", "Evaluation", Right::read_job, name_evaluation, as_it_is<v1::Evaluation>, "",
         "EvaluationDeleted", false},
    Kind{"allocs", "Allocation", "Allocation", Right::read_job, name_allocation, as_it_is<v1::Allocation>, "",
         "AllocationDeleted", false},
    Kind{"deployments", "Deployment", "Deployment", Right::read_job, name_deployment, as_it_is<v1::Deployment>, "",
         "DeploymentDeleted", false},
    Kind{"nodes", "Node", "Node", Right::read_node, name_node, as_it_is<v1::Node>, "", "NodeDeregistration"},
    Kind{"node_pools", "NodePool", "NodePool", Right::read_node, name_node_pool, as_it_is<v1::NodePool>,
         "NodePoolUpserted", "NodePoolDeleted"},
    Kind{"service_registrations", "Service", "Service", Right::read_job, name_service,
         as_it_is<v1::ServiceRegistration>, "ServiceRegistration", "ServiceDeregistration"},
    Kind{"csi_volumes", "CSIVolume", "Volume", Right::read_volume, name_volume,
         without<v1::CsiVolume, &v1::CsiVolume::clear_secrets, &v1::CsiVolume::clear_mount_options,
                 &v1::CsiVolume::clear_parameters, &v1::CsiVolume::clear_context>,
         "CSIVolumeRegistered", "CSIVolumeDeregistered"},
    Kind{"csi_claims", "CSIVolume", "Volume", Right::read_volume, name_claim, claimed_volume, "CSIVolumeClaim",
         "CSIVolumeClaim"},
    Kind{"host_volumes", "HostVolume", "Volume", Right::read_host_volume, name_host_volume,
         without<v1::DynamicHostVolume, &v1::DynamicHostVolume::clear_parameters,
                 &v1::DynamicHostVolume::clear_before>,
         "HostVolumeRegistered", "HostVolumeDeleted"},
    Kind{"acl_tokens", "ACLToken", "ACLToken", Right::management, name_token,
         without<v1::AclToken, &v1::AclToken::clear_secret_id>, "ACLTokenUpserted", "ACLTokenDeleted"},
    Kind{"acl_policies", "ACLPolicy", "ACLPolicy", Right::management, name_policy, as_it_is<v1::AclPolicy>,
         "ACLPolicyUpserted", "ACLPolicyDeleted"},
    Kind{"acl_roles", "ACLRole", "ACLRole", Right::management, name_role, as_it_is<v1::AclRole>, "ACLRoleUpserted",
         "ACLRoleDeleted"},
    // Its plugin alone knows what is secret in a Config.
    Kind{"acl_auth_methods", "ACLAuthMethod", "AuthMethod", Right::management, name_auth_method,
         without<v1::AclAuthMethod, &v1::AclAuthMethod::clear_config>, "ACLAuthMethodUpserted",
         "ACLAuthMethodDeleted"},
    Kind{"acl_binding_rules", "ACLBindingRule", "ACLBindingRule", Right::management, name_binding_rule,
         as_it_is<v1::AclBindingRule>, "ACLBindingRuleUpserted", "ACLBindingRuleDeleted"},
};

// The type of what a command does to jobs, evaluations, allocations, deployments and nodes. Commands that are not
// here change nothing that anybody follows, or only what is derived.
constexpr std::array<std::pair<std::string_view, std::string_view>, 25> kTypes = {{
    {"JobRegistered", "JobRegistered"},
    {"JobDispatched", "JobRegistered"},
    {"JobScaled", "JobRegistered"},
    {"PeriodicLaunched", "JobRegistered"},
    {"JobDeregistered", "JobDeregistered"},
    {"JobsDeleted", "JobBatchDeregistered"},
    {"EvalsUpdated", "EvaluationUpdated"},
    {"EvalsDeleted", "EvaluationUpdated"},
    {"PlanApplied", "PlanResult"},
    {"PlansApplied", "PlanResult"},
    {"PlansPacked", "PlanResult"},
    {"AllocationsReported", "AllocationUpdated"},
    {"AllocationsTransitioned", "AllocationUpdateDesiredStatus"},
    {"DrainMoved", "AllocationUpdateDesiredStatus"},
    {"AllocationsHealthChanged", "DeploymentAllocHealth"},
    {"DeploymentHealthSet", "DeploymentAllocHealth"},
    {"DeploymentsUpdated", "DeploymentStatusUpdate"},
    {"DeploymentStatusChanged", "DeploymentStatusUpdate"},
    {"DeploymentPromoted", "DeploymentPromotion"},
    {"NodeRegistered", "NodeRegistration"},
    {"NodesDeleted", "NodeDeregistration"},
    {"NodeStatusUpdated", "NodeStreamEvent"},
    {"NodeCaughtUp", "NodeStreamEvent"},
    {"NodeEligibilityUpdated", "NodeEligibility"},
    {"NodeDrainUpdated", "NodeDrain"},
}};

std::string_view type_of(std::string_view command) {
  if (!command.starts_with(kPackage)) return {};
  command.remove_prefix(kPackage.size());
  const auto at = std::ranges::find(kTypes, command, [](const auto& pair) { return pair.first; });
  return at == kTypes.end() ? std::string_view() : at->second;
}

std::string_view type_of(const Kind& kind, const Change& change, std::string_view command) {
  const std::string_view own = change.after ? kind.written : kind.deleted;
  return own.empty() ? type_of(command) : own;
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string to_json(const Event& event, uint64_t index, std::string_view payload, const std::string& object,
                    bool is_deleted_job) {
  std::string keys;
  for (const std::string& key : event.filter_keys) keys += (keys.empty() ? "" : ",") + json_text(key);
  std::string json = R"({"Topic":)" + json_text(event.topic) + R"(,"Type":)" + json_text(event.type) + R"(,"Key":)" +
                     json_text(event.key) + R"(,"Namespace":)" + json_text(event.name_space) + R"(,"FilterKeys":)" +
                     (event.filter_keys.empty() ? "null" : "[" + keys + "]") + R"(,"Index":)" + std::to_string(index) +
                     R"(,"Payload":{)" + json_text(payload) + ":" + object;
  if (is_deleted_job) json += R"(,"Deleted":true)";
  return json + "}}";
}

}  // namespace

bool may_read(const Permissions& permissions, Right right, std::string_view name_space) {
  switch (right) {
    case Right::read_job:
      return permissions.may(Access::READ_JOB, name_space);
    case Right::read_volume:
      return permissions.may(Access::CSI_READ_VOLUME, name_space);
    case Right::read_host_volume:
      return permissions.may(Access::HOST_VOLUME_READ, name_space);
    case Right::read_node:
      return permissions.granted(Area::node) >= Grant::read;
    default:
      return permissions.is_management();
  }
}

Right right_of(std::string_view topic) {
  const auto kind = std::ranges::find(kKinds, topic, &Kind::topic);
  return kind == kKinds.end() ? Right::management : kind->right;
}

Topics::Topics(const Host& host) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (const auto table = host.find_table(kKinds[i].table)) kinds_[table->value] = i;
  }
}

bool Topics::concern(const ChangeBatch& batch) const {
  return std::ranges::any_of(batch.changes(), [&](const Change& change) {
    const auto at = kinds_.find(change.table.value);
    return at != kinds_.end() && !type_of(kKinds[at->second], change, batch.command()).empty();
  });
}

std::vector<Event> Topics::events_of(const ChangeBatch& batch) const {
  std::vector<Event> events;
  for (const Change& change : batch.changes()) {
    const auto at = kinds_.find(change.table.value);
    if (at == kinds_.end()) continue;
    const Kind& kind = kKinds[at->second];
    Event event{.topic = kind.topic, .type = type_of(kind, change, batch.command()), .right = kind.right};
    if (event.type.empty()) continue;
    const ChangedRow& row = change.after ? *change.after : *change.before;
    kind.name(row, event);
    event.is_removal = !change.after && !kind.is_removal_news;
    event.json = to_json(event, batch.index(), kind.payload, kind.json(row), !change.after && kind.topic == "Job");
    events.push_back(std::move(event));
  }
  return events;
}

Topics::RightsChange Topics::rights_changed(const ChangeBatch& batch) const {
  RightsChange rights;
  for (const Change& change : batch.changes()) {
    const auto at = kinds_.find(change.table.value);
    const std::string_view table = at == kinds_.end() ? std::string_view() : kKinds[at->second].table;
    if (table == "acl_policies" || table == "acl_roles") rights.is_of_all = true;
    // A new token is nobody's yet.
    if (table == "acl_tokens" && change.before)
      rights.accessors.push_back(id_text(change.before->as<v1::AclToken>().accessor_id()));
  }
  return rights;
}

}  // namespace drover::events
