#include "tables.h"

#include "drover/api/logins.pb.h"
#include "drover/keys.h"
#include "drover/root_keys.h"
#include "login.pb.h"
#include "rules.h"
#include "stamps.h"

namespace drover::login {
namespace {

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> method_applied(const v1::AclAuthMethodApplied& command, ApplyContext& context) const {
    const v1::AclAuthMethod& method = command.method();
    const auto existing = tables_.methods.get(context.rows(), method.name());
    if ((existing ? existing->modify_index() : 0) != command.expected_index())
      return aborted("the auth method was changed meanwhile; try again");
    if (!may_keep(method, context)) return aborted("the root key was replaced meanwhile; try again");
    const auto other = method.default_() ? default_method(context.rows(), tables_) : std::nullopt;
    if (other && other->name() != method.name()) return second_default(other->name());
    DROVER_RETURN_IF_ERROR(put(tables_.methods, method.name(), method, context));
    return std::string();
  }

  Result<std::string> methods_resealed(const v1::AclAuthMethodsResealed& command, ApplyContext& context) const {
    for (const v1::AclAuthMethod& anew : command.methods()) {
      auto row = tables_.methods.get(context.rows(), anew.name());
      if (!row || row->modify_index() != anew.modify_index() || !may_keep(anew, context)) continue;
      row->set_config(anew.config());
      row->set_config_key_id(anew.config_key_id());
      row->set_sealed_config(anew.sealed_config());
      DROVER_RETURN_IF_ERROR(tables_.methods.put(context.rows(), *row));
    }
    return std::string();
  }

  Result<std::string> method_deleted(const v1::AclAuthMethodDeleted& command, ApplyContext& context) const {
    if (!tables_.methods.erase(context.rows(), command.name())) return no_method();
    return std::string();
  }

  Result<std::string> rule_applied(const v1::AclBindingRuleApplied& command, ApplyContext& context) const {
    DROVER_RETURN_IF_ERROR(put(tables_.rules, command.rule().id(), command.rule(), context));
    return std::string();
  }

  Result<std::string> rule_deleted(const v1::AclBindingRuleDeleted& command, ApplyContext& context) const {
    if (!tables_.rules.erase(context.rows(), command.id())) return no_rule();
    return std::string();
  }

 private:
  bool may_keep(const v1::AclAuthMethod& method, ApplyContext& context) const {
    return method.sealed_config().empty() ||
           (tables_.root_keys &&
            may_seal_by(context.rows(), *tables_.root_keys, Uses(tables_), method.config_key_id()));
  }

  // The row keeps when it was made, whatever the command says.
  template <typename Row>
  static Status put(const Table<Row>& table, const std::string& key, Row row, ApplyContext& context) {
    const auto existing = table.get(context.rows(), key);
    if (existing) row.set_create_time(existing->create_time());
    set_indexes(row, existing ? &*existing : nullptr, context.index());
    return table.put(context.rows(), row);
  }

  const Tables& tables_;
};

}  // namespace

uint64_t Uses::uses(const ReadView& view, std::string_view key_id, uint64_t most) const {
  uint64_t found = 0;
  auto row = view.scan(tables_.methods.id(), kMethodsByKey, KeyRange::prefix(key_id));
  for (; row->valid() && found < most; row->next()) ++found;
  return found;
}

std::optional<v1::AclAuthMethod> default_method(const ReadView& view, const Tables& tables) {
  std::optional<v1::AclAuthMethod> found;
  tables.methods.scan(view, kPrimary, KeyRange::all(), [&](const v1::AclAuthMethod& method, std::string_view) {
    if (method.default_()) found = method;
    return !found;
  });
  return found;
}

std::vector<v1::AclBindingRule> rules_of(const ReadView& view, const Tables& tables, std::string_view method) {
  std::vector<v1::AclBindingRule> rules;
  const KeyRange range = KeyRange::prefix(KeyBuilder().text(method).take());
  tables.rules.scan(view, kRulesByMethod, range, [&](const v1::AclBindingRule& rule, std::string_view) {
    rules.push_back(rule);
    return true;
  });
  return rules;
}

Status declare_tables(Declarations& declare, Tables& tables) {
  const auto method_keys = [](const v1::AclAuthMethod& row, RowKeys& keys) {
    keys.primary(row.name());
    if (!row.config_key_id().empty())
      keys.add(kMethodsByKey, KeyBuilder().id(row.config_key_id()).text(row.name()).take());
  };
  const auto rule_keys = [](const v1::AclBindingRule& row, RowKeys& keys) {
    keys.primary(row.id());
    keys.add(kRulesByMethod, KeyBuilder().text(row.auth_method()).id(row.id()).take());
  };
  DROVER_RETURN_IF_ERROR(declare.later_table("root_keys", tables.root_keys));
  DROVER_TRY(tables.methods, declare.table<v1::AclAuthMethod>("acl_auth_methods", {{"key"}}, method_keys));
  DROVER_TRY(tables.rules, declare.table<v1::AclBindingRule>("acl_binding_rules", {{"method"}}, rule_keys));
  const auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::method_applied>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::methods_resealed>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::method_deleted>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::rule_applied>(commands));
  return declare.command<&Commands::rule_deleted>(commands);
}

}  // namespace drover::login
