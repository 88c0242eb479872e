// The handlers of the service Logins. Reads are functions of the call's view. What asks a plugin waits.
#pragma once

#include <memory>

#include "bind/binding.h"
#include "drover/auth_method.h"
#include "drover/plugin.h"
#include "pending.h"
#include "places.h"
#include "rules.h"
#include "tables.h"

namespace drover::v1 {
class AclTokenResponse;
class ApplyAuthMethodRequest;
class ApplyBindingRuleRequest;
class AuthMethodRequest;
class AuthMethodResponse;
class BindingRuleRequest;
class BindingRuleResponse;
class CompleteBrowserLoginRequest;
class ListAuthMethodsRequest;
class ListAuthMethodsResponse;
class ListBindingRulesRequest;
class ListBindingRulesResponse;
class LoginChangedResponse;
class LoginRequest;
class StartBrowserLoginRequest;
class StartBrowserLoginResponse;
}  // namespace drover::v1

namespace drover::login {

class ConfigSecrets;

struct Settings {
  bool is_enabled = false;  // access control is
  TokenLifetimes lifetimes;
};

class Rpc {
 public:
  Rpc(const Tables& tables, const ConfigSecrets& secrets) : tables_(tables), secrets_(secrets) {}
  Status declare(Declarations& declare);
  void start(Host& host, const Settings& settings);

 private:
  // method_rpc.cc
  Result<v1::ListAuthMethodsResponse> list_methods(const v1::ListAuthMethodsRequest& request, Call& call);
  Result<v1::AuthMethodResponse> get_method(const v1::AuthMethodRequest& request, Call& call);
  Result<v1::AuthMethodResponse> apply_method(const v1::ApplyAuthMethodRequest& request, Call& call);
  Result<Write<v1::LoginChangedResponse>> delete_method(const v1::AuthMethodRequest& request, Call& call);
  // rule_rpc.cc
  Result<v1::ListBindingRulesResponse> list_rules(const v1::ListBindingRulesRequest& request, Call& call);
  Result<v1::BindingRuleResponse> get_rule(const v1::BindingRuleRequest& request, Call& call);
  Result<Write<v1::BindingRuleResponse>> apply_rule(const v1::ApplyBindingRuleRequest& request, Call& call);
  Result<Write<v1::LoginChangedResponse>> delete_rule(const v1::BindingRuleRequest& request, Call& call);
  // login_rpc.cc
  Result<v1::AclTokenResponse> log_in(const v1::LoginRequest& request, Call& call);
  Result<v1::StartBrowserLoginResponse> start_browser(const v1::StartBrowserLoginRequest& request, Call& call);
  Result<v1::AclTokenResponse> complete_browser(const v1::CompleteBrowserLoginRequest& request, Call& call);

  // Errors: invalid_argument "ACL support disabled".
  Status is_on() const;
  // A method, the plugin that serves it, and what it can do.
  struct Way;
  Result<Way> way_of(const std::string& name) const;
  // Errors also: unauthenticated for a method that is another one than at the beginning.
  Result<v1::AclTokenResponse> token_for(const Way& way, const Result<v1::AuthIdentity>& identity, const Call& call);

  const Tables& tables_;
  const ConfigSecrets& secrets_;
  Host* host_ = nullptr;
  Settings settings_;
  std::unique_ptr<PendingLogins> pending_;
  Places places_;  // for calls of plugins
};

}  // namespace drover::login
