#include "rpc.h"

#include "drover/api/node_pools.pb.h"
#include "drover/model/listing.h"
#include "drover/schema.h"
#include "drover/v1/job.pb.h"
#include "node_pools.pb.h"
#include "rules.h"

namespace drover::node_pools {
namespace {

// Errors: invalid_argument, naming one of the jobs.
Status without_jobs(const ReadView& view, const Tables& tables, const std::string& name) {
  if (!tables.jobs) return ok_status();
  Status status;
  Table<v1::Job>(*tables.jobs).scan(view, kPrimary, KeyRange::all(), [&](const v1::Job& job, std::string_view) {
    if (job.node_pool() != name || job.status() == v1::JOB_STATUS_DEAD) return true;
    status = invalid_argument("node pool \"" + name + "\" has non-terminal jobs, such as \"" + job.id() +
                              "\" in namespace \"" + job.namespace_() + "\"");
    return false;
  });
  return status;
}

}  // namespace

Status Rpc::declare(Declarations& declare) {
  return declare.service("drover.v1.NodePools",
                         {method<&Rpc::list>("List", this), method<&Rpc::get>("Get", this),
                          method<&Rpc::apply>("Apply", this), method<&Rpc::erase>("Delete", this)});
}

Result<v1::ListNodePoolsResponse> Rpc::list(const v1::ListNodePoolsRequest&, Call& call) {
  DROVER_TRY(const Listing listing, Listing::by_text(call.query()));
  v1::ListNodePoolsResponse response;
  const auto each = [](const Cursor& row) { return std::optional(Table<v1::NodePool>::parse(row.row())); };
  const auto add = [&](v1::NodePool&& pool) { *response.add_node_pools() = std::move(pool); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.pools, each, add));
  call.set_index(call.view().table_index(tables_.pools.id()));
  return response;
}

Result<v1::NodePoolResponse> Rpc::get(const v1::NodePoolRequest& request, Call& call) {
  auto pool = tables_.pools.get(call.view(), node_pool_key(request.name()));
  if (!pool) return not_found("node pool not found");
  call.set_index(pool->modify_index());
  v1::NodePoolResponse response;
  *response.mutable_node_pool() = *std::move(pool);
  return response;
}

Result<Write<v1::ApplyNodePoolResponse>> Rpc::apply(const v1::ApplyNodePoolRequest& request, Call&) {
  v1::NodePool pool = request.node_pool();
  if (!request.name().empty() && pool.name() != request.name()) {
    if (!pool.name().empty()) return invalid_argument("Node pool name does not match request path");
    pool.set_name(request.name());
  }
  if (is_built_in(pool.name())) return invalid_argument("modifying node pool \"" + pool.name() + "\" is not allowed");
  DROVER_RETURN_IF_ERROR(check_pool(pool));
  v1::NodePoolApplied command;
  *command.mutable_node_pool() = std::move(pool);
  return Write<v1::ApplyNodePoolResponse>(command, v1::ApplyNodePoolResponse());
}

Result<Write<v1::DeleteNodePoolResponse>> Rpc::erase(const v1::NodePoolRequest& request, Call& call) {
  const std::string& name = request.name();
  if (is_built_in(name)) return invalid_argument("deleting node pool \"" + name + "\" is not allowed");
  if (!tables_.pools.get(call.view(), node_pool_key(name))) return not_found("node pool not found");
  DROVER_RETURN_IF_ERROR(without_nodes(call.view(), tables_, name));
  DROVER_RETURN_IF_ERROR(without_jobs(call.view(), tables_, name));
  v1::NodePoolDeleted command;
  command.set_name(name);
  return Write<v1::DeleteNodePoolResponse>(command, v1::DeleteNodePoolResponse());
}

}  // namespace drover::node_pools
