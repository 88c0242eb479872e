#include "rpc.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "drover/api/namespaces.pb.h"
#include "drover/model/listing.h"
#include "drover/model/namespace.h"
#include "drover/permissions.h"
#include "drover/schema.h"
#include "drover/v1/namespace.pb.h"
#include "namespaces.pb.h"
#include "rules.h"

namespace drover::namespaces {
namespace {

// All there are, "default" among them, in the order that the call asks for. There are few: a table lists none that has
// no row, so that its pages would not do.
std::vector<v1::Namespace> in_order(const Tables& tables, const Call& call) {
  std::vector<v1::Namespace> all = tables.namespaces.list(call.view(), kPrimary, KeyRange::all());
  const auto is_default = [](const v1::Namespace& each) { return each.name() == kDefaultNamespace; };
  if (std::ranges::none_of(all, is_default)) all.push_back(unchanged_default());
  std::ranges::sort(all, {}, [](const v1::Namespace& each) -> const std::string& { return each.name(); });
  if (call.query().reverse) std::ranges::reverse(all);
  return all;
}

// The first of a page is the one that its token names.
bool is_before_page(const std::string& name, const QueryOptions& query) {
  if (query.next_token.empty()) return false;
  return query.reverse ? name > query.next_token : name < query.next_token;
}

}  // namespace

Status Rpc::declare(Declarations& declare) {
  return declare.service("drover.v1.Namespaces",
                         {method<&Rpc::list>("List", this), method<&Rpc::get>("Get", this),
                          method<&Rpc::apply>("Apply", this), method<&Rpc::erase>("Delete", this)});
}

Result<v1::ListNamespacesResponse> Rpc::list(const v1::ListNamespacesRequest&, Call& call) {
  const QueryOptions& query = call.query();
  DROVER_TRY(const std::optional<Filter> filter, list_filter(query));
  v1::ListNamespacesResponse response;
  for (v1::Namespace& each : in_order(tables_, call)) {
    const std::string& name = each.name();
    if (!name.starts_with(query.prefix) || is_before_page(name, query) || !call.permissions().may_see(name)) continue;
    DROVER_TRY(const bool wanted, passes(filter, each));
    if (!wanted) continue;
    if (query.per_page > 0 && response.namespaces_size() == query.per_page) {
      call.set_next_token(name);
      break;
    }
    *response.add_namespaces() = std::move(each);
  }
  call.set_index(std::max<uint64_t>(call.view().table_index(tables_.namespaces.id()), 1));  // "default" is of the first
  return response;
}

Result<v1::NamespaceResponse> Rpc::get(const v1::NamespaceRequest& request, Call& call) {
  if (!call.permissions().may_see(request.name())) return access_denied();
  auto row = find(call.view(), tables_, request.name());
  if (!row) return not_found("Namespace not found");
  call.set_index(row->modify_index());
  v1::NamespaceResponse response;
  *response.mutable_namespace_() = *std::move(row);
  return response;
}

Result<Write<v1::ApplyNamespaceResponse>> Rpc::apply(const v1::ApplyNamespaceRequest& request, Call&) {
  if (!request.name().empty() && request.namespace_().name() != request.name())
    return invalid_argument("Namespace name does not match request path");
  v1::NamespaceApplied command;
  DROVER_TRY(*command.mutable_namespace_(), accepted(request.namespace_()));
  return Write<v1::ApplyNamespaceResponse>(command, v1::ApplyNamespaceResponse());
}

Result<Write<v1::DeleteNamespaceResponse>> Rpc::erase(const v1::NamespaceRequest& request, Call& call) {
  if (request.name() == kDefaultNamespace) return invalid_argument("can not delete default namespace");
  if (!find(call.view(), tables_, request.name())) return not_found("namespace not found");
  DROVER_RETURN_IF_ERROR(check_unused(call.view(), tables_, request.name(), region_));
  v1::NamespaceDeleted command;
  command.set_name(request.name());
  command.set_region(region_);
  return Write<v1::DeleteNamespaceResponse>(command, v1::DeleteNamespaceResponse());
}

}  // namespace drover::namespaces
