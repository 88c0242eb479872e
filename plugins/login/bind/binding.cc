#include "bind/binding.h"

#include <nlohmann/json.hpp>

#include "bind/form.h"
#include "drover/api/logins.pb.h"
#include "drover/model/filter.h"
#include "drover/object_name.h"
#include "drover/v1/auth_method.pb.h"
#include "login.pb.h"

namespace drover::login {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kValue = "value.";

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

v1::LoginSubject subject_of(const v1::AuthIdentity& identity) {
  Json values = Json::object(), lists = Json::object();
  for (const auto& [name, value] : identity.claims()) values[name] = value;
  for (const auto& [name, list] : identity.list_claims()) lists[name] = list.values();
  v1::LoginSubject subject;
  subject.set_values(json_text(values));
  subject.set_lists(json_text(lists));
  return subject;
}

bool selects(const v1::AclBindingRule& rule, const v1::LoginSubject& subject) {
  if (rule.selector().empty()) return true;
  const auto selector = Filter::parse(rule.selector());
  if (!selector) return false;
  const auto answer = selector->matches(subject);
  return answer.ok() && *answer;
}

std::optional<std::string> claim_of(const v1::AuthIdentity& identity, std::string_view name) {
  if (!name.starts_with(kValue)) return std::nullopt;
  const auto claim = identity.claims().find(std::string(name.substr(kValue.size())));
  if (claim == identity.claims().end()) return std::nullopt;
  return claim->second;
}

Result<std::string> bind_name(const v1::AclBindingRule& rule, const v1::AuthIdentity& identity,
                              const std::set<std::string>& mapped) {
  const std::string what = "\"" + rule.bind_type() + "\" bind name for bind target";
  const auto name = fill_in(rule.bind_name(), [&](std::string_view asked) -> std::optional<std::string> {
    if (const auto claim = claim_of(identity, asked)) return lower_case(*claim);
    const bool may_be_absent = asked.starts_with(kValue) && mapped.contains(std::string(asked.substr(kValue.size())));
    return may_be_absent ? std::optional<std::string>("") : std::nullopt;
  });
  if (!name) return internal_error("cannot compute " + what + ": " + name.status().message());
  if (!is_object_name(*name))
    return internal_error("computed " + what + " is invalid: \"" + name->substr(0, 200) + "\"");
  return name;
}

}  // namespace

std::set<std::string> mapped_names(const std::string& config) {
  std::set<std::string> names;
  const Json object = Json::parse(config, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return names;
  const auto mappings = object.find("ClaimMappings");
  if (mappings == object.end() || !mappings->is_object()) return names;
  for (const Json& name : *mappings) {
    if (name.is_string()) names.insert(name.get<std::string>());
  }
  return names;
}

Result<Bound> bind_rights(std::span<const v1::AclBindingRule> rules, const v1::AuthIdentity& identity,
                          const std::set<std::string>& mapped) {
  const v1::LoginSubject subject = subject_of(identity);
  Bound bound;
  for (const v1::AclBindingRule& rule : rules) {
    if (!selects(rule, subject)) continue;
    if (rule.bind_type() == "management") return Bound{.is_management = true, .policies = {}, .roles = {}};
    DROVER_TRY(std::string name, bind_name(rule, identity, mapped));
    (rule.bind_type() == "role" ? bound.roles : bound.policies).insert(std::move(name));
  }
  return bound;
}

Result<std::string> token_name(const v1::AclAuthMethod& method, const v1::AuthIdentity& identity) {
  if (method.token_name_format().empty()) return method.type() + "-" + method.name();
  const auto name = fill_in(method.token_name_format(), [&](std::string_view asked) -> std::optional<std::string> {
    if (asked == "auth_method_type") return method.type();
    if (asked == "auth_method_name") return method.name();
    return claim_of(identity, asked);
  });
  if (!name) return internal_error("cannot compute the token's name: " + name.status().message());
  return name;
}

}  // namespace drover::login
