#include "rpc.h"

#include <map>
#include <set>

#include "drover/api/services.pb.h"
#include "drover/keys.h"
#include "drover/message_fields.h"
#include "drover/model/filter.h"
#include "drover/model/listing.h"
#include "drover/model/node.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/service_sync.pb.h"
#include "rules.h"
#include "services.pb.h"

namespace drover::services {
namespace {

using Rows = std::vector<v1::ServiceRegistration>;

v1::ServiceRegistrationsResponse answer(Rows rows) {
  v1::ServiceRegistrationsResponse response;
  for (v1::ServiceRegistration& row : rows) *response.add_services() = std::move(row);
  return response;
}

// The instances of a service, by namespace and identifier.
Rows instances(const Tables& tables, const Call& call, const std::string& name) {
  const std::string& name_space = call.query().name_space;
  if (name_space != "*") return tables.services.list(call.view(), kServicesByName, of_service(name_space, name));
  Rows rows = tables.services.list(call.view(), kPrimary, KeyRange::all());
  std::erase_if(rows, [&](const v1::ServiceRegistration& row) {
    return row.service_name() != name || !in_namespace(row.namespace_(), call);
  });
  return rows;
}

// The key of the row that a page begins with; empty: the first one. Errors: invalid_argument for a token of another
// form.
Result<std::string> key_of_token(const std::string& token) {
  if (token.empty()) return std::string();
  const size_t dot = token.find('.');
  if (dot == std::string::npos) return invalid_argument("next_token is not of the form namespace.id");
  return service_key(token.substr(0, dot), token.substr(dot + 1));
}

// The page that the call asks for, of rows in the order of their keys, as far as the filter wants them.
Result<Rows> page(Rows rows, Call& call) {
  const QueryOptions& query = call.query();
  std::optional<Filter> filter;
  if (!query.filter.empty()) {
    DROVER_TRY(Filter parsed, Filter::parse(query.filter));
    filter = std::move(parsed);
  }
  DROVER_TRY(const std::string begin, key_of_token(query.next_token));
  if (query.reverse) std::reverse(rows.begin(), rows.end());
  Rows out;
  bool has_begun = begin.empty();
  for (v1::ServiceRegistration& row : rows) {
    if (!has_begun) {
      const std::string key = service_key(row.namespace_(), row.id());
      has_begun = query.reverse ? key <= begin : key >= begin;
      if (!has_begun) continue;
    }
    if (filter) {
      DROVER_TRY(const bool wanted, filter->matches(row));
      if (!wanted) continue;
    }
    if (query.per_page > 0 && out.size() == static_cast<size_t>(query.per_page)) {
      call.set_next_token(row.namespace_() + "." + row.id());
      break;
    }
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

Status Rpc::declare(Declarations& declare) {
  DROVER_RETURN_IF_ERROR(declare.service(
      "drover.v1.Services",
      {method<&Rpc::list>("List", this), method<&Rpc::get>("Get", this), method<&Rpc::erase>("Delete", this),
       method<&Rpc::of_job>("OfJob", this), method<&Rpc::of_allocation>("OfAllocation", this)}));
  return declare.service("drover.v1.NodeServices", {method<&Rpc::sync>("Sync", this)});
}

void Rpc::set_index(Call& call) const {
  call.set_index(std::max<uint64_t>(call.view().table_index(tables_.services.id()), 1));
}

Result<v1::ListServicesResponse> Rpc::list(const v1::ListServicesRequest&, Call& call) {
  const std::string& wanted = call.query().name_space;
  const KeyRange range = wanted == "*" ? KeyRange::all() : KeyRange::prefix(KeyBuilder().text(wanted).view());
  std::map<std::string, std::map<std::string, std::set<std::string>>> found;
  tables_.services.scan(call.view(), kPrimary, range, [&](const v1::ServiceRegistration& row, auto) {
    if (in_namespace(row.namespace_(), call))
      found[row.namespace_()][row.service_name()].insert(row.tags().begin(), row.tags().end());
    return true;
  });
  v1::ListServicesResponse response;
  for (const auto& [name_space, services] : found) {
    v1::NamespaceServices& out = *response.add_namespaces();
    out.set_namespace_(name_space);
    for (const auto& [name, tags] : services) {
      v1::ServiceStub& stub = *out.add_services();
      stub.set_service_name(name);
      for (const std::string& tag : tags) stub.add_tags(tag);
    }
  }
  set_index(call);
  return response;
}

Result<v1::ServiceRegistrationsResponse> Rpc::get(const v1::GetServiceRequest& request, Call& call) {
  DROVER_TRY(Rows rows, page(instances(tables_, call, request.service_name()), call));
  set_index(call);
  if (request.choose().empty()) return answer(std::move(rows));
  DROVER_TRY(Rows chosen, choose(std::move(rows), request.choose()));
  return answer(std::move(chosen));
}

Result<Write<v1::DeleteServiceResponse>> Rpc::erase(const v1::DeleteServiceRequest& request, Call& call) {
  const auto row = tables_.services.get(call.view(), service_key(call.query().name_space, request.id()));
  if (!row || row->service_name() != request.service_name())
    return with_http_status(not_found(std::string(kUnknown)), 500);  // as clients of Nomad expect
  v1::ServiceDeleted command;
  command.mutable_service()->set_namespace_(row->namespace_());
  command.mutable_service()->set_id(row->id());
  return Write<v1::DeleteServiceResponse>(command, v1::DeleteServiceResponse());
}

Result<v1::ServiceRegistrationsResponse> Rpc::of_job(const v1::JobServicesRequest& request, Call& call) {
  const std::string& name_space = call.query().name_space;
  if (!tables_.jobs || !call.view().get(*tables_.jobs, job_key(name_space, request.job_id())))
    return not_found("job not found");
  set_index(call);
  return answer(tables_.services.list(call.view(), kServicesByJob, drover::of_job(name_space, request.job_id())));
}

Result<v1::ServiceRegistrationsResponse> Rpc::of_allocation(const v1::AllocationServicesRequest& request, Call& call) {
  const auto alloc = tables_.allocs ? call.view().get(*tables_.allocs, request.alloc_id()) : std::nullopt;
  if (!alloc || !call.allowed_in(bytes_field(*alloc, v1::Allocation::kNamespaceFieldNumber)))
    return not_found("alloc not found");
  set_index(call);
  return answer(tables_.services.list(call.view(), kServicesByAlloc, of_id(request.alloc_id())));
}

Result<Write<v1::SyncNodeServicesResponse>> Rpc::sync(const v1::SyncNodeServicesRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  const ReadView& view = call.view();
  if (!tables_.nodes || !tables_.allocs) return failed_precondition("this server keeps no nodes and allocations");
  const auto node = Table<v1::Node>(*tables_.nodes).get(view, request.node_id());
  if (!node || !is_proof_of(*node, request.secret_id(), host_->clock().wall_ns()))
    return permission_denied("the node does not prove who it is");
  if (node->status() == v1::NODE_STATUS_DOWN) return failed_precondition("the node is down");
  v1::ServicesSynced command;
  DROVER_TRY(const SyncPlan plan, plan_sync(request.services(), *node, tables_, view, *command.add_nodes()));
  v1::SyncNodeServicesResponse response;
  for (const std::string& id : plan.refused) response.add_refused(id);
  response.set_sync_every(sync_interval(view.row_count(*tables_.nodes)).count());
  if (!plan.is_empty) return Write<v1::SyncNodeServicesResponse>(command, response);
  call.set_index(view.index());
  return Write(response);
}

}  // namespace drover::services
