#include "node_rpc.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "deciding/reschedule.h"
#include "drover/model/allocation.h"
#include "drover/model/evaluation.h"
#include "drover/model/job.h"
#include "drover/model/node.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "scheduler.pb.h"

namespace drover::scheduler {
std::string trigger_for(const v1::Allocation& before, const v1::Allocation& report, const v1::Job* job) {
  const v1::ClientStatus now = report.client_status();
  if (before.client_status() == v1::CLIENT_STATUS_UNKNOWN && now != v1::CLIENT_STATUS_UNKNOWN) return "reconnect";
  if (server_terminal(before) || before.client_status() == now) return {};
  const bool ended = client_terminal(now) && !client_terminal(before);
  if (!job) return ended || !client_terminal(now) ? "job-deregister" : "";
  if (job->stop()) return {};  // its deregistration has an evaluation of its own
  const v1::TaskGroup* group = find_group(*job, before.task_group());
  if (!group) return {};
  if (now == v1::CLIENT_STATUS_FAILED) {
    v1::Allocation failed = before;
    *failed.mutable_task_states() = report.task_states();
    return next_try(failed, group->reschedule_policy()) ? "alloc-failure" : "";
  }
  // A service is never done: its place must be filled again.
  return ended && job->type() == "service" ? "alloc-failure" : "";
}

Status NodeRpc::declare(Declarations& declare) {
  DROVER_RETURN_IF_ERROR(declare.extend<Proposer>(v1::AllocationsReported::descriptor()->full_name(), reports_));
  return declare.service("drover.v1.NodeAllocations",
                         {method<&NodeRpc::watch>("Watch", this), method<&NodeRpc::fetch>("Fetch", this),
                          method<&NodeRpc::update>("Update", this)});
}

Status NodeRpc::start(Host& host) {
  host_ = &host;
  reports_.start(host);
  return ok_status();
}

Result<v1::Node> NodeRpc::prove(const std::string& node_id, const std::string& proof, const ReadView& view) const {
  auto node = Table<v1::Node>(tables_.nodes).get(view, node_id);
  if (!node || !is_proof_of(*node, proof, host_->clock().wall_ns()))
    return permission_denied("the node does not prove who it is");
  return *std::move(node);
}

Result<v1::WatchAllocationsResponse> NodeRpc::watch(const v1::WatchAllocationsRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  v1::WatchAllocationsResponse response;
  uint64_t newest = 0;
  // Never an empty list: the node would end all that it runs.
  DROVER_RETURN_IF_ERROR(prove(request.node_id(), request.secret_id(), call.view()).status());
  tables_.allocs.scan(call.view(), kAllocsByNode, of_id(request.node_id()), [&](v1::Allocation& alloc, auto) {
    v1::WatchAllocationsResponse::Entry& entry = *response.add_entries();
    entry.set_alloc_id(alloc.id());
    entry.set_alloc_modify_index(alloc.alloc_modify_index());
    newest = std::max(newest, alloc.alloc_modify_index());
    return true;
  });
  // The node's own reports do not wake it: only what servers changed counts.
  if (response.entries().empty()) newest = call.view().table_index(tables_.allocs.id());
  call.set_index(std::max<uint64_t>(newest, 1));
  return response;
}

Result<v1::FetchAllocationsResponse> NodeRpc::fetch(const v1::FetchAllocationsRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  v1::FetchAllocationsResponse response;
  DROVER_RETURN_IF_ERROR(prove(request.node_id(), request.secret_id(), call.view()).status());
  std::set<std::tuple<std::string, std::string, uint64_t>> named;
  uint64_t newest = 1;
  for (const std::string& id : request.alloc_ids()) {
    auto alloc = tables_.allocs.get(call.view(), id);
    if (!alloc || alloc->node_id() != request.node_id()) continue;
    newest = std::max(newest, alloc->modify_index());
    if (named.emplace(alloc->namespace_(), alloc->job_id(), alloc->job_version()).second) {
      const std::string key = job_version_key(alloc->namespace_(), alloc->job_id(), alloc->job_version());
      auto job = Table<v1::Job>(tables_.job_versions).get(call.view(), key);
      if (job && job->create_index() == alloc->job_create_index()) *response.add_jobs() = *std::move(job);
    }
    *response.add_allocations() = *std::move(alloc);
  }
  call.set_index(newest);
  return response;
}

Result<Write<v1::UpdateAllocationsResponse>> NodeRpc::update(const v1::UpdateAllocationsRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  const ReadView& view = call.view();
  DROVER_TRY(const v1::Node node, prove(request.node_id(), request.secret_id(), view));
  if (node.status() == v1::NODE_STATUS_DOWN || node.status() == v1::NODE_STATUS_DISCONNECTED) {
    return refused_report(node.id(), node.status());
  }
  v1::AllocationsReported command;
  command.set_time(host_->clock().wall_ns());
  std::map<std::pair<std::string, std::string>, std::optional<v1::Job>> jobs;
  std::set<std::pair<std::string, std::string>> evaluated;
  for (const v1::Allocation& report : request.allocations()) {
    const auto alloc = tables_.allocs.get(view, report.id());
    if (!alloc) continue;  // collected: there is nothing left to report about
    if (alloc->node_id() != node.id()) {
      return permission_denied("allocation " + Uuid::from_bytes(report.id()).to_string() + " is not on this node");
    }
    if (report.client_status() == v1::CLIENT_STATUS_UNSPECIFIED) {
      return invalid_argument("allocation " + Uuid::from_bytes(report.id()).to_string() + ": no client status");
    }
    v1::Allocation& reported = *command.add_allocations();
    reported.set_id(report.id());
    reported.set_client_status(report.client_status());
    reported.set_client_description(report.client_description());
    *reported.mutable_task_states() = report.task_states();
    if (report.has_network_status()) *reported.mutable_network_status() = report.network_status();
    if (report.has_deployment_status()) *reported.mutable_deployment_status() = report.deployment_status();

    const std::pair name(alloc->namespace_(), alloc->job_id());
    auto [job, unknown] = jobs.try_emplace(name);
    if (unknown) job->second = Table<v1::Job>(tables_.jobs).get(view, job_key(name.first, name.second));
    const v1::Job* known = job->second ? &*job->second : nullptr;
    const std::string trigger = trigger_for(*alloc, report, known);
    if (trigger.empty() || !evaluated.insert(name).second) continue;
    *command.add_evaluations() = new_evaluation(Uuid::random().bytes(), name.first, name.second, known, trigger);
  }
  const v1::UpdateAllocationsResponse response;
  if (!command.allocations().empty()) return Write<v1::UpdateAllocationsResponse>(command, response);
  call.set_index(view.index());
  return Write(response);
}

}  // namespace drover::scheduler
