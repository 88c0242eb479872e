// The handlers of the service Acl. Reads are functions of the call's view.
#pragma once

#include <set>
#include <string>

#include "checks.h"
#include "drover/plugin.h"
#include "tables.h"

namespace drover::v1 {
class AclChangedResponse;
class AclNameRequest;
class AclPolicyResponse;
class AclRoleRequest;
class AclRoleResponse;
class AclTokenRequest;
class AclTokenResponse;
class ApplyAclPolicyRequest;
class ApplyAclRoleRequest;
class ApplyAclTokenRequest;
class BootstrapAclRequest;
class CreateLoginTokenRequest;
class ExchangeOneTimeTokenRequest;
class ExchangeOneTimeTokenResponse;
class ListAclPoliciesRequest;
class ListAclPoliciesResponse;
class ListAclRolesRequest;
class ListAclRolesResponse;
class ListAclTokensRequest;
class ListAclTokensResponse;
class OneTimeTokenResponse;
class OwnAclTokenRequest;
class WhoAmIRequest;
class WhoAmIResponse;
}  // namespace drover::v1

namespace drover::acl {

class ServerResolver;
class TokenSecrets;

struct Settings {
  bool is_enabled = false;
  TokenLifetimes lifetimes;
};

class Rpc {
 public:
  Rpc(const Tables& tables, ServerResolver& resolver, const TokenSecrets& secrets)
      : tables_(tables), resolver_(resolver), secrets_(secrets) {}
  Status declare(Declarations& declare);
  void start(Host& host, const Settings& settings);

 private:
  // policy_rpc.cc
  Result<v1::WhoAmIResponse> who_am_i(const v1::WhoAmIRequest& request, Call& call);
  Result<v1::WhoAmIResponse> who_is_task(Call& call);
  Result<v1::ListAclPoliciesResponse> list_policies(const v1::ListAclPoliciesRequest& request, Call& call);
  Result<v1::AclPolicyResponse> get_policy(const v1::AclNameRequest& request, Call& call);
  Result<Write<v1::AclChangedResponse>> apply_policy(const v1::ApplyAclPolicyRequest& request, Call& call);
  Result<Write<v1::AclChangedResponse>> delete_policy(const v1::AclNameRequest& request, Call& call);
  // token_rpc.cc
  Result<Write<v1::AclTokenResponse>> bootstrap(const v1::BootstrapAclRequest& request, Call& call);
  Result<v1::ListAclTokensResponse> list_tokens(const v1::ListAclTokensRequest& request, Call& call);
  Result<v1::AclTokenResponse> own_token(const v1::OwnAclTokenRequest& request, Call& call);
  Result<v1::AclTokenResponse> get_token(const v1::AclTokenRequest& request, Call& call);
  Result<Write<v1::AclTokenResponse>> apply_token(const v1::ApplyAclTokenRequest& request, Call& call);
  Result<Write<v1::AclTokenResponse>> create_login_token(const v1::CreateLoginTokenRequest& request, Call& call);
  Result<Write<v1::AclChangedResponse>> delete_token(const v1::AclTokenRequest& request, Call& call);
  Result<Write<v1::OneTimeTokenResponse>> make_one_time(const v1::OwnAclTokenRequest& request, Call& call);
  Result<Write<v1::ExchangeOneTimeTokenResponse>> exchange_one_time(const v1::ExchangeOneTimeTokenRequest& request,
                                                                    Call& call);
  // role_rpc.cc
  Result<v1::ListAclRolesResponse> list_roles(const v1::ListAclRolesRequest& request, Call& call);
  Result<v1::AclRoleResponse> get_role(const v1::AclRoleRequest& request, Call& call);
  Result<Write<v1::AclRoleResponse>> apply_role(const v1::ApplyAclRoleRequest& request, Call& call);
  Result<Write<v1::AclChangedResponse>> delete_role(const v1::AclRoleRequest& request, Call& call);

  // Errors: invalid_argument "ACL support disabled".
  Status is_on() const;
  // The caller's own token; nothing when it has none.
  std::optional<v1::AclToken> token_of(const Call& call) const;
  // As it is shown to whoever may see it. Errors: as Keyring::open.
  Result<v1::AclToken> shown(const ReadView& view, v1::AclToken token) const;
  std::set<std::string> policy_names_of(const Call& call) const;
  // Names become identifiers, and each role stands once. Errors: invalid_argument.
  Status resolve_roles(v1::AclToken& token, const ReadView& view) const;
  // Completes and checks the token, and writes it in place of the existing one; null: there is none.
  Result<Write<v1::AclTokenResponse>> put_token(v1::AclToken token, const v1::AclToken* existing,
                                                const ReadView& view) const;

  const Tables& tables_;
  ServerResolver& resolver_;
  const TokenSecrets& secrets_;
  Host* host_ = nullptr;
  Settings settings_;
};

}  // namespace drover::acl
