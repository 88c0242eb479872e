#include "rpc.h"

#include "drover/api/variables.pb.h"
#include "drover/model/listing.h"
#include "drover/uuid.h"
#include "rights.h"
#include "rows.h"
#include "rules.h"
#include "variables.pb.h"

namespace drover::variables {
namespace {

constexpr int kConflict = 409;
constexpr int kNoContent = 204;

Status conflict(std::string why) { return with_http_status(failed_precondition(std::move(why)), kConflict); }

// The variable that stands in the way of a write; only its place where there is none, or the caller may not read it.
Result<v1::VariableResponse> in_the_way(Keyring& keys, const v1::VariableOutcome& outcome,
                                        const std::string& name_space, const std::string& path, bool may_read) {
  v1::VariableResponse response;
  response.set_http_status(kConflict);
  response.mutable_variable()->set_namespace_(name_space);
  response.mutable_variable()->set_path(path);
  if (!outcome.has_variable()) return response;
  std::string items;
  if (may_read) {
    DROVER_TRY(items, open_items(keys, outcome.variable()));
  }
  *response.mutable_variable() = shown(outcome.variable(), std::move(items));
  return response;
}

}  // namespace

Status Rpc::declare(Declarations& declare) {
  return declare.service("drover.v1.Variables",
                         {method<&Rpc::list>("List", this), method<&Rpc::read>("Read", this),
                          method<&Rpc::apply>("Apply", this), method<&Rpc::erase>("Delete", this),
                          method<&Rpc::history>("History", this), method<&Rpc::rollback>("Rollback", this)});
}

Result<v1::ListVariablesResponse> Rpc::list(const v1::ListVariablesRequest&, Call& call) {
  DROVER_TRY(const Listing listing, Listing::by_name(call.query()));
  v1::ListVariablesResponse response;
  const auto each = [&](const Cursor& cursor) -> std::optional<v1::VariableMetadata> {
    const auto row = Table<v1::SealedVariable>::parse(cursor.row());
    if (!may(call, row.metadata().namespace_(), row.metadata().path(), Right::list)) return std::nullopt;
    return metadata_of(row);
  };
  const auto add = [&](v1::VariableMetadata&& row) { *response.add_variables() = std::move(row); };
  const auto whole = [](const Cursor& cursor) { return metadata_of(Table<v1::SealedVariable>::parse(cursor.row())); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.variables, each, add, whole));
  call.set_index(call.view().table_index(tables_.variables.id()));
  return response;
}

Result<v1::VariableResponse> Rpc::read(const v1::VariableRequest& request, Call& call) {
  const std::string& name_space = call.query().name_space;
  DROVER_RETURN_IF_ERROR(check_namespace(name_space));
  if (request.path().empty()) return check_path("");
  DROVER_RETURN_IF_ERROR(require(call, name_space, request.path(), Right::read));
  const auto row = tables_.variables.get(call.view(), variable_key(name_space, request.path()));
  if (!row) return not_found("variable not found");
  DROVER_TRY(std::string items, open_items(*keys_, *row));
  v1::VariableResponse response;
  *response.mutable_variable() = shown(*row, std::move(items));
  if (row->metadata().has_lock() && is_management(call))
    response.mutable_variable()->mutable_lock()->set_id(row->metadata().lock().id());
  call.set_index(row->metadata().modify_index());
  return response;
}

Rpc::Written Rpc::apply(const v1::ApplyVariableRequest& request, Call& call) {
  v1::Variable said = request.variable();
  if (said.namespace_().empty()) said.set_namespace_(call.query().name_space);
  said.set_path(request.path());
  const int operations = request.lock_acquire() + request.lock_renew() + request.lock_release();
  if (operations > 1) return invalid_argument("multiple lock operations");
  DROVER_RETURN_IF_ERROR(check_namespace(said.namespace_()));
  DROVER_RETURN_IF_ERROR(check_path(said.path()));
  DROVER_RETURN_IF_ERROR(require(call, said.namespace_(), said.path(), Right::write));
  if (request.lock_renew()) return renew(said, call);
  if (operations > 0) return lock(request, said, call);
  DROVER_TRY(const auto cas, read_cas(request.cas()));
  if (said.items().empty() || said.items() == "{}") return invalid_argument("variable missing required Items object");
  if (said.lock().ttl() != 0 || said.lock().lock_delay() != 0)
    return invalid_argument("variable should not contain lock definition");
  DROVER_TRY(std::string items, checked_items(said.items()));
  return write(command_for(said, cas), std::move(items), call);
}

v1::VariableWritten Rpc::command_for(const v1::Variable& said, std::optional<uint64_t> cas) const {
  v1::VariableWritten command;
  v1::VariableMetadata& metadata = *command.mutable_variable()->mutable_metadata();
  metadata.set_namespace_(said.namespace_());
  metadata.set_path(said.path());
  metadata.set_modify_time(host_->clock().wall_ns());
  if (cas) command.mutable_condition()->set_cas(*cas);
  command.mutable_condition()->set_lock_id(said.lock().id());
  command.set_versions(versions_);
  return command;
}

Rpc::Written Rpc::lock(const v1::ApplyVariableRequest& request, const v1::Variable& said, Call& call) {
  DROVER_TRY(const auto cas, read_cas(request.cas()));
  v1::VariableWritten command = command_for(said, cas);
  std::string items = "{}";
  if (request.lock_release()) {
    if (said.lock().id().empty()) return invalid_argument("missing lock information");
    if (!said.items().empty() && said.items() != "{}")
      return invalid_argument("lock release operation doesn't take variable items");
    const auto row = tables_.variables.get(call.view(), variable_key(said.namespace_(), said.path()));
    if (!row || !row->metadata().has_lock()) return conflict("variable doesn't hold a lock");
    command.set_release(true);
    command.set_keeps_items(true);
    return write(std::move(command), std::move(items), call);
  }
  if (!said.lock().id().empty()) return invalid_argument("variable already holds a lock");
  DROVER_TRY(*command.mutable_acquire(), checked_lock(said.lock()));
  command.mutable_acquire()->set_id(Uuid::random().to_string());
  command.set_keeps_items(said.items().empty() || said.items() == "{}");
  if (!command.keeps_items()) {
    DROVER_TRY(items, checked_items(said.items()));
  }
  return write(std::move(command), std::move(items), call);
}

Rpc::Written Rpc::renew(const v1::Variable& said, Call& call) {
  if (said.lock().id().empty()) return invalid_argument("missing lock information");
  const auto row = tables_.variables.get(call.view(), variable_key(said.namespace_(), said.path()));
  if (!row || !row->metadata().has_lock()) return conflict("variable doesn't hold a lock");
  if (row->metadata().lock().id() != said.lock().id()) return conflict("attempting to modify locked variable");
  locks_.renewed(*row, host_->clock().steady());
  v1::VariableResponse response;
  *response.mutable_variable() = shown(*row, "");
  response.mutable_variable()->mutable_lock()->set_id(row->metadata().lock().id());
  call.set_index(row->metadata().modify_index());
  return Write<v1::VariableResponse>(response);
}

// Looks first whether it would be refused: then nothing goes into the log, and the answer's index is the variable's.
Rpc::Written Rpc::write(v1::VariableWritten command, std::string items, Call& call) {
  v1::SealedVariable& row = *command.mutable_variable();
  DROVER_RETURN_IF_ERROR(check_place(call.view(), tables_, row.metadata().namespace_(), row.metadata().path()));
  const auto existing = tables_.variables.get(call.view(), variable_key(row));
  auto finish = answer(items, call, row.metadata().namespace_(), row.metadata().path());
  const uint64_t index = existing ? existing->metadata().modify_index() : 0;
  if (command.condition().has_cas() && command.condition().cas() != index) {
    v1::VariableOutcome outcome;
    outcome.set_kind(v1::VariableOutcome::CONFLICT);
    if (existing) *outcome.mutable_variable() = *existing;
    DROVER_TRY(const v1::VariableResponse response, finish({.index = 0, .answer = serialize(outcome)}));
    call.set_index(index);
    return Write<v1::VariableResponse>(response);
  }
  DROVER_RETURN_IF_ERROR(seal_items(*keys_, call.view(), items, row));
  return Write<v1::VariableResponse>(command, std::move(finish));
}

std::function<Result<v1::VariableResponse>(const Applied&)> Rpc::answer(std::string items, const Call& call,
                                                                        const std::string& name_space,
                                                                        const std::string& path) const {
  const bool may_read = may(call, name_space, path, Right::read);
  return [keys = keys_, may_read, name_space, path,
          items = std::move(items)](const Applied& applied) -> Result<v1::VariableResponse> {
    DROVER_TRY(const auto outcome, parse_message<v1::VariableOutcome>(applied.answer));
    switch (outcome.kind()) {
      case v1::VariableOutcome::DONE:
        break;
      case v1::VariableOutcome::LOCKED:
        return conflict("attempting to modify locked variable");
      case v1::VariableOutcome::NOT_LOCKED:
        return conflict("variable doesn't hold a lock");
      case v1::VariableOutcome::KEY_GONE:
        return aborted("the root key was replaced while the variable was written; try again");
      default:
        return in_the_way(*keys, outcome, name_space, path, may_read);
    }
    v1::VariableResponse response;
    if (!outcome.has_variable()) {
      response.set_http_status(kNoContent);
      return response;
    }
    *response.mutable_variable() = shown(outcome.variable(), items);
    if (outcome.variable().metadata().has_lock())  // the caller holds it
      response.mutable_variable()->mutable_lock()->set_id(outcome.variable().metadata().lock().id());
    return response;
  };
}

Rpc::Written Rpc::erase(const v1::DeleteVariableRequest& request, Call& call) {
  const std::string& name_space = call.query().name_space;
  DROVER_RETURN_IF_ERROR(check_namespace(name_space));
  DROVER_RETURN_IF_ERROR(check_path(request.path()));
  DROVER_RETURN_IF_ERROR(require(call, name_space, request.path(), Right::destroy));
  DROVER_TRY(const auto cas, read_cas(request.cas()));
  const auto existing = tables_.variables.get(call.view(), variable_key(name_space, request.path()));
  v1::VariableDeleted command;
  command.set_namespace_(name_space);
  command.set_path(request.path());
  if (cas) command.mutable_condition()->set_cas(*cas);
  auto finish = answer("", call, name_space, request.path());
  const bool fits = !cas || *cas == (existing ? existing->metadata().modify_index() : 0);
  if (existing && fits) return Write<v1::VariableResponse>(command, std::move(finish));
  v1::VariableOutcome outcome;
  outcome.set_kind(fits ? v1::VariableOutcome::DONE : v1::VariableOutcome::CONFLICT);
  if (existing) *outcome.mutable_variable() = *existing;
  DROVER_TRY(const v1::VariableResponse response, finish({.index = 0, .answer = serialize(outcome)}));
  if (existing) call.set_index(existing->metadata().modify_index());
  return Write<v1::VariableResponse>(response);
}

Result<v1::ListVariablesResponse> Rpc::history(const v1::VariableRequest& request, Call& call) {
  const std::string& name_space = call.query().name_space;
  DROVER_RETURN_IF_ERROR(check_namespace(name_space));
  DROVER_RETURN_IF_ERROR(require(call, name_space, request.path(), Right::read));
  v1::ListVariablesResponse response;
  tables_.versions.scan(call.view(), kPrimary, versions_of(name_space, request.path()),
                        [&](const v1::SealedVariable& row, std::string_view) {
                          *response.add_variables() = metadata_of(row);
                          return true;
                        });
  return response;
}

Rpc::Written Rpc::rollback(const v1::RollbackVariableRequest& request, Call& call) {
  v1::Variable said;
  said.set_namespace_(call.query().name_space);
  said.set_path(request.path());
  DROVER_RETURN_IF_ERROR(check_namespace(said.namespace_()));
  DROVER_RETURN_IF_ERROR(require(call, said.namespace_(), said.path(), Right::read));
  DROVER_RETURN_IF_ERROR(require(call, said.namespace_(), said.path(), Right::write));
  DROVER_TRY(const auto cas, read_cas(request.cas()));
  const auto former = tables_.versions.get(call.view(), version_key(said.namespace_(), said.path(), request.to()));
  if (!former) {
    return not_found("variable \"" + said.path() + "\" has no former version with index " +
                     std::to_string(request.to()) + "; those that are kept: GET /v1/var-history/" + said.path());
  }
  DROVER_TRY(std::string items, open_items(*keys_, *former));
  return write(command_for(said, cas), std::move(items), call);
}

}  // namespace drover::variables
