#include "tables.h"

#include "drover/api/logins.pb.h"
#include "drover/keys.h"
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
    const auto other = method.default_() ? default_method(context.rows(), tables_) : std::nullopt;
    if (other && other->name() != method.name()) return second_default(other->name());
    DROVER_RETURN_IF_ERROR(put(tables_.methods, method.name(), method, context));
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
  const auto method_keys = [](const v1::AclAuthMethod& row, RowKeys& keys) { keys.primary(row.name()); };
  const auto rule_keys = [](const v1::AclBindingRule& row, RowKeys& keys) {
    keys.primary(row.id());
    keys.add(kRulesByMethod, KeyBuilder().text(row.auth_method()).id(row.id()).take());
  };
  DROVER_TRY(tables.methods, declare.table<v1::AclAuthMethod>("acl_auth_methods", {}, method_keys));
  DROVER_TRY(tables.rules, declare.table<v1::AclBindingRule>("acl_binding_rules", {{"method"}}, rule_keys));
  const auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::method_applied>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::method_deleted>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::rule_applied>(commands));
  return declare.command<&Commands::rule_deleted>(commands);
}

}  // namespace drover::login
