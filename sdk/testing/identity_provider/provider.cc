#include "sdk/testing/identity_provider/provider.h"

#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "drover/base64.h"
#include "drover/base64url.h"
#include "drover/clock.h"
#include "drover/http_client.h"
#include "drover/jose.h"
#include "drover/sha256.h"
#include "drover/tls.h"
#include "drover/uuid.h"
#include "sdk/testing/identity_provider/signing_key.h"

namespace drover::testing {
namespace {

using Json = nlohmann::json;
using http_client::encoded;

constexpr const char* kAccessToken = "an access token";
constexpr size_t kLong = 10 << 20;

void lay_over(Json& object, const Json& over) {
  for (const auto& [name, value] : over.items()) {
    if (value.is_null()) {
      object.erase(name);
    } else {
      object[name] = value;
    }
  }
}

Told error(unsigned status, const char* word) { return {.status = status, .body = Json{{"error", word}}.dump()}; }

}  // namespace

struct IdentityProvider::State {
  struct Begun {
    std::string redirect, nonce, challenge;
  };

  TlsIdentity identity;
  SigningKey first{SigningKey::Kind::rsa, "first"};
  mutable std::optional<SigningKey> second;  // made when it is asked for: that takes a moment
  mutable std::mutex mutex;
  Json switches = Json::object();      // guarded by mutex, as what follows
  std::map<std::string, Begun> begun;  // by code
  std::set<std::string> used;          // identifiers of clients' tokens
  std::map<std::string, int> asked;
  std::unique_ptr<WebServer> server;

  std::string issuer() const {
    return (identity.cert.empty() ? "http" : "https") + std::string("://localhost:") + std::to_string(server->port());
  }
  const SigningKey& key() const {
    if (!switches.value("rotated", false)) return first;
    if (!second) second.emplace(SigningKey::Kind::rsa, "second");
    return *second;
  }

  Told answer(const Asked& request) {
    const std::lock_guard lock(mutex);
    ++asked[request.path];
    if (request.path == "/control") return switches = Json::parse(request.body), Told{.body = "{}"};
    if (request.path == "/pem") return {.body = key().pem(), .type = "text/plain"};
    if (request.path == "/sign") return {.body = key().token(request.body), .type = "text/plain"};
    const std::string trouble = switches.value("trouble", Json::object()).value(request.path, "");
    if (trouble == "500") return {.status = 500, .body = "broken"};
    if (trouble == "silence") return {.is_silent = true};
    if (trouble == "long") return {.body = std::string(kLong, ' ')};
    if (trouble == "redirects") return {.status = 302, .location = issuer() + request.path};
    if (trouble == "elsewhere") return {.status = 302, .location = "http://127.0.0.1:9/x"};
    if (request.path == "/.well-known/openid-configuration") return description();
    if (request.path == "/keys") return {.body = R"({"keys":[)" + key().jwk() + "]}"};
    if (request.path == "/authorize") return authorize(request.query);
    if (request.path == "/token") return token(request);
    if (request.path == "/userinfo") return userinfo(request);
    return {.status = 404, .body = "no such path"};
  }

  Told description() const {
    Json json{{"issuer", issuer()},
              {"authorization_endpoint", issuer() + "/authorize"},
              {"token_endpoint", issuer() + "/token"},
              {"userinfo_endpoint", issuer() + "/userinfo"},
              {"jwks_uri", issuer() + "/keys"}};
    if (switches.value("posts", false)) json["token_endpoint_auth_methods_supported"] = {"client_secret_post"};
    lay_over(json, switches.value("description", Json::object()));
    return {.body = json.dump()};
  }

  Told authorize(std::map<std::string, std::string> query) {
    if (query["client_id"] != kClientId || query["response_type"] != "code") return error(400, "invalid_request");
    if (!query["scope"].starts_with("openid")) return error(400, "invalid_scope");
    if (query.contains("code_challenge") && query["code_challenge_method"] != "S256")
      return error(400, "invalid_request");
    const std::string& redirect = query["redirect_uri"];
    const std::string state = "state=" + encoded(query["state"]);
    if (switches.value("denies", false)) return {.status = 302, .location = redirect + "?error=access_denied&" + state};
    const std::string code = "code-" + Uuid::random().to_string();
    begun[code] = {.redirect = redirect, .nonce = query["nonce"], .challenge = query["code_challenge"]};
    return {.status = 302, .location = redirect + "?code=" + code + "&" + state};
  }

  // The secret as HTTP's own authentication, each part encoded as in a form; or in the form.
  bool is_client(const Asked& request, std::map<std::string, std::string>& form) const {
    const auto header = request.headers.find("authorization");
    if (header == request.headers.end())
      return switches.value("posts", false) && form["client_id"] == kClientId && form["client_secret"] == kClientSecret;
    const auto text = base64_decode(header->second.substr(header->second.find(' ') + 1));
    return text.ok() && *text == encoded(kClientId) + ":" + encoded(kClientSecret);
  }

  // A token about the client itself, for this provider, good now and used once.
  bool is_asserted(std::map<std::string, std::string>& form) {
    const std::string& shown = form["client_assertion"];
    if (form["client_assertion_type"] != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer") return false;
    if (form.contains("client_secret") || form["client_id"] != kClientId) return false;
    const size_t last = shown.rfind('.'), first = shown.find('.');
    if (last == std::string::npos || first == last) return false;
    const std::string text = shown.substr(0, last), signature = shown.substr(last + 1);
    if (const std::string key = switches.value("client_key", ""); !key.empty()) {
      const auto known = jose::Key::from_pem(key);
      const auto read = jose::parse_token(shown);
      if (!known || !read || !known->verifies(read->algorithm, text, read->signature)) return false;
    } else if (base64url(shared_signature(switches.value("shared_key", ""), text)) != signature) {
      return false;
    }
    const auto claims_text = base64url_decode(text.substr(first + 1));
    const Json claims = Json::parse(claims_text ? *claims_text : "", nullptr, false);
    if (!claims.is_object()) return false;
    const auto says = [&](const char* name) { return claims.value(name, ""); };
    if (says("iss") != kClientId || says("sub") != kClientId || says("aud") != issuer()) return false;
    const int64_t now = SystemClock().wall_ns() / 1'000'000'000;
    const int64_t end = claims.value("exp", int64_t{0});
    return claims.value("nbf", now + 1) <= now && end > now && end <= now + 600 && used.insert(says("jti")).second;
  }

  Told token(const Asked& request) {
    auto form = read_form(request.body);
    const bool must_assert = switches.contains("client_key") || switches.contains("shared_key");
    if (must_assert ? !is_asserted(form) : !is_client(request, form)) return error(401, "invalid_client");
    const auto node = begun.extract(form["code"]);
    if (node.empty() || form["redirect_uri"] != node.mapped().redirect) return error(400, "invalid_grant");
    const std::string& challenge = node.mapped().challenge;
    if (!challenge.empty() && base64url(sha256(form["code_verifier"])) != challenge) return error(400, "invalid_grant");
    return {.body = Json{{"access_token", kAccessToken},
                         {"token_type", "Bearer"},
                         {"id_token", id_token(node.mapped().nonce, form["code"])}}
                        .dump()};
  }

  std::string id_token(const std::string& nonce, const std::string& code) const {
    const int64_t now = SystemClock().wall_ns() / 1'000'000'000;
    Json claims{{"iss", issuer()}, {"sub", kSubject},  {"aud", kClientId},          {"nonce", nonce},
                {"iat", now},      {"exp", now + 300}, {"email", "Ada@Example.COM"}};
    claims["at_hash"] = jose::half_hash(jose::Algorithm::rs256, kAccessToken);
    claims["c_hash"] = jose::half_hash(jose::Algorithm::rs256, code);
    lay_over(claims, switches.value("claims", Json::object()));
    const std::string algorithm = switches.value("algorithm", "RS256");
    const Json header{{"alg", algorithm}, {"kid", switches.value("kid", key().id())}};
    return key().token_with_header(header.dump(), claims.dump(), algorithm);
  }

  Told userinfo(const Asked& request) const {
    const auto header = request.headers.find("authorization");
    if (header == request.headers.end() || header->second != std::string("Bearer ") + kAccessToken)
      return error(401, "invalid_token");
    Json json{{"sub", kSubject}, {"groups", {"engineers", "on call"}}};
    lay_over(json, switches.value("userinfo", Json::object()));
    return {.body = json.dump()};
  }
};

IdentityProvider::IdentityProvider(bool has_tls) : state_(std::make_unique<State>()) {
  if (has_tls) {
    auto made = make_tls_identity();
    DROVER_CHECK(made.ok());
    state_->identity = *std::move(made);
  }
  state_->server = std::make_unique<WebServer>(state_->identity.cert, state_->identity.key,
                                               [this](const Asked& asked) { return state_->answer(asked); });
}
IdentityProvider::~IdentityProvider() = default;

std::string IdentityProvider::issuer() const { return state_->issuer(); }
std::string IdentityProvider::ca() const { return state_->identity.cert; }

void IdentityProvider::set(std::string_view switches) {
  const std::lock_guard lock(state_->mutex);
  state_->switches = Json::parse(switches);
}

int IdentityProvider::asked(const std::string& path) const {
  const std::lock_guard lock(state_->mutex);
  const auto at = state_->asked.find(path);
  return at == state_->asked.end() ? 0 : at->second;
}

const SigningKey& IdentityProvider::key() const {
  const std::lock_guard lock(state_->mutex);
  return state_->key();
}

Result<std::map<std::string, std::string>> IdentityProvider::visit(const std::string& url) {
  DROVER_TRY(const std::string location, redirect_of(url));
  return read_form(std::string_view(location).substr(location.find('?') + 1));
}

}  // namespace drover::testing
