#include "checks.h"

#include "drover/duration.h"
#include "drover/findings.h"
#include "drover/object_name.h"
#include "drover/uuid.h"
#include "drover/v1/acl.pb.h"
#include "rules/policy.h"
#include "token_secrets.h"

namespace drover::acl {
namespace {

constexpr size_t kMaxDescription = 256;
constexpr size_t kMaxTokenName = 256;

void check_times(const v1::AclToken& token, const TokenLifetimes& lifetimes, Findings& findings) {
  const std::chrono::nanoseconds ttl(token.expiration_ttl());
  findings.require(ttl.count() >= 0,
                   "token expiration TTL '" + format_duration(ttl) + "' should not be negative");
  if (token.expiration_time() == 0 || ttl.count() < 0) return;
  const std::chrono::nanoseconds life(token.expiration_time() - token.create_time());
  const auto limit = [&](const char* more_or_less, std::chrono::nanoseconds bound) {
    return std::string("expiration time cannot be ") + more_or_less + " than " + format_duration(bound) +
           " in the future (was " + format_duration(life) + ")";
  };
  if (life.count() < 0) {
    findings.require(false, "expiration time cannot be before create time");
  } else {
    findings.require(life <= lifetimes.longest, limit("more", lifetimes.longest));
    findings.require(life >= lifetimes.shortest, limit("less", lifetimes.shortest));
  }
}

}  // namespace

Status check_policy(const v1::AclPolicy& policy) {
  Findings findings("policy 0 invalid");
  findings.require(is_object_name(policy.name()), "invalid name '" + policy.name() + "'");
  findings.require(policy.description().size() <= kMaxDescription,
                   "description longer than " + std::to_string(kMaxDescription));
  const v1::JobAcl& job = policy.job_acl();
  findings.require(job.job_id().empty() || !job.namespace_().empty(), "namespace must be set to set job ID");
  findings.require(job.group().empty() || !job.job_id().empty(), "job ID must be set to set group");
  findings.require(job.task().empty() || !job.group().empty(), "group must be set to set task");
  const auto rules = parse_policy(policy.rules());
  findings.require(rules.ok(), "failed to parse rules: " + rules.status().message());
  return findings.status();
}

Status check_role(const v1::AclRole& role) {
  Findings findings("role 0 invalid");
  findings.require(is_object_name(role.name()), "invalid name '" + role.name() + "'");
  findings.require(role.description().size() <= kMaxDescription,
                   "description longer than " + std::to_string(kMaxDescription));
  findings.require(!role.policies().empty(), "at least one policy should be specified");
  return findings.status();
}

Status complete_token(v1::AclToken& token, const v1::AclToken* existing, const TokenLifetimes& lifetimes, int64_t now) {
  Findings findings("token 0 invalid");
  if (existing) {
    if (token.type().empty()) token.set_type(existing->type());
    findings.require(token.type() == existing->type(), "cannot change the type of a token");
    findings.require(token.global() == existing->global(), "cannot toggle global mode");
    findings.require(token.expiration_ttl() == 0 || token.expiration_ttl() == existing->expiration_ttl(),
                     "cannot update expiration TTL");
    findings.require(token.expiration_time() == 0 || token.expiration_time() == existing->expiration_time(),
                     "cannot update expiration time");
    keep_secret(*existing, token);
    token.set_create_time(existing->create_time());
    token.set_expiration_ttl(existing->expiration_ttl());
    token.set_expiration_time(existing->expiration_time());
  } else {
    token.set_accessor_id(Uuid::random().bytes());
    token.set_secret_id(Uuid::random().bytes());
    token.set_create_time(now);
    if (token.expiration_time() == 0 && token.expiration_ttl() > 0)
      token.set_expiration_time(now + token.expiration_ttl());
    check_times(token, lifetimes, findings);
  }
  const bool has_rights = !token.policies().empty() || !token.roles().empty();
  findings.require(token.name().size() <= kMaxTokenName, "token name too long");
  if (token.type() == "client") {
    findings.require(has_rights, "client token missing policies or roles");
  } else if (token.type() == "management") {
    findings.require(!has_rights, "management token cannot be associated with policies or roles");
  } else {
    findings.require(false, "token type must be client or management");
  }
  return findings.status();
}

}  // namespace drover::acl
