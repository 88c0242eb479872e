#include <algorithm>
#include <nlohmann/json.hpp>

#include "drover/auth_config.h"
#include "drover/provider.h"
#include "strict_json.h"

namespace drover::provider {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kDescriptionLife = std::chrono::hours(6);
constexpr std::chrono::seconds kKeysLife = std::chrono::hours(1);  // a key that is withdrawn is trusted so long at most
constexpr std::chrono::seconds kAskAgain = std::chrono::minutes(1);
constexpr std::chrono::seconds kFailureLife{10};
constexpr size_t kMostKept = 256;  // an operator's methods; more than that is somebody's mistake

std::string description_url(const std::string& issuer) {
  return issuer.substr(0, issuer.find_last_not_of('/') + 1) + "/.well-known/openid-configuration";
}

Result<std::string> good_body(Result<Answer> answer, const std::string& what) {
  if (!answer) return answer.status().with_context(what);
  if (answer->status != 200) return unavailable(what + ": the provider answers " + std::to_string(answer->status));
  return std::move(answer->body);
}

// Secrets go to a provider by https over the network sealed, and its keys come so, too. An issuer by http, on this
// machine, may name addresses by http.
Status check_addresses(const Description& description) {
  if (!description.issuer.starts_with("https://")) return ok_status();
  for (const auto& [name, url] : {std::pair("authorization_endpoint", &description.authorization_endpoint),
                                  std::pair("token_endpoint", &description.token_endpoint),
                                  std::pair("userinfo_endpoint", &description.userinfo_endpoint),
                                  std::pair("jwks_uri", &description.jwks_uri)}) {
    if (!url->empty() && !url->starts_with("https://"))
      return invalid_argument("the provider's description has a " + std::string(name) + " that is not by https");
  }
  return ok_status();
}

}  // namespace

Result<Description> parse_description(std::string_view json, std::string_view issuer) {
  using jose::member_text;
  const auto object = jose::parse_object(json);
  if (!object) return object.status().with_context("the provider's description");
  Description description{.issuer = member_text(*object, "issuer"),
                          .authorization_endpoint = member_text(*object, "authorization_endpoint"),
                          .token_endpoint = member_text(*object, "token_endpoint"),
                          .userinfo_endpoint = member_text(*object, "userinfo_endpoint"),
                          .jwks_uri = member_text(*object, "jwks_uri")};
  if (description.issuer != issuer)
    return invalid_argument("the provider's description is that of another issuer: \"" +
                            description.issuer.substr(0, 200) + "\"");
  if (!auth::is_trusted_url(description.jwks_uri))
    return invalid_argument("the provider's description has no good jwks_uri");
  DROVER_RETURN_IF_ERROR(check_addresses(description));
  const auto ways = object->find("token_endpoint_auth_methods_supported");
  if (ways != object->end() && ways->is_array())
    description.takes_basic = std::ranges::find(*ways, Json("client_secret_basic")) != ways->end();
  return description;
}

std::pair<Providers::Kept, bool> Providers::look(const Place& place, std::chrono::seconds at_most,
                                                 bool is_unsatisfied) {
  const SteadyTime now = clock_.steady();
  const MutexLock lock(mutex_);
  if (kept_.size() >= kMostKept && !kept_.contains(place)) kept_.clear();
  const auto [at, is_new] = kept_.try_emplace(place);
  Kept& kept = at->second;
  const bool is_old = is_new || kept.told_at == SteadyTime{} || now - kept.told_at >= at_most;
  const bool has_failed = !kept.failure.ok() && now - kept.failed_at < kFailureLife;
  const bool is_due = (is_old && !has_failed) || (is_unsatisfied && now - kept.asked_at >= kAskAgain);
  if (is_due) kept.asked_at = now;
  Kept found = kept;
  if (is_old) found.description = kept.failure, found.keys = nullptr;  // an answer of long ago is none
  return {std::move(found), is_due};
}

void Providers::keep(const Place& place, const std::function<void(Kept&)>& change) {
  const SteadyTime now = clock_.steady();
  const MutexLock lock(mutex_);
  Kept& kept = kept_[place];
  kept.told_at = now;
  kept.failure = ok_status();
  change(kept);
}

// A login that was given up says nothing of the provider.
Status Providers::failed(const Place& place, Status why) {
  if (why.code() == Code::cancelled) return why;
  const SteadyTime now = clock_.steady();
  const MutexLock lock(mutex_);
  Kept& kept = kept_[place];
  kept.failed_at = now;
  kept.failure = why;
  return why;
}

Result<Description> Providers::describe(const std::string& issuer, const std::string& ca, std::stop_token stop) {
  // The issuer and not its address: those with and without a slash at the end have one, and are not the same.
  const Place place{"description " + issuer, ca};
  auto [kept, is_due] = look(place, kDescriptionLife, false);
  if (!is_due) return kept.description;
  const auto told = [&]() -> Result<Description> {
    DROVER_TRY(const std::string body, good_body(ask({.url = description_url(issuer), .ca = ca}, stop),
                                                 "its description cannot be read"));
    return parse_description(body, issuer);
  }();
  if (!told) return failed(place, told.status());
  keep(place, [&](Kept& now) { now.description = told; });
  return told;
}

Result<Providers::Keys> Providers::keys_for(const jose::Token& token, const std::string& url, const std::string& ca,
                                            std::stop_token stop) {
  const Place place{"keys " + url, ca};
  const auto lacks = [&](const Keys& keys) { return keys && !jose::names_known_key(token, *keys); };
  auto [kept, is_due] = look(place, kKeysLife, false);
  if (!is_due && lacks(kept.keys)) std::tie(kept, is_due) = look(place, kKeysLife, true);
  if (!is_due && kept.keys) return kept.keys;
  if (!is_due) return kept.failure.ok() ? unavailable("the provider's keys are not known") : kept.failure;
  const auto fetched = [&]() -> Result<Keys> {
    DROVER_TRY(const std::string body, good_body(ask({.url = url, .ca = ca}, stop), "its keys cannot be read"));
    DROVER_TRY(auto keys, jose::parse_key_set(body));
    return std::make_shared<const std::vector<jose::Key>>(std::move(keys));
  }();
  if (!fetched) return failed(place, fetched.status());
  keep(place, [&](Kept& now) { now.keys = *fetched; });
  return fetched;
}

}  // namespace drover::provider
