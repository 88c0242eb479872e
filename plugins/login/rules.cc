#include "rules.h"

#include "bind/form.h"
#include "drover/api/logins.pb.h"
#include "drover/duration.h"
#include "drover/findings.h"
#include "drover/model/filter.h"
#include "drover/object_name.h"

namespace drover::login {
namespace {

constexpr size_t kMaxDescription = 256;
constexpr size_t kMaxSelector = 4096;
constexpr size_t kMaxForm = 1024;

std::string default_text(const std::string& first) { return "default method already exists: " + first; }

void check_binding(const v1::AclBindingRule& rule, Findings& findings) {
  const std::string& type = rule.bind_type();
  const bool is_known = type == "role" || type == "policy" || type == "management";
  findings.require(!type.empty(), "bind type is missing");
  findings.require(type.empty() || is_known, "unsupported bind type: \"" + type + "\"");
  if (type == "management") {
    findings.require(rule.bind_name().empty(), "bind name should be empty");
    return;
  }
  findings.require(!rule.bind_name().empty(), "bind name is missing");
  findings.require(rule.bind_name().size() <= kMaxForm, "bind name longer than " + std::to_string(kMaxForm));
  const Status form = check_form(rule.bind_name());
  findings.require(form.ok(), "bind name is invalid: " + form.message());
}

}  // namespace

void complete_method(v1::AclAuthMethod& method, const v1::AclAuthMethod& existing) {
  if (method.type().empty()) method.set_type(existing.type());
  if (method.token_locality().empty()) method.set_token_locality(existing.token_locality());
  if (method.max_token_ttl() == 0) method.set_max_token_ttl(existing.max_token_ttl());
  if (method.token_name_format().empty()) method.set_token_name_format(existing.token_name_format());
  if (method.config().empty()) method.set_config(existing.config());
}

Status check_method(const v1::AclAuthMethod& method, const TokenLifetimes& lifetimes, bool is_served,
                    const std::string& other_default) {
  Findings findings("auth method 0 invalid");
  findings.require(is_object_name(method.name()), "invalid name '" + method.name() + "'");
  findings.require(is_served, "invalid token type '" + method.type() + "'");
  const std::string& locality = method.token_locality();
  findings.require(locality == "local" || locality == "global", "invalid token locality '" + locality + "'");
  const std::chrono::nanoseconds ttl(method.max_token_ttl());
  findings.require(ttl >= lifetimes.shortest && ttl <= lifetimes.longest,
                   "invalid MaxTokenTTL value '" + format_duration(ttl) + "' (should be between " +
                       format_duration(lifetimes.shortest) + " and " + format_duration(lifetimes.longest) + ")");
  findings.require(!method.default_() || other_default.empty(), default_text(other_default));
  findings.require(method.token_name_format().size() <= kMaxForm,
                   "token name format longer than " + std::to_string(kMaxForm));
  const Status form = check_form(method.token_name_format());
  findings.require(form.ok(), "token name format is invalid: " + form.message());
  return findings.status();
}

Status check_rule(const v1::AclBindingRule& rule) {
  Findings findings("binding rule 0 invalid");
  findings.require(!rule.auth_method().empty(), "auth method is missing");
  findings.require(rule.description().size() <= kMaxDescription,
                   "description longer than " + std::to_string(kMaxDescription));
  check_binding(rule, findings);
  if (rule.selector().empty()) return findings.status();
  findings.require(rule.selector().size() <= kMaxSelector, "selector longer than " + std::to_string(kMaxSelector));
  const auto selector = Filter::parse(rule.selector());
  findings.require(selector.ok(), "selector is invalid: " + selector.status().message());
  return findings.status();
}

Status no_method() { return not_found("ACL auth-method not found"); }
Status no_rule() { return not_found("ACL binding rule not found"); }
Status second_default(const std::string& first) { return invalid_argument(default_text(first)); }

}  // namespace drover::login
