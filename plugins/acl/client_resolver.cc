#include "client_resolver.h"

#include <algorithm>

#include "drover/api/acl.pb.h"
#include "rules/compiled.h"

namespace drover::acl {
namespace {

constexpr std::string_view kQuestion = "/drover.v1.Acl/WhoAmI";
constexpr auto kAskTime = std::chrono::seconds(3);

}  // namespace

Result<Resolved> resolved_from(const v1::WhoAmIResponse& answer) {
  Resolved resolved{{Identity::Kind::anonymous, answer.name()}, answer.expiration_time()};
  switch (answer.kind()) {
    case v1::WhoAmIResponse::TOKEN:
      resolved.identity.kind = answer.management() ? Identity::Kind::management : Identity::Kind::token;
      break;
    case v1::WhoAmIResponse::CLIENT:
      resolved.identity.kind = Identity::Kind::client;
      break;
    case v1::WhoAmIResponse::WORKLOAD:
      resolved.identity.kind = Identity::Kind::workload;
      break;
    default:
      break;
  }
  if (answer.management()) {
    resolved.identity.permissions = all_permissions();
    return resolved;
  }
  std::optional<Workload> workload;
  if (const v1::AclWorkload& said = answer.workload(); answer.has_workload())
    workload = Workload{said.namespace_(), said.job_id(), said.group(), said.task()};
  DROVER_TRY(resolved.identity.permissions, compile({answer.rules().begin(), answer.rules().end()}, std::move(workload)));
  return resolved;
}

std::chrono::nanoseconds trusted_for(const Identity& caller, const TrustedFor& times) {
  switch (caller.kind) {
    case Identity::Kind::token:
      return std::min({times.token, times.policy, times.role});
    case Identity::Kind::anonymous:  // has a policy, and no token
      return times.policy;
    case Identity::Kind::workload:
      return std::min(times.token, times.policy);
    case Identity::Kind::management:
    case Identity::Kind::client:
      break;
  }
  return times.token;
}

void ClientResolver::start(Host& host, const TrustedFor& trusted) {
  const std::vector<std::string> methods = host.methods();
  own_methods_.insert(methods.begin(), methods.end());
  trusted_ = trusted;
  host_ = &host;
}

bool ClientResolver::is_usable(const Known& known, std::chrono::nanoseconds age) const {
  const int64_t ends_at = known.resolved.ends_at;
  return host_->clock().steady() - known.asked_at < age && (ends_at == 0 || host_->clock().wall_ns() < ends_at);
}

void ClientResolver::resolve(const CallContext& context, std::function<void(Result<Identity>)> done) {
  if (!host_) return done(unavailable("this agent is starting"));
  if (context.method == kQuestion || !own_methods_.contains(context.method)) return done(Identity());
  const std::string key = proof_key(context);
  {
    MutexLock lock(mutex_);
    const Known* known = known_.find(key);
    if (known && is_usable(*known, trusted_for(known->resolved.identity, trusted_))) {
      Identity identity = known->resolved.identity;
      lock.unlock();
      return done(std::move(identity));
    }
  }
  CallContext question;
  question.method = std::string(kQuestion);
  question.query.region = host_->agent().region;
  question.query.token = context.query.token;
  question.query.stale = true;
  question.node_secret = context.node_secret;
  question.deadline = host_->clock().steady() + kAskTime;
  host_->caller().call(std::move(question), v1::WhoAmIRequest().SerializeAsString(),
                       [this, key, done = std::move(done)](const Result<Reply>& reply) { done(answered(key, reply)); });
}

Result<Identity> ClientResolver::answered(const std::string& key, const Result<Reply>& reply) {
  const MutexLock lock(mutex_);
  if (reply) {
    DROVER_TRY(const auto answer, parse_message<v1::WhoAmIResponse>(reply->body));
    DROVER_TRY(Resolved resolved, resolved_from(answer));
    known_.put(key, {resolved, host_->clock().steady()});
    return std::move(resolved.identity);
  }
  if (reply.status().code() == Code::permission_denied) {
    known_.erase(key);
    return reply.status();
  }
  const Known* known = known_.find(key);
  if (known && is_usable(*known, kGrace)) return known->resolved.identity;
  return reply.status();
}

}  // namespace drover::acl
