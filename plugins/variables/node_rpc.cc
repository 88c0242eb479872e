#include "node_rpc.h"

#include "drover/model/allocation.h"
#include "drover/schema.h"
#include "drover/secret.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/node_variables.pb.h"
#include "rows.h"
#include "rules.h"
#include "variables.pb.h"

namespace drover::variables {

Status NodeRpc::declare(Declarations& declare) {
  return declare.service("drover.v1.NodeVariables",
                         {method<&NodeRpc::read>("Read", this), method<&NodeRpc::list>("List", this)});
}

Status NodeRpc::start(Host& host, Keyring& keys) {
  keys_ = &keys;
  DROVER_TRY(nodes_, host.find_table("nodes"));
  DROVER_TRY(allocs_, host.find_table("allocs"));
  DROVER_TRY(jobs_, host.find_table("jobs"));
  return ok_status();
}

bool NodeRpc::Reader::may_read(std::string_view wanted_namespace, std::string_view path) const {
  return wanted_namespace == name_space && is_of_task(path, job, group, task);
}

Result<NodeRpc::Reader> NodeRpc::reader_of(const v1::NodeVariableRequest& request, const ReadView& view) const {
  const Status denied = permission_denied("Permission denied");
  const auto node = Table<v1::Node>(nodes_).get(view, request.node_id());
  if (!node || !is_same_secret(node->secret_id(), request.secret_id())) return denied;
  const auto alloc = Table<v1::Allocation>(allocs_).get(view, request.alloc_id());
  if (!alloc || alloc->node_id() != request.node_id() || client_terminal(*alloc)) return denied;
  Reader reader{
      .name_space = alloc->namespace_(), .job = alloc->job_id(), .group = alloc->task_group(), .task = request.task()};
  // Children of periodic and dispatched jobs read what is their parent's.
  const auto job = Table<v1::Job>(jobs_).get(view, job_key(alloc->namespace_(), alloc->job_id()));
  if (job && !job->parent_id().empty()) reader.job = job->parent_id();
  return reader;
}

Result<v1::NodeVariableResponse> NodeRpc::read(const v1::NodeVariableRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  DROVER_TRY(const Reader reader, reader_of(request, call.view()));
  const std::string& name_space = request.namespace_().empty() ? reader.name_space : request.namespace_();
  if (!reader.may_read(name_space, request.path())) return permission_denied("Permission denied");
  const auto row = tables_.variables.get(call.view(), variable_key(name_space, request.path()));
  if (!row) {
    call.set_index(std::max<uint64_t>(1, call.view().table_index(tables_.variables.id())));
    return v1::NodeVariableResponse();
  }
  v1::NodeVariableResponse response;
  DROVER_TRY(*response.mutable_items(), open_items(*keys_, *row));
  *response.mutable_variable() = metadata_of(*row);
  call.set_index(row->metadata().modify_index());
  return response;
}

Result<v1::NodeVariablesResponse> NodeRpc::list(const v1::NodeVariableRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  DROVER_TRY(const Reader reader, reader_of(request, call.view()));
  v1::NodeVariablesResponse response;
  call.set_index(std::max<uint64_t>(1, call.view().table_index(tables_.variables.id())));
  const std::string& wanted = request.namespace_();
  if (!wanted.empty() && wanted != "*" && wanted != reader.name_space) return response;
  const KeyRange range = KeyRange::prefix(KeyBuilder().text(reader.name_space).text_prefix(request.path()).take());
  tables_.variables.scan(call.view(), kPrimary, range, [&](const v1::SealedVariable& row, std::string_view) {
    if (reader.may_read(reader.name_space, row.metadata().path())) *response.add_variables() = metadata_of(row);
    return true;
  });
  return response;
}

}  // namespace drover::variables
