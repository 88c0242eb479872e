#include "rpc.h"

#include "drover/model/listing.h"
#include "drover/model/node.h"
#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "node_evaluations.h"
#include "nodes.pb.h"

namespace drover::nodes {
namespace {

std::string attribute(const v1::Node& node, const std::string& name) {
  auto at = node.attributes().find(name);
  return at == node.attributes().end() ? "" : at->second;
}

template <typename Request>
v1::NodeListStub stub_of(const v1::Node& node, const Request& request) {
  v1::NodeListStub stub;
  stub.set_address(node.http_addr().substr(0, node.http_addr().rfind(':')));
  stub.set_id(node.id());
  stub.set_datacenter(node.datacenter());
  stub.set_name(node.name());
  stub.set_node_pool(node.node_pool());
  stub.set_node_class(node.node_class());
  stub.set_version(attribute(node, "nomad.version"));
  stub.set_drain(node.drain());
  if (node.has_last_drain()) *stub.mutable_last_drain() = node.last_drain();
  stub.set_scheduling_eligibility(node.scheduling_eligibility());
  stub.set_status(node.status());
  stub.set_status_description(node.status_description());
  *stub.mutable_drivers() = node.drivers();
  *stub.mutable_host_volumes() = node.host_volumes();
  if (request.resources()) {
    *stub.mutable_node_resources() = node.node_resources();
    *stub.mutable_reserved_resources() = node.reserved_resources();
  }
  if (request.os()) (*stub.mutable_attributes())["os.name"] = attribute(node, "os.name");
  stub.set_create_index(node.create_index());
  stub.set_modify_index(node.modify_index());
  return stub;
}

// The older form of a node's resources, which clients still read.
v1::Resources resources_of(int64_t cpu, int64_t memory_mb, int64_t disk_mb) {
  v1::Resources resources;
  resources.set_cpu(static_cast<int32_t>(cpu));
  resources.set_cores(0);
  resources.set_memory_mb(static_cast<int32_t>(memory_mb));
  resources.set_memory_max_mb(0);
  resources.set_disk_mb(static_cast<int32_t>(disk_mb));
  resources.set_iops(0);
  return resources;
}

v1::NodeDetails details_of(v1::Node node) {
  const v1::NodeResources& all = node.node_resources();
  const v1::NodeReservedResources& reserved = node.reserved_resources();
  v1::NodeDetails details;
  *details.mutable_resources() = resources_of(all.cpu().cpu_shares(), all.memory().memory_mb(), all.disk().disk_mb());
  *details.mutable_resources()->mutable_networks() = all.networks();
  *details.mutable_reserved() =
      resources_of(reserved.cpu().cpu_shares(), reserved.memory().memory_mb(), reserved.disk().disk_mb());
  *details.mutable_node() = std::move(node);
  return details;
}

// Proposes the command. Its answer names the evaluations that it makes, and the node's index: its new one, unless it is
// not what the command changes.
template <typename Response = v1::NodeUpdateResponse, typename Command>
Write<Response> write(const Command& command, uint64_t node_index = 0) {
  Response response;
  response.set_node_modify_index(node_index);
  for (const v1::Evaluation& eval : command.evaluations()) response.add_eval_ids(eval.id());
  return Write<Response>(command, [response](const Applied& applied) mutable {
    if (response.node_modify_index() == 0) response.set_node_modify_index(applied.index);
    if (!response.eval_ids().empty()) response.set_eval_create_index(applied.index);
    return response;
  });
}

}  // namespace

Status Rpc::declare(Declarations& declare) {
  return declare.service(
      "drover.v1.Nodes",
      {method<&Rpc::list>("List", this), method<&Rpc::of_pool>("OfPool", this), method<&Rpc::get>("Get", this),
       method<&Rpc::eligibility>("Eligibility", this), method<&Rpc::drain>("Drain", this),
       method<&Rpc::evaluate>("Evaluate", this), method<&Rpc::purge>("Purge", this),
       method<&Introductions::introduce>("Introduce", &introductions_)});
}

Status Rpc::start(Host& host) {
  host_ = &host;
  DROVER_TRY(allocs_, host.find_table("allocs"));
  DROVER_TRY(jobs_, host.find_table("jobs"));
  DROVER_TRY(node_pools_, host.find_table("node_pools"));
  return ok_status();
}

Result<v1::ListNodesResponse> Rpc::list(const v1::ListNodesRequest& request, Call& call) {
  DROVER_TRY(const Listing listing, Listing::by_id(call.query()));
  v1::ListNodesResponse response;
  const auto stub = [&](const Cursor& row) {
    return std::optional(stub_of(Table<v1::Node>::parse(row.row()), request));
  };
  const auto add = [&](v1::NodeListStub&& node) { *response.add_nodes() = std::move(node); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, nodes_, stub, add));
  return response;
}

Result<v1::ListNodesResponse> Rpc::of_pool(const v1::ListNodesOfPoolRequest& request, Call& call) {
  if (!call.view().get(node_pools_, node_pool_key(request.name()))) return not_found("node pool not found");
  DROVER_TRY(const Listing listing, Listing::by_id(call.query()));
  v1::ListNodesResponse response;
  const auto stub = [&](const Cursor& row) -> std::optional<v1::NodeListStub> {
    const auto node = Table<v1::Node>::parse(row.row());
    if (request.name() != "all" && pool_of(node) != request.name()) return std::nullopt;
    return stub_of(node, request);
  };
  const auto add = [&](v1::NodeListStub&& node) { *response.add_nodes() = std::move(node); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, nodes_, stub, add));
  call.set_index(call.view().table_index(nodes_.id()));
  return response;
}

Result<v1::NodeResponse> Rpc::get(const v1::NodeRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  auto node = nodes_.get(call.view(), request.node_id());
  if (!node) return not_found("node not found");
  call.set_index(node->modify_index());
  v1::NodeResponse response;
  *response.mutable_node() = details_of(*std::move(node));
  return response;
}

Result<Write<v1::NodeUpdateResponse>> Rpc::eligibility(const v1::NodeEligibilityRequest& request, Call& call) {
  if (request.eligibility() != "eligible" && request.eligibility() != "ineligible") {
    return invalid_argument("invalid scheduling eligibility \"" + request.eligibility() +
                            "\"; use eligible or ineligible");
  }
  const ReadView& view = call.view();
  auto node = nodes_.get(view, request.node_id());
  if (!node) return not_found("node not found");
  if (node->scheduling_eligibility() == request.eligibility()) {
    call.set_index(view.index());
    return Write(v1::NodeUpdateResponse());
  }
  const bool becomes_eligible = request.eligibility() == "eligible";
  const int64_t now = host_->clock().wall_ns();
  v1::NodeEligibilityUpdated command;
  command.set_node_id(request.node_id());
  command.set_eligibility(request.eligibility());
  command.mutable_event()->set_message(becomes_eligible ? "Node marked as eligible for scheduling"
                                                        : "Node marked as ineligible for scheduling");
  command.mutable_event()->set_subsystem("Cluster");
  command.mutable_event()->set_timestamp(now);
  command.set_time(now);
  if (becomes_eligible) add_node_evaluations(view, allocs_, jobs_, *node, *command.mutable_evaluations());
  return write(command);
}

Result<Write<v1::NodeDrainResponse>> Rpc::drain(const v1::NodeDrainRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  const ReadView& view = call.view();
  auto node = nodes_.get(view, request.node_id());
  if (!node) return not_found("node not found");
  if (request.has_drain_spec() && request.mark_eligible()) {
    return invalid_argument("MarkEligible: a node that drains takes no work; leave it out, or leave out DrainSpec");
  }
  const int64_t now = host_->clock().wall_ns();
  v1::NodeDrainUpdated command;
  command.set_node_id(request.node_id());
  *command.mutable_meta() = request.meta();
  command.set_time(now);
  command.mutable_event()->set_subsystem("Drain");
  command.mutable_event()->set_timestamp(now);
  if (request.has_drain_spec()) {
    v1::DrainStrategy& strategy = *command.mutable_strategy();
    strategy.set_deadline(request.drain_spec().deadline());
    strategy.set_ignore_system_jobs(request.drain_spec().ignore_system_jobs());
    if (strategy.deadline() > 0) strategy.set_force_deadline(now + strategy.deadline());
    command.mutable_event()->set_message(node->drain() ? "Node drain strategy updated" : "Node drain strategy set");
    return write<v1::NodeDrainResponse>(command);
  }
  if (!node->drain() && !request.mark_eligible()) {
    call.set_index(view.index());
    v1::NodeDrainResponse response;
    response.set_node_modify_index(node->modify_index());
    return Write(response);
  }
  command.set_status(v1::DRAIN_STATUS_CANCELED);
  command.set_mark_eligible(request.mark_eligible());
  command.mutable_event()->set_message("Node drain disabled");
  if (request.mark_eligible()) add_node_evaluations(view, allocs_, jobs_, *node, *command.mutable_evaluations());
  return write<v1::NodeDrainResponse>(command);
}

Result<Write<v1::NodeUpdateResponse>> Rpc::evaluate(const v1::NodeRequest& request, Call& call) {
  const ReadView& view = call.view();
  auto node = nodes_.get(view, request.node_id());
  if (!node) return not_found("node not found");
  const int64_t now = host_->clock().wall_ns();
  v1::EvalsUpdated command;
  add_node_evaluations(view, allocs_, jobs_, *node, *command.mutable_evaluations());
  for (v1::Evaluation& eval : *command.mutable_evaluations()) eval.set_node_modify_index(node->modify_index());
  command.set_time(now);
  if (!command.evaluations().empty()) return write(command, node->modify_index());
  v1::NodeUpdateResponse nothing;
  nothing.set_node_modify_index(node->modify_index());
  call.set_index(view.index());
  return Write(nothing);
}

Result<Write<v1::NodeUpdateResponse>> Rpc::purge(const v1::NodeRequest& request, Call& call) {
  const ReadView& view = call.view();
  auto node = nodes_.get(view, request.node_id());
  if (!node) return not_found("node not found");
  const int64_t now = host_->clock().wall_ns();
  v1::NodesDeleted command;
  command.add_node_ids(request.node_id());
  command.set_time(now);
  add_node_evaluations(view, allocs_, jobs_, *node,
                       *command.mutable_evaluations());  // the allocations that were there are lost
  return write(command);
}

}  // namespace drover::nodes
