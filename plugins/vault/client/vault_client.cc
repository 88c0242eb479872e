#include "client/vault_client.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/answer.h"

namespace drover::vault {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr auto kTimeLimit = 10s;
constexpr size_t kMaxAnswer = 8 << 20;  // bytes
constexpr int kMostRedirects = 2;       // from a standby to the active one
constexpr int kTemporaryRedirect = 307, kPermanentRedirect = 308;

Code code_of(long status) {
  switch (status) {
    case 400:
      return Code::invalid_argument;
    case 403:
      return Code::permission_denied;
    case 404:
      return Code::not_found;
    case 412:  // this one has not heard yet of what another has written
    case 429:
      return Code::unavailable;
    default:
      return status >= 472 ? Code::unavailable : Code::internal;
  }
}

std::string text_at(const json& object, const char* name) {
  const json& at = member(object, name);
  return at.is_string() ? at.get<std::string>() : std::string();
}
bool is_set(const json& object, const char* name) {
  const json& at = member(object, name);
  return at.is_boolean() && at.get<bool>();
}
std::chrono::nanoseconds seconds_at(const json& object, const char* name) {
  constexpr int64_t kMost = 10LL * 365 * 24 * 3600;
  const json& at = member(object, name);
  return at.is_number() ? std::chrono::seconds(std::clamp<int64_t>(at.get<int64_t>(), 0, kMost)) : 0s;
}

Status refusal_of(const http_client::Answer& answer) {
  std::string why;
  const json said = json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  for (const json& one : member(said, "errors")) {
    if (one.is_string()) why += (why.empty() ? "" : "; ") + one.get<std::string>();
  }
  return {code_of(answer.status),
          "Vault answers " + std::to_string(answer.status) + (why.empty() ? std::string() : ": " + why)};
}

// Segments of a path as they stand in a URL; the query as it is.
Result<std::string> url_of(const std::string& address, const std::string& path) {
  const size_t mark = path.find('?');
  const std::string query = mark == std::string::npos ? "" : path.substr(mark);
  for (const char c : query) {
    if (c <= ' ' || c == 0x7f) return invalid_argument("the query of a path has a byte that no query has");
  }
  std::string url = address + "/v1";
  const std::string below = path.substr(0, mark);
  for (size_t begin = 0; begin <= below.size();) {
    const size_t end = std::min(below.find('/', begin), below.size());
    const std::string part = below.substr(begin, end - begin);
    if (part == "." || part == "..") return invalid_argument("a path has no part \"" + part + "\"");
    if (!part.empty()) url += "/" + http_client::encoded(part);
    begin = end + 1;
  }
  return url + query;
}

Lease lease_of(const json& object) {
  return {.duration = seconds_at(object, "lease_duration"), .is_renewable = is_set(object, "renewable")};
}

Result<Lease> lease_of_token(const Answer& answer) {
  const json& auth = member(*answer, "auth");
  if (!auth.is_object()) return data_loss("Vault's answer says nothing of the token");
  return lease_of(auth);
}

}  // namespace

struct VaultClient::Question {
  std::string method, path;
  Session session;
  std::string body{};
};

Result<Answer> VaultClient::ask(const Question& question, std::stop_token stop) const {
  http_client::Request request;
  DROVER_TRY(request.url, url_of(config_.address, question.path));
  request.method = question.method;
  request.body = question.body;
  request.tls = config_.tls;
  request.time_limit = kTimeLimit;
  request.max_answer = kMaxAnswer;
  request.headers = {{"X-Vault-Request", "true"}};
  if (!question.body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  if (!question.session.token.empty()) request.headers.emplace_back("X-Vault-Token", question.session.token);
  if (!question.session.name_space.empty())
    request.headers.emplace_back("X-Vault-Namespace", question.session.name_space);
  DROVER_TRY(http_client::Answer answer, http_client::exchange(request, stop));
  for (int more = kMostRedirects; more > 0 && !answer.redirect.empty() &&
                                  (answer.status == kTemporaryRedirect || answer.status == kPermanentRedirect);
       --more) {
    if (request.url.starts_with("https://") && !answer.redirect.starts_with("https://"))
      return unavailable("Vault leads from https to something else");
    request.url = answer.redirect;
    DROVER_TRY(answer, http_client::exchange(request, stop));
  }
  if (answer.status < 200 || answer.status > 299) return refusal_of(answer);
  if (answer.body.empty()) return std::make_shared<const json>(json::object());
  json said = json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  if (!said.is_object()) return data_loss("Vault's answer is no JSON object");
  return std::make_shared<const json>(std::move(said));
}

Result<SealStatus> VaultClient::seal_status(std::stop_token stop) const {
  DROVER_TRY(const Answer answer, ask({.method = "GET", .path = "sys/seal-status", .session = {}}, std::move(stop)));
  return SealStatus{.version = text_at(*answer, "version"),
                    .cluster_id = text_at(*answer, "cluster_id"),
                    .cluster_name = text_at(*answer, "cluster_name"),
                    .is_sealed = is_set(*answer, "sealed")};
}

Result<Login> VaultClient::log_in(const std::string& name_space, const std::string& role, const std::string& jwt,
                                  std::stop_token stop) const {
  json body = {{"jwt", jwt}};
  if (!role.empty()) body["role"] = role;
  DROVER_TRY(const Answer answer, ask({.method = "POST",
                                       .path = "auth/" + config_.auth_path + "/login",
                                       .session = {.name_space = name_space, .token = {}},
                                       .body = body.dump()},
                                      std::move(stop)));
  DROVER_TRY(const Lease lease, lease_of_token(answer));
  Login login{.token = text_at(member(*answer, "auth"), "client_token"), .lease = lease};
  if (login.token.empty()) return data_loss("Vault's answer to a login has no token");
  return login;
}

Result<Lease> VaultClient::renew_token(const Session& session, std::chrono::nanoseconds increment,
                                       std::stop_token stop) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(increment).count();
  DROVER_TRY(const Answer answer, ask({.method = "PUT",
                                       .path = "auth/token/renew-self",
                                       .session = session,
                                       .body = (seconds > 0 ? json{{"increment", seconds}} : json::object()).dump()},
                                      std::move(stop)));
  return lease_of_token(answer);
}

Status VaultClient::revoke_token(const Session& session, std::stop_token stop) const {
  return ask({.method = "PUT", .path = "auth/token/revoke-self", .session = session, .body = "{}"}, std::move(stop))
      .status();
}

Result<Answer> VaultClient::read(const Session& session, const std::string& path, std::stop_token stop) const {
  return ask({.method = "GET", .path = path, .session = session}, std::move(stop));
}

Result<Answer> VaultClient::list(const Session& session, const std::string& path, std::stop_token stop) const {
  return ask({.method = "GET", .path = path + (path.find('?') == std::string::npos ? "?" : "&") + "list=true",
              .session = session},
             std::move(stop));
}

Result<Answer> VaultClient::write(const Session& session, const std::string& path, const json& body,
                                  std::stop_token stop) const {
  return ask({.method = "PUT", .path = path, .session = session, .body = body.dump()}, std::move(stop));
}

Result<Lease> VaultClient::renew_lease(const Session& session, const std::string& lease,
                                       std::chrono::nanoseconds increment, std::stop_token stop) const {
  const json body = {{"lease_id", lease},
                     {"increment", std::chrono::duration_cast<std::chrono::seconds>(increment).count()}};
  DROVER_TRY(const Answer answer,
             ask({.method = "PUT", .path = "sys/leases/renew", .session = session, .body = body.dump()},
                 std::move(stop)));
  return lease_of(*answer);
}

Result<Mount> VaultClient::mount_of(const Session& session, const std::string& path, std::stop_token stop) const {
  const std::string below = path.substr(0, path.find('?'));
  DROVER_TRY(const Answer answer,
             ask({.method = "GET", .path = "sys/internal/ui/mounts/" + below, .session = session}, std::move(stop)));
  const json& data = member(*answer, "data");
  Mount mount{.path = text_at(data, "path")};
  const std::string type = text_at(data, "type");
  if (type == "kv" || type == "generic")
    mount.kv_version = text_at(member(data, "options"), "version") == "2" ? 2 : 1;
  return mount;
}

}  // namespace drover::vault
