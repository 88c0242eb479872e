#include "server_resolver.h"

#include <algorithm>

#include "drover/keys.h"
#include "drover/log.h"
#include "drover/model/node.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/acl.pb.h"
#include "drover/v1/node.pb.h"
#include "rules/compiled.h"

namespace drover::acl {

uint64_t ServerResolver::index_of_tables(const ReadView& view) const {
  return std::max({view.table_index(tables_.tokens.id()), view.table_index(tables_.policies.id()),
                   view.table_index(tables_.roles.id())});
}

Result<Identity> ServerResolver::resolve(const CallContext& context) {
  if (!host_) return unavailable("this agent is starting");
  const auto view = host_->snapshot();
  const std::string& shown = context.query.token;
  const bool is_node = shown.empty() && !context.node_secret.empty();
  // Nodes and tasks are looked up each time: their rows change often, and the look is one step.
  if (is_node || is_signed(shown)) {
    DROVER_TRY(Resolved resolved, look_up(context, *view));
    return std::move(resolved.identity);
  }
  const std::string key = proof_key(context);
  const uint64_t index = index_of_tables(*view);
  const int64_t now = host_->clock().wall_ns();
  {
    const MutexLock lock(mutex_);
    const Known* known = known_.find(key);
    if (known && known->index == index && (known->resolved.ends_at == 0 || now < known->resolved.ends_at))
      return known->resolved.identity;
  }
  DROVER_TRY(Resolved resolved, look_up(context, *view));
  // A node may show its secret as a token, too; its row is not among the tables that what is known rests on.
  if (resolved.identity.kind == Identity::Kind::client) return std::move(resolved.identity);
  const MutexLock lock(mutex_);
  known_.put(key, {resolved, index});
  return std::move(resolved.identity);
}

Result<Resolved> ServerResolver::look_up(const CallContext& context, const ReadView& view) {
  const std::string& shown = context.query.token;
  if (shown.empty() && context.node_secret.empty()) {
    std::vector<v1::AclPolicy> policies;
    if (auto policy = tables_.policies.get(view, kAnonymous)) policies.push_back(*std::move(policy));
    DROVER_TRY(auto permissions, compiled(policies));
    return Resolved{{Identity::Kind::anonymous, std::string(kAnonymous), std::move(permissions)}};
  }
  const std::string& proof = shown.empty() ? context.node_secret : shown;
  if (is_signed(proof)) {
    auto node = of_node(proof, view);
    return node || shown.empty() ? std::move(node) : of_workload(shown, view);
  }
  const auto secret = Uuid::parse(proof);
  if (!secret || secret->is_zero()) return permission_denied("ACL token not found");
  if (!shown.empty()) {
    if (const auto token = token_of_secret(view, tables_, secret->bytes())) return of_token(*token, view);
  }
  return of_node(secret->bytes(), view);
}

Result<Resolved> ServerResolver::of_node(const std::string& proof, const ReadView& view) {
  if (tables_.nodes) {
    const auto row = view.scan(*tables_.nodes, kNodesBySecret, node_of_secret(proof));
    if (row->valid()) {
      const auto node = Table<v1::Node>::parse(row->row());
      if (is_proof_of(node, proof, host_->clock().wall_ns()))
        return Resolved{{Identity::Kind::client, Uuid::from_bytes(node.id()).to_string(), nullptr}};
    }
  }
  return permission_denied("ACL token not found");
}

Result<Resolved> ServerResolver::of_token(const v1::AclToken& token, const ReadView& view) {
  if (token.expiration_time() > 0 && host_->clock().wall_ns() >= token.expiration_time())
    return permission_denied("ACL token expired");
  const std::string accessor = Uuid::from_bytes(token.accessor_id()).to_string();
  if (token.type() == "management")
    return Resolved{{Identity::Kind::management, accessor, all_permissions()}, token.expiration_time()};
  DROVER_TRY(auto permissions, compiled(policies_of(view, tables_, token)));
  return Resolved{{Identity::Kind::token, accessor, std::move(permissions)}, token.expiration_time()};
}

Result<WorkloadTokens::Shown> ServerResolver::workload_of(const std::string& token, const ReadView& view) {
  auto shown = workload_tokens_.read(token, view, host_->clock().wall_ns());
  if (!shown) log::debug("acl", "the token of a task is refused", {{"reason", shown.status().message()}});
  return shown;
}

Result<Resolved> ServerResolver::of_workload(const std::string& token, const ReadView& view) {
  DROVER_TRY(const WorkloadTokens::Shown shown, workload_of(token, view));
  DROVER_TRY(auto permissions, rights_of(view, shown.workload));
  return Resolved{{Identity::Kind::workload, shown.allocation, std::move(permissions)}, shown.ends_at};
}

Result<std::shared_ptr<const Permissions>> ServerResolver::rights_of(const ReadView& view, const Workload& workload) {
  if (!is_enabled_) return all_permissions();
  return compiled(policies_of(view, tables_, workload), &workload);
}

// Callers with the same policies share what these allow.
Result<std::shared_ptr<const Permissions>> ServerResolver::compiled(const std::vector<v1::AclPolicy>& policies,
                                                                    const Workload* workload) {
  std::string key;
  if (workload) {
    KeyBuilder names;
    for (const std::string* name : {&workload->name_space, &workload->job, &workload->group, &workload->task})
      names.text(*name);
    key = names.take();
  }
  for (const v1::AclPolicy& policy : policies)
    key += policy.name() + "@" + std::to_string(policy.modify_index()) + " ";
  {
    const MutexLock lock(mutex_);
    if (const auto* known = compiled_.find(key)) return *known;
  }
  std::vector<std::string> texts;
  for (const v1::AclPolicy& policy : policies) texts.push_back(policy.rules());
  DROVER_TRY(auto permissions, compile(texts, workload ? std::optional(*workload) : std::nullopt));
  const MutexLock lock(mutex_);
  compiled_.put(key, permissions);
  return permissions;
}

}  // namespace drover::acl
