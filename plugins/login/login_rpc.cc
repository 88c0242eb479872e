#include <algorithm>
#include <array>
#include <cstdint>

#include "config_secrets.h"
#include "drover/api/acl.pb.h"
#include "drover/api/logins.pb.h"
#include "drover/base64url.h"
#include "drover/log.h"
#include "drover/secret.h"
#include "drover/uuid.h"
#include "drover/v1/auth_method.pb.h"
#include "method_plugins.h"
#include "rpc.h"

namespace drover::login {
namespace {

constexpr auto kPluginTime = std::chrono::seconds(30);  // after it nobody waits for the plugin
constexpr int64_t kSecond = 1'000'000'000;                // in nanoseconds
constexpr int64_t kLastSecond = INT64_MAX / kSecond - 3;  // that fits with any nanoseconds; in the year 2262
constexpr size_t kMaxField = 2048;
constexpr size_t kStateBytes = 32;

// Ends the plugin's call with the caller's, or after some time.
class Patience {
 public:
  Patience(Host& host, const std::stop_token& caller)
      : with_caller_(caller, [source = source_]() mutable { source.request_stop(); }) {
    host.post_after(kPluginTime, [source = source_]() mutable { source.request_stop(); });
  }
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  const std::stop_callback<std::function<void()>> with_caller_;
};

struct Field {
  const char* name;
  const std::string& value;
  size_t most = kMaxField;  // bytes
};

// Everything that is wrong with the request's fields, in one error.
Status check_fields(const char* request, std::initializer_list<Field> fields) {
  std::string wrong;
  for (const Field& field : fields) {
    const char* const divider = wrong.empty() ? "" : ", ";
    if (field.value.empty()) wrong += std::string(divider) + "missing " + field.name;
    if (field.value.size() > field.most) wrong += std::string(divider) + field.name + " is too long";
  }
  if (wrong.empty()) return ok_status();
  return invalid_argument("invalid " + std::string(request) + " request: " + wrong);
}

// Somebody who was not recognised is not told to be without rights (403): 401.
Status answered(const Status& status) {
  if (status.code() != Code::unauthenticated) return status;
  return with_http_status(status, 401);
}

Status changed() {
  return answered(auth::refused("the auth method was changed since the login began; begin anew"));
}

// How long the token lives, in nanoseconds: as the method says, and not beyond what the identity rests on. Errors:
// unauthenticated, when that has ended. A token without an end is never the answer.
Result<int64_t> life_of(const v1::AclAuthMethod& method, const v1::AuthIdentity& identity, int64_t now) {
  if (!identity.has_expires_at()) return method.max_token_ttl();
  const int64_t end = identity.expires_at().seconds();
  if (end > kLastSecond) return method.max_token_ttl();
  const int64_t left = end < 0 ? 0 : end * kSecond + identity.expires_at().nanos() - now;
  if (left <= 0) return answered(auth::refused("what the login rests on has ended"));
  return std::min(method.max_token_ttl(), left);
}

}  // namespace

struct Rpc::Way {
  v1::AclAuthMethod method;
  AuthMethod* plugin;
};

Result<Rpc::Way> Rpc::way_of(const std::string& name) const {
  auto method = tables_.methods.get(*host_->snapshot(), name);
  if (!method) return invalid_argument("auth-method \"" + name.substr(0, 128) + "\" not found");
  DROVER_RETURN_IF_ERROR(secrets_.open(*method));
  AuthMethod* const plugin = plugin_of_type(*host_, method->type());
  if (!plugin) return internal_error("no plugin on the leading server serves auth methods of type " + method->type());
  return Way{.method = *std::move(method), .plugin = plugin};
}

Result<v1::AclTokenResponse> Rpc::token_for(const Way& way, const Result<v1::AuthIdentity>& identity,
                                            const Call& call) {
  if (!identity) {
    log::info("login", "a login is refused",
              {{"method", way.method.name()},
               {"caller", call.context().remote_address},
               {"error", identity.status().message()}});
    return answered(identity.status());
  }
  const auto view = host_->snapshot();  // the rules are those of the method that is compared
  const auto method = tables_.methods.get(*view, way.method.name());
  if (!method || method->modify_index() != way.method.modify_index()) return changed();
  const auto rules = rules_of(*view, tables_, way.method.name());
  DROVER_TRY(const Bound bound, bind_rights(rules, *identity, mapped_names(way.method.config())));
  v1::CreateLoginTokenRequest request;
  DROVER_TRY(*request.mutable_name(), token_name(way.method, *identity));
  request.set_management(bound.is_management);
  *request.mutable_policies() = {bound.policies.begin(), bound.policies.end()};
  *request.mutable_roles() = {bound.roles.begin(), bound.roles.end()};
  request.set_global(way.method.token_locality() == "global");
  DROVER_TRY(const int64_t ttl, life_of(way.method, *identity, host_->clock().wall_ns()));
  request.set_ttl(ttl);
  CallContext context;
  context.method = "/drover.v1.Acl/CreateLoginToken";
  context.deadline = call.context().deadline;
  context.stop = call.stop();
  context.from_server = true;
  auto made = drover::call<v1::AclTokenResponse>(host_->caller(), std::move(context), request);
  if (!made) return made;
  log::info("login", "somebody has logged in",
            {{"method", way.method.name()},
             {"subject", identity->subject()},
             {"caller", call.context().remote_address},
             {"accessor", Uuid::from_bytes(made->token().accessor_id()).to_string()}});
  return made;
}

Result<v1::AclTokenResponse> Rpc::log_in(const v1::LoginRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  DROVER_RETURN_IF_ERROR(check_fields("login", {{"auth method name", request.auth_method_name()},
                                                {"login token", request.login_token(), kMaxLoginToken}}));
  DROVER_TRY(const Way way, way_of(request.auth_method_name()));
  if (!way.plugin->flows().token)
    return invalid_argument("auth-method \"" + way.method.name() + "\" of type " + way.method.type() +
                            " has no login with a token");
  DROVER_TRY(const auto place, places_.take(way.method.name()));
  const Patience patience(*host_, call.stop());
  v1::AuthLoginRequest asked;
  asked.set_config(way.method.config());
  asked.set_token(request.login_token());
  auto identity = way.plugin->login(asked, patience.token());
  if (!identity) {
    const std::array<std::string_view, 1> secrets = {request.login_token()};
    const Status bare = auth::without_secrets(identity.status(), secrets);
    identity = Status(bare.code(), "unable to validate provided token: " + bare.message());
  }
  return token_for(way, identity, call);
}

Result<v1::StartBrowserLoginResponse> Rpc::start_browser(const v1::StartBrowserLoginRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  DROVER_RETURN_IF_ERROR(check_fields("OIDC auth-url", {{"auth method name", request.auth_method_name()},
                                                        {"client nonce", request.client_nonce()},
                                                        {"redirect URI", request.redirect_uri()}}));
  DROVER_TRY(const Way way, way_of(request.auth_method_name()));
  if (!way.plugin->flows().browser)
    return invalid_argument("auth-method \"" + way.method.name() + "\" of type " + way.method.type() +
                            " has no login with a browser");
  DROVER_TRY(const auto place, places_.take(way.method.name()));
  const Patience patience(*host_, call.stop());
  v1::StartAuthLoginRequest asked;
  asked.set_config(way.method.config());
  asked.set_redirect_uri(request.redirect_uri());
  asked.set_client_nonce(request.client_nonce());
  asked.set_state(base64url(random_secret(kStateBytes)));
  DROVER_TRY(auto started, way.plugin->start_login(asked, patience.token()));
  if (started.kept().size() > kMaxKeptLogin) return internal_error("the auth method keeps too much for a login");
  DROVER_RETURN_IF_ERROR(pending_->add(asked.state(), {.method = way.method.name(),
                                                       .method_index = way.method.modify_index(),
                                                       .redirect_uri = request.redirect_uri(),
                                                       .client_nonce = request.client_nonce(),
                                                       .kept = started.kept(),
                                                       .address = call.context().remote_address}));
  v1::StartBrowserLoginResponse response;
  response.set_auth_url(started.auth_url());
  return response;
}

Result<v1::AclTokenResponse> Rpc::complete_browser(const v1::CompleteBrowserLoginRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  DROVER_RETURN_IF_ERROR(check_fields("OIDC complete-auth", {{"auth method name", request.auth_method_name()},
                                                             {"client nonce", request.client_nonce()},
                                                             {"state", request.state()},
                                                             {"code", request.code()},
                                                             {"redirect URI", request.redirect_uri()}}));
  DROVER_TRY(const auto place, places_.take(request.auth_method_name()));  // the state is good once: before it is taken
  const auto begun =
      pending_->take(request.state(), request.auth_method_name(), request.client_nonce(), request.redirect_uri());
  if (!begun) return answered(auth::refused("no OIDC request found for client nonce"));
  const auto found = way_of(request.auth_method_name());
  const bool is_deleted = found.status().code() == Code::invalid_argument;
  if (is_deleted || (found && found->method.modify_index() != begun->method_index)) return changed();
  DROVER_TRY(const Way way, found);
  const Patience patience(*host_, call.stop());
  v1::CompleteAuthLoginRequest asked;
  asked.set_config(way.method.config());
  asked.set_redirect_uri(request.redirect_uri());
  asked.set_client_nonce(request.client_nonce());
  asked.set_state(request.state());
  asked.set_kept(begun->kept);
  asked.set_code(request.code());
  auto identity = way.plugin->complete_login(asked, patience.token());
  if (!identity) {
    const std::array<std::string_view, 2> secrets = {request.code(), begun->kept};
    identity = auth::without_secrets(identity.status(), secrets);
  }
  return token_for(way, identity, call);
}

}  // namespace drover::login
