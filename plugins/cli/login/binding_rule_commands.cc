// acl binding-rule.
#include "cli_command.h"
#include "drover/api/logins.pb.h"
#include "login/login_text.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

// Takes over the flags that are given.
void fill(const Arguments& given, v1::AclBindingRule& rule) {
  if (given.is_set("description")) rule.set_description(given.value("description"));
  if (given.is_set("selector")) rule.set_selector(given.value("selector"));
  if (given.is_set("bind-type")) rule.set_bind_type(given.value("bind-type"));
  if (given.is_set("bind-name")) rule.set_bind_name(given.value("bind-name"));
}

int print_rule(Run& run, const Answer<v1::BindingRuleResponse>& answer) {
  if (auto code = print_object(run, answer)) return *code;
  run.out << binding_rule_text(answer.message.rule());
  return 0;
}

int create(Run& run) {
  v1::ApplyBindingRuleRequest request;
  request.mutable_rule()->set_auth_method(run.arguments.value("auth-method"));
  fill(run.arguments, *request.mutable_rule());
  const auto made = run.client.call<v1::Logins::ApplyRule>(request);
  if (!made) return run.fail("Error creating ACL binding rule", made.status());
  return print_rule(run, *made);
}

int update(Run& run) {
  v1::BindingRuleRequest look;
  look.set_id(run.arguments.positional()[0]);
  const auto found = run.client.call<v1::Logins::GetRule>(look);
  if (!found) return run.fail("Error when retrieving ACL binding rule", found.status());
  v1::ApplyBindingRuleRequest request;
  request.set_id(look.id());
  v1::AclBindingRule& rule = *request.mutable_rule();
  rule.set_id(found->message.rule().id());
  rule.set_auth_method(found->message.rule().auth_method());
  if (!run.arguments.on("no-merge")) rule = found->message.rule();
  fill(run.arguments, rule);
  const auto changed = run.client.call<v1::Logins::ApplyRule>(request);
  if (!changed) return run.fail("Error updating ACL binding rule", changed.status());
  return print_rule(run, *changed);
}

int erase(Run& run) {
  v1::BindingRuleRequest request;
  request.set_id(run.arguments.positional()[0]);
  const auto deleted = run.client.call<v1::Logins::DeleteRule>(request);
  if (!deleted) return run.fail("Error deleting ACL binding rule", deleted.status());
  run.out << "ACL binding rule " << request.id() << " successfully deleted\n";
  return 0;
}

int info(Run& run) {
  v1::BindingRuleRequest request;
  request.set_id(run.arguments.positional()[0]);
  const auto found = run.client.call<v1::Logins::GetRule>(request);
  if (!found) return run.fail("Error reading ACL binding rule", found.status());
  return print_rule(run, *found);
}

int list(Run& run) {
  const auto list = run.client.call<v1::Logins::ListRules>({});
  if (!list) return run.fail("Error listing ACL binding rules", list.status());
  if (auto code = print_object(run, *list)) return *code;
  if (list->message.rules().empty()) {
    run.out << "No ACL binding rules found\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"ID", "Description", "Auth Method"}};
  for (const v1::AclBindingRuleStub& rule : list->message.rules())
    rows.push_back({id_text(rule.id()), rule.description(), rule.auth_method()});
  run.out << format_list(rows);
  return 0;
}

std::vector<Flag> rule_flags(std::vector<Flag> first) {
  for (Flag& flag :
       with_object_flags({with_value("description", "", "What the rule is for"),
                          with_value("selector", "", "Whom it is for, such as 'value.team == web'; without: everybody"),
                          with_value("bind-type", "", "role, policy or management"),
                          with_value("bind-name", "", "The role or policy; ${value.NAME} stands for a claim")}))
    first.push_back(std::move(flag));
  return first;
}

}  // namespace

std::vector<Definition> binding_rule_commands() {
  return {{"acl binding-rule create", "Creates a binding rule: what those get who log in.", "", "",
           rule_flags({with_value("auth-method", "", "The auth method by which they log in")}), 0, 0, create},
          {"acl binding-rule update", "Changes a binding rule.", "<rule>", "",
           rule_flags({on_off("no-merge", "Forget what is not said again")}), 1, 1, update},
          {"acl binding-rule delete", "Deletes a binding rule.", "<rule>", "", {}, 1, 1, erase},
          {"acl binding-rule info", "Shows a binding rule.", "<rule>", "", with_object_flags({}), 1, 1, info},
          {"acl binding-rule list", "Lists binding rules.", "", "", with_object_flags({}), 0, 0, list}};
}

}  // namespace drover::cli
