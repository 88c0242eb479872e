#include "acl.pb.h"
#include "drover/api/acl.pb.h"
#include "drover/model/listing.h"
#include "drover/uuid.h"
#include "rpc.h"
#include "server_resolver.h"
#include "stamps.h"

namespace drover::acl {

Status Rpc::declare(Declarations& declare) {
  return declare.service(
      "drover.v1.Acl",
      {method<&Rpc::bootstrap>("Bootstrap", this), method<&Rpc::who_am_i>("WhoAmI", this),
       method<&Rpc::list_policies>("ListPolicies", this), method<&Rpc::get_policy>("GetPolicy", this),
       method<&Rpc::apply_policy>("ApplyPolicy", this), method<&Rpc::delete_policy>("DeletePolicy", this),
       method<&Rpc::list_tokens>("ListTokens", this), method<&Rpc::own_token>("GetOwnToken", this),
       method<&Rpc::get_token>("GetToken", this), method<&Rpc::apply_token>("ApplyToken", this),
       method<&Rpc::create_login_token>("CreateLoginToken", this),
       method<&Rpc::delete_token>("DeleteToken", this), method<&Rpc::make_one_time>("MakeOneTimeToken", this),
       method<&Rpc::exchange_one_time>("ExchangeOneTimeToken", this), method<&Rpc::list_roles>("ListRoles", this),
       method<&Rpc::get_role>("GetRole", this), method<&Rpc::apply_role>("ApplyRole", this),
       method<&Rpc::delete_role>("DeleteRole", this)});
}

void Rpc::start(Host& host, const Settings& settings) {
  host_ = &host;
  settings_ = settings;
}

Status Rpc::is_on() const {
  return settings_.is_enabled ? ok_status() : invalid_argument("ACL support disabled");
}

std::optional<v1::AclToken> Rpc::token_of(const Call& call) const {
  const Identity& caller = call.context().identity;
  if (caller.kind != Identity::Kind::token && caller.kind != Identity::Kind::management) return std::nullopt;
  const auto accessor = Uuid::parse(caller.name);
  return accessor ? tables_.tokens.get(call.view(), accessor->bytes()) : std::nullopt;
}

std::set<std::string> Rpc::policy_names_of(const Call& call) const {
  std::set<std::string> names;
  if (call.context().identity.kind == Identity::Kind::anonymous) names.insert(std::string(kAnonymous));
  if (const auto token = token_of(call)) {
    for (const v1::AclPolicy& policy : policies_of(call.view(), tables_, *token)) names.insert(policy.name());
  }
  return names;
}

Result<v1::WhoAmIResponse> Rpc::who_am_i(const v1::WhoAmIRequest&, Call& call) {
  const Identity& caller = call.context().identity;
  if (is_signed(call.query().token) && caller.kind != Identity::Kind::client) return who_is_task(call);
  DROVER_RETURN_IF_ERROR(is_on());
  v1::WhoAmIResponse response;
  response.set_name(caller.name);
  response.set_management(call.permissions().is_management());
  response.set_kind(v1::WhoAmIResponse::ANONYMOUS);
  if (caller.kind == Identity::Kind::client) {
    response.set_kind(v1::WhoAmIResponse::CLIENT);
  } else if (const auto token = token_of(call)) {
    response.set_kind(v1::WhoAmIResponse::TOKEN);
    response.set_expiration_time(token->expiration_time());
    for (const v1::AclPolicy& policy : policies_of(call.view(), tables_, *token)) response.add_rules(policy.rules());
  } else if (!call.query().token.empty()) {
    return access_denied();
  } else if (const auto policy = tables_.policies.get(call.view(), kAnonymous)) {
    response.add_rules(policy->rules());
  }
  return response;
}

// Also without access control: the API socket of a task lets nobody in who has no identity.
Result<v1::WhoAmIResponse> Rpc::who_is_task(Call& call) {
  const auto shown = resolver_.workload_of(call.query().token, call.view());
  if (!shown) return access_denied();
  v1::WhoAmIResponse response;
  response.set_kind(v1::WhoAmIResponse::WORKLOAD);
  response.set_name(shown->allocation);
  response.set_expiration_time(shown->ends_at);
  response.set_management(!settings_.is_enabled);
  v1::AclWorkload& workload = *response.mutable_workload();
  workload.set_namespace_(shown->workload.name_space);
  workload.set_job_id(shown->workload.job);
  workload.set_group(shown->workload.group);
  workload.set_task(shown->workload.task);
  for (const v1::AclPolicy& policy : policies_of(call.view(), tables_, shown->workload))
    response.add_rules(policy.rules());
  return response;
}

Result<v1::ListAclPoliciesResponse> Rpc::list_policies(const v1::ListAclPoliciesRequest&, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  DROVER_TRY(const Listing listing, Listing::by_text(call.query()));
  const bool sees_all = call.permissions().is_management();
  const std::set<std::string> own = policy_names_of(call);
  v1::ListAclPoliciesResponse response;
  const auto wanted = [&](const Cursor& row) -> std::optional<v1::AclPolicyListStub> {
    const v1::AclPolicy policy = Table<v1::AclPolicy>::parse(row.row());
    if (!sees_all && !own.contains(policy.name())) return std::nullopt;
    v1::AclPolicyListStub entry;
    entry.set_name(policy.name());
    entry.set_description(policy.description());
    entry.set_hash(policy.hash());
    entry.set_create_index(policy.create_index());
    entry.set_modify_index(policy.modify_index());
    return entry;
  };
  const auto add = [&](v1::AclPolicyListStub&& one) { *response.add_policies() = std::move(one); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.policies, wanted, add));
  call.set_index(call.view().table_index(tables_.policies.id()));
  return response;
}

Result<v1::AclPolicyResponse> Rpc::get_policy(const v1::AclNameRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  const bool may = call.permissions().is_management() || request.name() == kAnonymous ||
                   policy_names_of(call).contains(request.name());
  if (!may) return access_denied();
  auto policy = tables_.policies.get(call.view(), request.name());
  if (!policy) return not_found("ACL policy not found");
  call.set_index(policy->modify_index());
  v1::AclPolicyResponse response;
  *response.mutable_policy() = *std::move(policy);
  return response;
}

Result<Write<v1::AclChangedResponse>> Rpc::apply_policy(const v1::ApplyAclPolicyRequest& request, Call&) {
  DROVER_RETURN_IF_ERROR(is_on());
  v1::AclPolicyApplied command;
  v1::AclPolicy& policy = *command.mutable_policy();
  policy = request.policy();
  if (policy.name().empty()) policy.set_name(request.name());
  if (policy.name() != request.name()) return invalid_argument("ACL policy name does not match request path");
  DROVER_RETURN_IF_ERROR(check_policy(policy));
  clear_servers_fields(policy);
  set_hash(policy);
  return Write<v1::AclChangedResponse>(command, v1::AclChangedResponse());
}

Result<Write<v1::AclChangedResponse>> Rpc::delete_policy(const v1::AclNameRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  if (!tables_.policies.get(call.view(), request.name())) return not_found("ACL policy not found");
  v1::AclPolicyDeleted command;
  command.set_name(request.name());
  return Write<v1::AclChangedResponse>(command, v1::AclChangedResponse());
}

}  // namespace drover::acl
