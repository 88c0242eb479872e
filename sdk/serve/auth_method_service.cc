#include <array>
#include <memory>

#include "base_service.h"
#include "drover/auth_method.h"
#include "time_limits.h"

#include "drover/v1/auth_method.pb.h"

namespace drover::serve {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kLoginTime = 30s;

v1::DescribeAuthResponse describe(const AuthMethod& plugin) {
  v1::DescribeAuthResponse out;
  out.set_type(plugin.type());
  const AuthMethod::Flows flows = plugin.flows();
  if (flows.token) out.add_flows(v1::DescribeAuthResponse::TOKEN);
  if (flows.browser) out.add_flows(v1::DescribeAuthResponse::BROWSER);
  return out;
}

Result<v1::CheckAuthConfigResponse> check_config(AuthMethod& plugin, const v1::CheckAuthConfigRequest& request) {
  DROVER_TRY(auto errors, plugin.check_config(request.config()));
  v1::CheckAuthConfigResponse out;
  for (v1::AuthConfigError& error : errors) *out.add_errors() = std::move(error);
  return out;
}

Result<v1::AuthIdentity> check(Result<v1::AuthIdentity> identity) {
  if (identity && identity->subject().empty()) return internal_error("the auth method found nobody and did not say so");
  return identity;
}

Result<v1::StartAuthLoginResponse> check(Result<v1::StartAuthLoginResponse> started) {
  if (started && started->kept().size() > kMaxKeptLogin)
    return internal_error("the auth method keeps more than 4 KiB for a login");
  return started;
}

}  // namespace

Methods methods_of(AuthMethod& plugin, const About& about) {
  Methods methods;
  add_base_methods(methods, AuthMethod::kKind, plugin, about, with_code);
  const auto limits = std::make_shared<TimeLimits>();
  const auto add = [&]<typename Request, typename Answer>(
                       const char* name, ErrorForm form,
                       Result<Answer> (*handle)(AuthMethod&, const Request&, std::stop_token)) {
    methods["/drover.v1.AuthPlugin/" + std::string(name)] =
        unary<Request, Answer>(form, [&plugin, limits, handle](const Request& request, Call& call) {
          const TimeLimits::Limit limit(*limits, call.stop(), kLoginTime);
          return handle(plugin, request, limit.stop());
        });
  };
  add(
      "Describe", with_code,
      +[](AuthMethod& p, const v1::DescribeAuthRequest&, std::stop_token) -> Result<v1::DescribeAuthResponse> {
        return describe(p);
      });
  add(
      "CheckConfig", with_code, +[](AuthMethod& p, const v1::CheckAuthConfigRequest& request, std::stop_token) {
        return check_config(p, request);
      });
  add(
      "Login", with_code_or_lacking,
      +[](AuthMethod& p, const v1::AuthLoginRequest& request, std::stop_token stop) -> Result<v1::AuthIdentity> {
        auto identity = check(p.login(request, std::move(stop)));
        if (identity) return identity;
        return auth::without_secrets(identity.status(), std::array<std::string_view, 1>{request.token()});
      });
  add(
      "StartLogin", with_code_or_lacking,
      +[](AuthMethod& p, const v1::StartAuthLoginRequest& request, std::stop_token stop) {
        return check(p.start_login(request, std::move(stop)));
      });
  add(
      "CompleteLogin", with_code_or_lacking,
      +[](AuthMethod& p, const v1::CompleteAuthLoginRequest& request,
          std::stop_token stop) -> Result<v1::AuthIdentity> {
        auto identity = check(p.complete_login(request, std::move(stop)));
        if (identity) return identity;
        return auth::without_secrets(identity.status(),
                                     std::array<std::string_view, 2>{request.code(), request.kept()});
      });
  return methods;
}

}  // namespace drover::serve
