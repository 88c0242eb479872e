#include "tables.h"

#include <set>

#include "acl.pb.h"
#include "drover/keys.h"
#include "drover/root_keys.h"
#include "drover/sha256.h"
#include "drover/v1/acl.pb.h"
#include "token_secrets.h"

namespace drover::acl {
namespace {

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> bootstrapped(const v1::AclBootstrapped& command, ApplyContext& context) const {
    if (const uint64_t index = bootstrap_index(context.rows(), tables_); index != command.since_index())
      return invalid_argument("ACL bootstrap already done (reset index: " + std::to_string(index) + ")");
    DROVER_RETURN_IF_ERROR(may_keep(command.token(), context));
    DROVER_RETURN_IF_ERROR(put(tables_.tokens, command.token().accessor_id(), command.token(), context));
    v1::AclBootstrap row;
    row.set_index(context.index());
    DROVER_RETURN_IF_ERROR(tables_.bootstrap.put(context.rows(), row));
    return std::string();
  }

  Result<std::string> policy_applied(const v1::AclPolicyApplied& command, ApplyContext& context) const {
    DROVER_RETURN_IF_ERROR(put(tables_.policies, command.policy().name(), command.policy(), context));
    return std::string();
  }

  Result<std::string> policy_deleted(const v1::AclPolicyDeleted& command, ApplyContext& context) const {
    if (!tables_.policies.erase(context.rows(), command.name())) return not_found("ACL policy not found");
    return std::string();
  }

  // The row keeps what a token is for good, whatever the command says.
  Result<std::string> token_applied(const v1::AclTokenApplied& command, ApplyContext& context) const {
    v1::AclToken token = command.token();
    const auto existing = tables_.tokens.get(context.rows(), token.accessor_id());
    // An update that was decided before a deletion must not bring the token back.
    if (!existing && token.create_index() > 0) return not_found("ACL token not found");
    if (existing) {
      keep_secret(*existing, token);
      token.set_create_time(existing->create_time());
    } else {
      DROVER_RETURN_IF_ERROR(may_keep(token, context));
    }
    DROVER_RETURN_IF_ERROR(put(tables_.tokens, token.accessor_id(), std::move(token), context));
    return std::string();
  }

  Result<std::string> tokens_resealed(const v1::AclTokensResealed& command, ApplyContext& context) const {
    for (const v1::AclToken& anew : command.tokens()) {
      auto row = tables_.tokens.get(context.rows(), anew.accessor_id());
      if (!row || row->secret_digest() != anew.secret_digest() || !may_keep(anew, context).ok()) continue;
      keep_secret(anew, *row);
      DROVER_RETURN_IF_ERROR(tables_.tokens.put(context.rows(), *row));
    }
    return std::string();
  }

  Result<std::string> tokens_deleted(const v1::AclTokensDeleted& command, ApplyContext& context) const {
    for (const std::string& accessor : command.accessor_ids()) {
      tables_.tokens.erase(context.rows(), accessor);
      tables_.one_time_tokens.erase(context.rows(), accessor);
    }
    return std::string();
  }

  Result<std::string> role_applied(const v1::AclRoleApplied& command, ApplyContext& context) const {
    DROVER_RETURN_IF_ERROR(put(tables_.roles, command.role().id(), command.role(), context));
    return std::string();
  }

  Result<std::string> role_deleted(const v1::AclRoleDeleted& command, ApplyContext& context) const {
    if (!tables_.roles.erase(context.rows(), command.id())) return not_found("ACL role not found");
    return std::string();
  }

  Result<std::string> one_time_made(const v1::OneTimeTokenMade& command, ApplyContext& context) const {
    const v1::OneTimeToken& made = command.one_time_token();
    DROVER_RETURN_IF_ERROR(put(tables_.one_time_tokens, made.accessor_id(), made, context));
    return std::string();
  }

  Result<std::string> one_time_used(const v1::OneTimeTokensUsed& command, ApplyContext& context) const {
    for (const std::string& accessor : command.accessor_ids()) {
      if (!tables_.one_time_tokens.erase(context.rows(), accessor)) return access_denied();
    }
    return std::string();
  }

 private:
  Status may_keep(const v1::AclToken& token, ApplyContext& context) const {
    const bool is_right = token.sealed_secret().empty() ||
                          (tables_.root_keys && may_seal_by(context.rows(), *tables_.root_keys, Uses(tables_),
                                                            token.secret_key_id()));
    return is_right ? ok_status() : aborted("the root key was replaced meanwhile; try again");
  }

  template <typename Row>
  static Status put(const Table<Row>& table, const std::string& key, Row row, ApplyContext& context) {
    const auto existing = table.get(context.rows(), key);
    row.set_create_index(existing ? existing->create_index() : context.index());
    row.set_modify_index(context.index());
    return table.put(context.rows(), row);
  }

  const Tables& tables_;
};

Status declare_commands(Declarations& declare, const std::shared_ptr<Commands>& commands) {
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::bootstrapped>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::policy_applied>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::policy_deleted>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::token_applied>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::tokens_resealed>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::tokens_deleted>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::role_applied>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::role_deleted>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::one_time_made>(commands));
  return declare.command<&Commands::one_time_used>(commands);
}

}  // namespace

uint64_t bootstrap_index(const ReadView& view, const Tables& tables) {
  const auto row = tables.bootstrap.get(view, "");
  return row ? row->index() : 0;
}

std::optional<v1::AclToken> token_of_secret(const ReadView& view, const Tables& tables, std::string_view secret) {
  return tables.tokens.get_by(view, kTokensBySecret, sha256(secret));
}

std::vector<v1::AclPolicy> policies_of(const ReadView& view, const Tables& tables, const v1::AclToken& token) {
  std::set<std::string> names(token.policies().begin(), token.policies().end());
  for (const v1::AclTokenRoleLink& link : token.roles()) {
    if (const auto role = tables.roles.get(view, link.id())) {
      for (const v1::AclRolePolicyLink& policy : role->policies()) names.insert(policy.name());
    }
  }
  std::vector<v1::AclPolicy> policies;
  for (const std::string& name : names) {
    if (auto policy = tables.policies.get(view, name)) policies.push_back(*std::move(policy));
  }
  return policies;
}

std::vector<v1::AclPolicy> policies_of(const ReadView& view, const Tables& tables, const Workload& workload) {
  std::vector<v1::AclPolicy> policies;
  const auto take = [&](const v1::AclPolicy& policy, std::string_view) {
    const v1::JobAcl& to = policy.job_acl();
    const bool is_its = (to.group().empty() || to.group() == workload.group) &&
                        (to.task().empty() || to.task() == workload.task);
    if (is_its) policies.push_back(policy);
    return true;
  };
  for (const std::string& job : {std::string(), workload.job}) {
    const KeyRange range = KeyRange::prefix(KeyBuilder().text(workload.name_space).text(job).take());
    tables.policies.scan(view, kPoliciesByJob, range, take);
  }
  return policies;
}

v1::AclToken with_role_names(const ReadView& view, const Tables& tables, v1::AclToken token) {
  google::protobuf::RepeatedPtrField<v1::AclTokenRoleLink> roles;
  for (const v1::AclTokenRoleLink& link : token.roles()) {
    const auto role = tables.roles.get(view, link.id());
    if (!role) continue;
    roles.Add()->set_id(link.id());
    roles.rbegin()->set_name(role->name());
  }
  *token.mutable_roles() = std::move(roles);
  return token;
}

uint64_t Uses::uses(const ReadView& view, std::string_view key_id, uint64_t most) const {
  uint64_t found = 0;
  auto row = view.scan(tables_.tokens.id(), kTokensByKey, KeyRange::prefix(key_id));
  for (; row->valid() && found < most; row->next()) ++found;
  return found;
}

Status declare_tables(Declarations& declare, Tables& tables) {
  const auto policy_keys = [](const v1::AclPolicy& row, RowKeys& keys) {
    keys.primary(row.name());
    const v1::JobAcl& to = row.job_acl();
    if (to.namespace_().empty()) return;
    keys.add(kPoliciesByJob, KeyBuilder().text(to.namespace_()).text(to.job_id()).text(row.name()).take());
  };
  const auto token_keys = [](const v1::AclToken& row, RowKeys& keys) {
    keys.primary(row.accessor_id());
    keys.add(kTokensBySecret, row.secret_digest().empty() ? sha256(row.secret_id()) : row.secret_digest());
    if (!row.secret_key_id().empty())
      keys.add(kTokensByKey, KeyBuilder().id(row.secret_key_id()).id(row.accessor_id()).take());
    if (row.expiration_time() == 0) return;
    const auto end = static_cast<uint64_t>(row.expiration_time());
    keys.add(kTokensByEnd, KeyBuilder().number(end).id(row.accessor_id()).take());
  };
  const auto role_keys = [](const v1::AclRole& row, RowKeys& keys) {
    keys.primary(row.id());
    keys.add(kRolesByName, row.name());
  };
  const auto one_time_keys = [](const v1::OneTimeToken& row, RowKeys& keys) {
    keys.primary(row.accessor_id());
    keys.add(kOneTimeBySecret,
             row.secret_digest().empty() ? sha256(row.one_time_secret_id()) : row.secret_digest());
  };
  const auto bootstrap_keys = [](const v1::AclBootstrap&, RowKeys& keys) { keys.primary(""); };
  const IndexSpec by_secret{.name = "secret", .unique = true};
  DROVER_RETURN_IF_ERROR(declare.later_table("nodes", tables.nodes));
  DROVER_RETURN_IF_ERROR(declare.later_table("allocs", tables.allocs));
  DROVER_RETURN_IF_ERROR(declare.later_table("jobs", tables.jobs));
  DROVER_RETURN_IF_ERROR(declare.later_table("root_keys", tables.root_keys));
  DROVER_TRY(tables.policies, declare.table<v1::AclPolicy>("acl_policies", {{"job"}}, policy_keys));
  DROVER_TRY(tables.tokens, declare.table<v1::AclToken>("acl_tokens", {by_secret, {"end"}, {"key"}}, token_keys));
  DROVER_TRY(tables.roles, declare.table<v1::AclRole>("acl_roles", {{.name = "name", .unique = true}}, role_keys));
  DROVER_TRY(tables.one_time_tokens,
             declare.table<v1::OneTimeToken>("acl_one_time_tokens", {by_secret}, one_time_keys));
  DROVER_TRY(tables.bootstrap, declare.table<v1::AclBootstrap>("acl_bootstrap", {}, bootstrap_keys));
  return declare_commands(declare, std::make_shared<Commands>(tables));
}

}  // namespace drover::acl
