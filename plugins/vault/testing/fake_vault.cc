#include "testing/fake_vault.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "drover/jose.h"

namespace drover::testing {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

Told refused(unsigned status, const std::string& why) {
  return {.status = status, .body = json{{"errors", {why}}}.dump()};
}
Told denied() { return refused(403, "permission denied"); }
Told none() { return {.status = 404, .body = R"({"errors":[]})"}; }
Told says(json body) { return {.body = body.dump()}; }
Told done() { return {.status = 204, .body = ""}; }

bool has_time(const json& object, const char* name) { return object.contains(name) && object.at(name).is_number(); }

}  // namespace

struct FakeVault::State {
  struct Token {
    std::string value;
    Clock::time_point ends;
  };

  mutable std::mutex mutex;  // guards all below
  std::string jwks;
  int lease = 3600;
  bool is_renewable = true, is_sealed = false;
  std::vector<std::string> roles{"nomad-workloads"};
  std::vector<Token> tokens;
  std::map<std::string, json> secrets;    // by path
  std::map<std::string, int> versions;    // of those of version 2
  std::map<std::string, int> leases;      // renewals that each one had
  std::map<std::string, int> asked;
  std::map<std::string, unsigned> faults;
  int made = 0;
  std::unique_ptr<WebServer> server;  // last: it goes first

  static bool is_good(const Token& token) { return Clock::now() < token.ends; }
  const Token* token_of(const Asked& question) const {
    const auto header = question.headers.find("x-vault-token");
    if (header == question.headers.end()) return nullptr;
    const auto at = std::ranges::find(tokens, header->second, &Token::value);
    return at != tokens.end() && is_good(*at) ? &*at : nullptr;
  }
  Clock::time_point end_of_lease() const {
    return lease == 0 ? Clock::time_point::max() : Clock::now() + std::chrono::seconds(lease);
  }

  void order(const json& orders) {
    const std::lock_guard lock(mutex);
    if (orders.contains("jwks")) jwks = orders["jwks"];
    if (has_time(orders, "lease")) lease = orders["lease"];
    if (orders.contains("renewable")) is_renewable = orders["renewable"];
    if (orders.contains("sealed")) is_sealed = orders["sealed"];
    if (orders.contains("roles")) roles = orders["roles"].get<std::vector<std::string>>();
    if (orders.contains("forget")) tokens.clear();
    if (orders.contains("put")) put(orders["put"]["path"], orders["put"]["data"]);
    if (orders.contains("delete")) secrets.erase(orders["delete"].get<std::string>());
    if (orders.contains("fail")) {
      for (const auto& [path, status] : orders["fail"].items()) faults[path] = status;
    }
  }
  void put(const std::string& path, const json& data) {
    secrets[path] = data;
    ++versions[path];
  }

  Told answer(const Asked& question) {
    if (question.path == "/order") return order(json::parse(question.body)), done();
    if (question.path == "/state") return says(state());
    const std::string path = question.path.starts_with("/v1/") ? question.path.substr(4) : "";
    std::string keys_at;
    {
      const std::lock_guard lock(mutex);
      ++asked[path];
      for (const auto& [begin, status] : faults) {
        if (status > 0 && path.starts_with(begin)) return refused(status, "as ordered");
      }
      keys_at = jwks;
    }
    // The keys are fetched without the lock: who signs may ask this Vault meanwhile.
    if (path.starts_with("auth/") && path.ends_with("/login")) return log_in(question, keys_at);
    const std::lock_guard lock(mutex);
    if (path == "sys/seal-status")
      return says({{"sealed", is_sealed}, {"version", "1.15.2"}, {"cluster_id", "fake-id"}, {"cluster_name", "fake"}});
    if (is_sealed) return refused(503, "Vault is sealed");
    return with_token(question, path);
  }

  json state() const {
    const std::lock_guard lock(mutex);
    json good = json::array();
    for (const Token& each : tokens) {
      if (is_good(each)) good.push_back(each.value);
    }
    return {{"tokens", good}, {"asked", asked}};
  }

  Told log_in(const Asked& question, const std::string& keys_at) {
    const json body = json::parse(question.body, nullptr, false);
    const std::string jwt = body.value("jwt", ""), role = body.value("role", "");
    if (!keys_at.empty()) {
      if (const std::string why = refusal_of(jwt, keys_at); !why.empty()) return refused(400, why);
    }
    const std::lock_guard lock(mutex);
    if (std::ranges::find(roles, role) == roles.end()) return refused(400, "role \"" + role + "\" could not be found");
    tokens.push_back({.value = "hvs.fake-" + std::to_string(++made), .ends = end_of_lease()});
    return says({{"auth", auth_of(tokens.back())}});
  }
  json auth_of(const Token& token) const {
    return {{"client_token", token.value}, {"lease_duration", lease}, {"renewable", is_renewable}};
  }
  static std::string refusal_of(const std::string& jwt, const std::string& keys_at) {
    const auto published = page_at(keys_at);
    const auto keys = published ? jose::parse_key_set(*published) : Result<std::vector<jose::Key>>(published.status());
    if (!keys) return "no keys: " + keys.status().message();
    const auto token = jose::parse_token(jwt);
    if (!token || !jose::is_signed(*token, *keys)) return "error validating token: error verifying token signature";
    const auto audiences = token->claims.audiences();
    if (std::ranges::find(audiences, "vault.io") == audiences.end())
      return "error validating token: invalid audience (aud) claim";
    const auto end = token->claims.time("exp");
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now().time_since_epoch()).count();
    if (!end || !*end || **end < now) return "error validating token: token is expired";
    return token->claims.text("nomad_job_id") ? "" : "claim \"/nomad_job_id\" not found in token";
  }

  // An administrator's words, with the token "root".
  std::optional<Told> as_root(const Asked& question, const std::string& path) {
    const auto header = question.headers.find("x-vault-token");
    if (header == question.headers.end() || header->second != "root") return std::nullopt;
    const json body = json::parse(question.body, nullptr, false);
    const std::string role = "auth/jwt-nomad/role/";
    if (path.starts_with("sys/auth/") || path.starts_with("sys/policies/acl/")) return done();
    if (path == "auth/jwt-nomad/config") return jwks = body.at("jwks_url"), done();
    if (path.starts_with(role)) return roles.push_back(path.substr(role.size())), done();
    if (path.starts_with("secret/")) return version_2(question, path.substr(sizeof("secret/") - 1), body);
    return std::nullopt;
  }

  Told with_token(const Asked& question, const std::string& path) {
    if (auto told = as_root(question, path)) return *std::move(told);
    const Token* token = token_of(question);
    if (!token) return denied();
    const json body = json::parse(question.body, nullptr, false);
    if (path == "auth/token/renew-self") {
      if (!is_renewable) return refused(400, "lease is not renewable");
      const auto at = std::ranges::find(tokens, token->value, &Token::value);
      at->ends = end_of_lease();
      return says({{"auth", auth_of(*at)}});
    }
    if (path == "auth/token/revoke-self") {
      std::erase_if(tokens, [value = token->value](const Token& each) { return each.value == value; });
      return done();
    }
    if (path == "sys/leases/renew") {
      const std::string id = body.value("lease_id", "");
      if (!leases.contains(id)) return refused(400, "lease not found");
      ++leases[id];
      return says({{"lease_id", id}, {"lease_duration", lease}, {"renewable", true}});
    }
    if (path.starts_with("sys/internal/ui/mounts/"))
      return mount_of(path.substr(sizeof("sys/internal/ui/mounts/") - 1));
    if (path.starts_with("database/creds/")) return dynamic(path);
    if (path.starts_with("pki/issue/")) return certificate(body);
    if (path.starts_with("secret/")) return version_2(question, path.substr(sizeof("secret/") - 1), body);
    return version_1(question, path, body);
  }

  static Told mount_of(const std::string& path) {
    const std::string mount = path.substr(0, path.find('/'));
    if (mount != "secret" && mount != "kv") return says({{"data", {{"path", mount + "/"}, {"type", mount}}}});
    return says({{"data", {{"path", mount + "/"}, {"type", "kv"},
                           {"options", {{"version", mount == "secret" ? "2" : "1"}}}}}});
  }
  Told list(const std::string& folder) const {
    json keys = json::array();
    for (const auto& [path, data] : secrets) {
      if (!path.starts_with(folder)) continue;
      const std::string rest = path.substr(folder.size());
      const std::string key = rest.substr(0, rest.find('/') == std::string::npos ? rest.size() : rest.find('/') + 1);
      if (std::ranges::find(keys, json(key)) == keys.end()) keys.push_back(key);
    }
    return keys.empty() ? none() : says({{"data", {{"keys", keys}}}});
  }
  Told version_1(const Asked& question, const std::string& path, const json& body) {
    if (question.query.contains("list")) return list(path + "/");
    if (body.is_object()) return put(path, body), done();
    const auto at = secrets.find(path);
    if (at == secrets.end()) return none();
    const std::string ttl = at->second.contains("ttl") ? at->second["ttl"].get<std::string>() : "2764800";
    return says({{"request_id", std::to_string(++made)}, {"lease_id", ""}, {"renewable", false},
                 {"lease_duration", std::stoi(ttl)}, {"data", at->second}});
  }
  Told version_2(const Asked& question, const std::string& path, const json& body) {
    if (path.starts_with("metadata/") && question.query.contains("list"))
      return list("secret/" + path.substr(sizeof("metadata/") - 1) + "/");
    if (!path.starts_with("data/"))
      return {.status = 404, .body = R"({"errors":[],"warnings":["Invalid path for a versioned K/V secrets engine"]})"};
    const std::string key = "secret/" + path.substr(sizeof("data/") - 1);
    if (body.is_object()) {
      put(key, body.at("data"));
      return says({{"data", {{"version", versions[key]}}}});
    }
    const auto at = secrets.find(key);
    if (at == secrets.end()) return none();
    return says({{"request_id", std::to_string(++made)}, {"lease_id", ""}, {"lease_duration", 0},
                 {"data", {{"data", at->second}, {"metadata", {{"version", versions[key]}}}}}});
  }
  Told dynamic(const std::string& path) {
    const std::string id = path + "/" + std::to_string(++made);
    leases[id] = 0;
    return says({{"lease_id", id}, {"lease_duration", lease}, {"renewable", true},
                 {"data", {{"username", "u" + std::to_string(made)}, {"password", "p" + std::to_string(made)}}}});
  }
  Told certificate(const json& body) {
    const auto end = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now().time_since_epoch()).count() + lease;
    return says({{"data", {{"certificate", "cert of " + body.value("common_name", "") + " " + std::to_string(++made)},
                           {"private_key", "key"}, {"issuing_ca", "ca"}, {"ca_chain", {"ca"}}, {"expiration", end}}}});
  }
};

FakeVault::FakeVault() : state_(std::make_unique<State>()) {
  const auto answer = [this](const Asked& question) { return state_->answer(question); };
  state_->server = std::make_unique<WebServer>("", "", answer);
}
FakeVault::~FakeVault() { state_->server.reset(); }

std::string FakeVault::address() const { return "http://127.0.0.1:" + std::to_string(state_->server->port()); }
void FakeVault::order(std::string_view text) { state_->order(json::parse(text)); }

int FakeVault::asked(const std::string& path) const {
  const std::lock_guard lock(state_->mutex);
  const auto at = state_->asked.find(path);
  return at == state_->asked.end() ? 0 : at->second;
}

std::vector<std::string> FakeVault::tokens() const {
  const json state = state_->state();
  return state["tokens"].get<std::vector<std::string>>();
}

}  // namespace drover::testing
