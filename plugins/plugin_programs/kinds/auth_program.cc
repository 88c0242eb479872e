#include "kinds/auth_program.h"

#include <algorithm>
#include <array>

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;
using Again = ProgramHost::Again;

constexpr auto kLoginTime = 35s;  // a method has thirty, and then some to say so
constexpr size_t kMaxUrl = 8192;

#define DROVER_AUTH_PLUGIN_METHOD(NAME) "/drover.v1.AuthPlugin/" NAME

bool has(const v1::DescribeAuthResponse& facts, v1::DescribeAuthResponse::Flow flow) {
  return std::ranges::find(facts.flows(), flow) != facts.flows().end();
}

bool is_same_type(std::string_view one, std::string_view other) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(one, other, {}, lower, lower);
}

}  // namespace

Status AuthProgram::judge(const v1::DescribeAuthResponse& facts) const {
  if (!auth::is_type_name(facts.type()))
    return failed_precondition("\"" + facts.type().substr(0, 100) +
                               "\" is no name for a type of auth methods: it must match [A-Za-z][A-Za-z0-9_-]*");
  if (!has(facts, v1::DescribeAuthResponse::TOKEN) && !has(facts, v1::DescribeAuthResponse::BROWSER))
    return failed_precondition("the auth method has no way to log in that is known here");
  return ok_status();
}

Status AuthProgram::judge_next(const v1::DescribeAuthResponse& now, const v1::DescribeAuthResponse& next) const {
  if (!is_same_type(now.type(), next.type()))
    return failed_precondition("it is for auth methods of type " + next.type() + ", the version that runs for " +
                               now.type());
  for (const auto flow : {v1::DescribeAuthResponse::TOKEN, v1::DescribeAuthResponse::BROWSER}) {
    if (has(now, flow) && !has(next, flow))
      return failed_precondition("it has no login of the kind " + v1::DescribeAuthResponse::Flow_Name(flow) +
                                 ", which the version that runs has");
  }
  return ok_status();
}

std::string AuthProgram::type() const { return facts().type(); }

AuthMethod::Flows AuthProgram::flows() const {
  const v1::DescribeAuthResponse facts = this->facts();
  return {.token = has(facts, v1::DescribeAuthResponse::TOKEN),
          .browser = has(facts, v1::DescribeAuthResponse::BROWSER)};
}

Status AuthProgram::garbled(const std::string& what) const {
  return internal_error("plugin " + program().file_name() + ": " + what);
}

Result<std::vector<v1::AuthConfigError>> AuthProgram::check_config(std::string_view config) {
  v1::CheckAuthConfigRequest request;
  request.set_config(std::string(config));
  DROVER_TRY(auto answer, program().ask<v1::CheckAuthConfigResponse>(DROVER_AUTH_PLUGIN_METHOD("CheckConfig"), request,
                                                                     Again::once, kCallTime));
  return std::vector<v1::AuthConfigError>(answer.errors().begin(), answer.errors().end());
}

Result<v1::AuthIdentity> AuthProgram::login(const v1::AuthLoginRequest& request, std::stop_token stop) {
  auto identity = program().ask<v1::AuthIdentity>(DROVER_AUTH_PLUGIN_METHOD("Login"), request, Again::once, kLoginTime,
                                                  stop, kRestartTime);
  if (!identity) return auth::without_secrets(identity.status(), std::array<std::string_view, 1>{request.token()});
  return identity->subject().empty() ? garbled("it found nobody and did not say so") : identity;
}

Result<v1::StartAuthLoginResponse> AuthProgram::start_login(const v1::StartAuthLoginRequest& request,
                                                            std::stop_token stop) {
  DROVER_TRY(auto started, program().ask<v1::StartAuthLoginResponse>(DROVER_AUTH_PLUGIN_METHOD("StartLogin"), request,
                                                                     Again::once, kLoginTime, stop, kRestartTime));
  if (started.kept().size() > kMaxKeptLogin) return garbled("it keeps more than 4 KiB for a login");
  const std::string& url = started.auth_url();
  if (url.size() > kMaxUrl || (!url.starts_with("https://") && !url.starts_with("http://")))
    return garbled("the URL to log in at does not begin with https:// or http://, or is longer than 8 KiB");
  return started;
}

Result<v1::AuthIdentity> AuthProgram::complete_login(const v1::CompleteAuthLoginRequest& request,
                                                     std::stop_token stop) {
  auto identity = program().ask<v1::AuthIdentity>(DROVER_AUTH_PLUGIN_METHOD("CompleteLogin"), request, Again::never,
                                                  kLoginTime, stop, kRestartTime);
  if (!identity)
    return auth::without_secrets(identity.status(), std::array<std::string_view, 2>{request.code(), request.kept()});
  return identity->subject().empty() ? garbled("it found nobody and did not say so") : identity;
}

}  // namespace drover::plugin_programs
