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
constexpr size_t kMostKept = 256;  // an operator's methods; more than that is somebody's mistake

std::string member_text(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string description_url(const std::string& issuer) {
  return issuer.substr(0, issuer.find_last_not_of('/') + 1) + "/.well-known/openid-configuration";
}

Result<std::string> good_body(Result<Answer> answer, const std::string& what) {
  if (!answer) return answer.status().with_context(what);
  if (answer->status != 200) return unavailable(what + ": the provider answers " + std::to_string(answer->status));
  return std::move(answer->body);
}

}  // namespace

Result<Description> parse_description(std::string_view json, std::string_view issuer) {
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
  const bool is_due = is_old || (is_unsatisfied && now - kept.asked_at >= kAskAgain);
  if (is_due) kept.asked_at = now;
  return {kept, is_due};
}

void Providers::keep(const Place& place, const std::function<void(Kept&)>& change) {
  const SteadyTime now = clock_.steady();
  const MutexLock lock(mutex_);
  Kept& kept = kept_[place];
  kept.told_at = now;
  change(kept);
}

Result<Description> Providers::describe(const std::string& issuer, const std::string& ca, std::stop_token stop) {
  const Place place{description_url(issuer), ca};
  auto [kept, is_due] = look(place, kDescriptionLife, false);
  if (!is_due) return kept.description;
  DROVER_TRY(const std::string body,
             good_body(ask({.url = place.first, .ca = ca}, stop), "its description cannot be read"));
  DROVER_TRY(const Description description, parse_description(body, issuer));
  keep(place, [&](Kept& now) { now.description = description; });
  return description;
}

Result<Providers::Keys> Providers::keys_for(const jose::Token& token, const std::string& url, const std::string& ca,
                                            std::stop_token stop) {
  const Place place{url, ca};
  const auto lacks = [&](const Keys& keys) { return keys && !jose::names_known_key(token, *keys); };
  auto [kept, is_due] = look(place, kKeysLife, false);
  if (!is_due && lacks(kept.keys)) std::tie(kept, is_due) = look(place, kKeysLife, true);
  if (!is_due) return kept.keys;
  const auto fetched = [&]() -> Result<Keys> {
    DROVER_TRY(const std::string body, good_body(ask({.url = url, .ca = ca}, stop), "its keys cannot be read"));
    DROVER_TRY(auto keys, jose::parse_key_set(body));
    return std::make_shared<const std::vector<jose::Key>>(std::move(keys));
  }();
  if (!fetched) return fetched;
  keep(place, [&](Kept& now) { now.keys = *fetched; });
  return fetched;
}

}  // namespace drover::provider
