#include "kind_shell.h"

#include <algorithm>
#include <charconv>

#include "drover/hclspec.h"
#include "drover/uuid.h"

#include "drover/v1/check_provider.pb.h"
#include "drover/v1/service_provider.pb.h"

namespace drover::conformance {
namespace {

constexpr const char* kChecks = "/drover.v1.CheckPlugin/Describe";

Result<uint32_t> read_port(std::string_view text) {
  uint32_t port = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, port);
  if (parsed.ec != std::errc() || parsed.ptr != end || port > 65'535)
    return invalid_argument("\"" + std::string(text) + "\" is no port");
  return port;
}

Result<std::string> read_config(const std::string& file) {
  DROVER_TRY(const hcl::Value config, read_object(file));
  return hcl::to_json(config);
}

}  // namespace

std::optional<Status> KindShell::obey(const Words& words) {
  const std::string& name = words[0];
  if (name == "describe") return describe();
  if (name == "check") return check(words);
  if (name == "sync") return sync(words);
  if (name == "check-config" || name == "login" || name == "start-login" || name == "complete-login")
    return log_in(words);
  return {};
}

Status KindShell::describe() {
  DROVER_TRY(const auto info, trial_.info());
  switch (info.type()) {
    case base::CHECK_PROVIDER:
      return ask<v1::DescribeChecksResponse>(kChecks, v1::DescribeChecksRequest());
    case base::SERVICE_PROVIDER:
      return ask<v1::DescribeServicesResponse>("/drover.v1.ServicePlugin/Describe", v1::DescribeServicesRequest());
    case base::AUTH_METHOD:
      return ask<v1::DescribeAuthResponse>("/drover.v1.AuthPlugin/Describe", v1::DescribeAuthRequest());
    default:
      return invalid_argument("plugins of this kind have no such call; see help");
  }
}

Status KindShell::check(const Words& words) {
  if (words.size() < 2) return invalid_argument("check needs the type; describe lists them");
  v1::RunCheckRequest request;
  request.set_type(words[1]);
  request.set_check_id("shell");
  request.set_service("shell");
  request.set_address(words.size() > 3 ? words[3] : "127.0.0.1");
  if (words.size() > 4) {
    DROVER_TRY(const uint32_t port, read_port(words[4]));
    request.set_port(port);
  }
  *request.mutable_timeout() = duration_of(10s);
  DROVER_TRY(const auto all, trial_.call<v1::DescribeChecksResponse>(kChecks, v1::DescribeChecksRequest()));
  const auto type = std::ranges::find(all.types(), words[1], &v1::CheckType::name);
  if (type != all.types().end() && type->has_options()) {
    hcl::Value options{hcl::Object()};
    if (words.size() > 2) {
      DROVER_TRY(options, read_object(words[2]));
    }
    DROVER_RETURN_IF_ERROR(hclspec::check(type->options()));
    DROVER_TRY(const auto decoded, hclspec::decode(type->options(), options).with_context("the options"));
    request.set_options(hclspec::to_msgpack(decoded));
  }
  return ask<v1::CheckResult>("/drover.v1.CheckPlugin/Run", request);
}

Status KindShell::sync(const Words& words) {
  if (words.size() < 2) return invalid_argument("sync needs the node's name");
  v1::SyncServicesRequest request;
  request.set_node_id(words[1]);
  request.set_node_name(words[1]);
  for (size_t i = 2; i < words.size(); ++i) {
    const size_t equals = words[i].find('='), colon = words[i].rfind(':');
    if (equals == std::string::npos || colon == std::string::npos || colon < equals)
      return invalid_argument("\"" + words[i] + "\" is not SERVICE=ADDRESS:PORT");
    v1::ServiceInstance& instance = *request.add_instances();
    instance.set_service(words[i].substr(0, equals));
    instance.set_id(words[1] + "-" + instance.service());
    instance.set_address(words[i].substr(equals + 1, colon - equals - 1));
    DROVER_TRY(const uint32_t port, read_port(std::string_view(words[i]).substr(colon + 1)));
    instance.set_port(port);
    instance.set_namespace_("default");
    instance.set_status(v1::CheckResult::PASSING);
  }
  return ask<v1::SyncServicesResponse>("/drover.v1.ServicePlugin/Sync", request);
}

Status KindShell::log_in(const Words& words) {
  const std::string& name = words[0];
  if (words.size() < 2) return invalid_argument(name + " needs the file of an auth method's Config");
  DROVER_TRY(const std::string config, read_config(words[1]));
  if (name == "check-config") {
    v1::CheckAuthConfigRequest request;
    request.set_config(config);
    return ask<v1::CheckAuthConfigResponse>("/drover.v1.AuthPlugin/CheckConfig", request);
  }
  if (name == "start-login") {
    v1::StartAuthLoginRequest request;
    request.set_config(config);
    request.set_redirect_uri(words.size() > 2 ? words[2] : "http://127.0.0.1:4649/oidc/callback");
    request.set_client_nonce(Uuid::random().to_string());
    request.set_state(Uuid::random().to_string());
    DROVER_TRY(const auto answer, trial_.call<v1::StartAuthLoginResponse>("/drover.v1.AuthPlugin/StartLogin", request));
    v1::CompleteAuthLoginRequest& next = started_.emplace();
    next.set_config(config);
    next.set_redirect_uri(request.redirect_uri());
    next.set_client_nonce(request.client_nonce());
    next.set_state(request.state());
    next.set_kept(answer.kept());
    return print_(answer);
  }
  if (words.size() < 3)
    return invalid_argument(name + (name == "login" ? " needs the token" : " needs the code that the browser brought"));
  if (name == "login") {
    v1::AuthLoginRequest request;
    request.set_config(config);
    request.set_token(words[2]);
    return ask<v1::AuthIdentity>("/drover.v1.AuthPlugin/Login", request);
  }
  if (!started_) return failed_precondition("no login was started here; see start-login");
  v1::CompleteAuthLoginRequest request = *started_;
  request.set_config(config);
  request.set_code(words[2]);
  return ask<v1::AuthIdentity>("/drover.v1.AuthPlugin/CompleteLogin", request);
}

}  // namespace drover::conformance
