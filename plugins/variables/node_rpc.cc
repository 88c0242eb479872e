#include "node_rpc.h"

#include "drover/keys.h"
#include "drover/options.pb.h"
#include "drover/v1/allocation.pb.h"
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
  host_ = &host;
  keys_ = &keys;
  DROVER_TRY(nodes_, host.find_table("nodes"));
  DROVER_TRY(allocs_, host.find_table("allocs"));
  DROVER_TRY(jobs_, host.find_table("jobs"));
  rights_ = host.extension<WorkloadRights>("acl");
  return ok_status();
}

Result<NodeRpc::Reader> NodeRpc::reader_of(const v1::NodeVariableRequest& request, const ReadView& view) const {
  DROVER_TRY(const v1::Allocation alloc, allocation_of_caller(view, nodes_, allocs_, request.node_id(),
                                                              request.secret_id(), request.alloc_id(),
                                                              host_->clock().wall_ns()));
  std::shared_ptr<const Permissions> rights = all_permissions();
  if (rights_) {
    DROVER_TRY(rights, rights_->rights_of(view, workload_of(view, jobs_, alloc, request.task())));
  }
  return Reader{.name_space = alloc.namespace_(), .rights = std::move(rights)};
}

Result<v1::NodeVariableResponse> NodeRpc::read(const v1::NodeVariableRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(call.own_node(request.node_id()));
  DROVER_TRY(const Reader reader, reader_of(request, call.view()));
  const std::string& name_space = request.namespace_().empty() ? reader.name_space : request.namespace_();
  if (!reader.rights->may_variable(name_space, request.path(), Access::VARIABLE_READ)) return access_denied();
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
  const bool is_anywhere = wanted == "*";
  const std::string& name_space = wanted.empty() ? reader.name_space : wanted;
  const KeyRange range = is_anywhere ? KeyRange::all()
                                     : KeyRange::prefix(KeyBuilder().text(name_space).text_prefix(request.path()).take());
  tables_.variables.scan(call.view(), kPrimary, range, [&](const v1::SealedVariable& row, std::string_view) {
    const v1::VariableMetadata& found = row.metadata();
    if (found.path().starts_with(request.path()) &&
        reader.rights->may_variable(found.namespace_(), found.path(), Access::VARIABLE_LIST))
      *response.add_variables() = metadata_of(row);
    return true;
  });
  return response;
}

}  // namespace drover::variables
