#include "drover/api/logins.pb.h"
#include "drover/model/listing.h"
#include "drover/uuid.h"
#include "login.pb.h"
#include "rpc.h"
#include "stamps.h"

namespace drover::login {
namespace {

v1::AclBindingRuleStub entry_of(const v1::AclBindingRule& rule) {
  v1::AclBindingRuleStub entry;
  entry.set_id(rule.id());
  entry.set_description(rule.description());
  entry.set_auth_method(rule.auth_method());
  entry.set_hash(rule.hash());
  entry.set_create_index(rule.create_index());
  entry.set_modify_index(rule.modify_index());
  return entry;
}

// A field that a request leaves open stays as it is in the row; "management" has no name. Errors: invalid_argument for
// another method.
Status complete_rule(v1::AclBindingRule& rule, const v1::AclBindingRule& existing) {
  if (rule.auth_method().empty()) rule.set_auth_method(existing.auth_method());
  if (rule.auth_method() != existing.auth_method())
    return invalid_argument("cannot update auth method for binding rule, create a new rule instead");
  if (rule.bind_type().empty()) rule.set_bind_type(existing.bind_type());
  if (rule.bind_name().empty() && rule.bind_type() != "management") rule.set_bind_name(existing.bind_name());
  return ok_status();
}

}  // namespace

Result<v1::ListBindingRulesResponse> Rpc::list_rules(const v1::ListBindingRulesRequest&, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  DROVER_TRY(const Listing listing, Listing::by_id(call.query()));
  v1::ListBindingRulesResponse response;
  const auto each = [](const Cursor& row) {
    return std::optional(entry_of(Table<v1::AclBindingRule>::parse(row.row())));
  };
  const auto add = [&](v1::AclBindingRuleStub&& one) { *response.add_rules() = std::move(one); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.rules, each, add));
  call.set_index(call.view().table_index(tables_.rules.id()));
  return response;
}

Result<v1::BindingRuleResponse> Rpc::get_rule(const v1::BindingRuleRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  const auto id = Uuid::parse(request.id());
  auto rule = id ? tables_.rules.get(call.view(), id->bytes()) : std::nullopt;
  if (!rule) return no_rule();
  call.set_index(rule->modify_index());
  v1::BindingRuleResponse response;
  *response.mutable_rule() = *std::move(rule);
  return response;
}

Result<Write<v1::BindingRuleResponse>> Rpc::apply_rule(const v1::ApplyBindingRuleRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  v1::AclBindingRule rule = request.rule();
  if (!request.id().empty()) {
    const auto id = Uuid::parse(request.id());
    if (!id || (!rule.id().empty() && rule.id() != id->bytes()))
      return invalid_argument("ACL binding rule ID does not match request path");
    rule.set_id(id->bytes());
  }
  std::optional<v1::AclBindingRule> existing;
  if (rule.id().empty()) {
    rule.set_id(Uuid::random().bytes());
  } else {
    existing = tables_.rules.get(call.view(), rule.id());
    if (!existing) return invalid_argument("cannot find binding rule " + Uuid::from_bytes(rule.id()).to_string());
    DROVER_RETURN_IF_ERROR(complete_rule(rule, *existing));
  }
  DROVER_RETURN_IF_ERROR(check_rule(rule));
  if (!tables_.methods.get(call.view(), rule.auth_method()))
    return invalid_argument("ACL auth method " + rule.auth_method() + " not found");
  set_servers_fields(rule, rule, existing ? &*existing : nullptr, host_->clock().wall_ns());
  v1::AclBindingRuleApplied command;
  *command.mutable_rule() = rule;
  v1::BindingRuleResponse response;
  *response.mutable_rule() = std::move(rule);
  return Write<v1::BindingRuleResponse>(command, [response, existing](const Applied& applied) mutable {
    set_indexes(*response.mutable_rule(), existing ? &*existing : nullptr, applied.index);
    return response;
  });
}

Result<Write<v1::LoginChangedResponse>> Rpc::delete_rule(const v1::BindingRuleRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  const auto id = Uuid::parse(request.id());
  if (!id || !tables_.rules.get(call.view(), id->bytes())) return no_rule();
  v1::AclBindingRuleDeleted command;
  command.set_id(id->bytes());
  return Write<v1::LoginChangedResponse>(command, v1::LoginChangedResponse());
}

}  // namespace drover::login
