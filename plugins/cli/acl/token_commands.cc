// acl token, acl role.
#include "acl/acl_text.h"
#include "cli_command.h"
#include "drover/api/acl.pb.h"
#include "drover/duration.h"
#include "drover/uuid.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

std::vector<Flag> rights_flags(std::vector<Flag> flags) {
  flags.push_back(with_value("policy", "", "A policy of the token; may be repeated"));
  return flags;
}

int token_create(Run& run) {
  v1::ApplyAclTokenRequest request;
  v1::AclToken& token = *request.mutable_token();
  token.set_name(run.arguments.value("name"));
  token.set_type(run.arguments.value("type"));
  token.set_global(run.arguments.on("global"));
  for (const std::string& policy : run.arguments.values("policy")) token.add_policies(policy);
  for (const std::string& name : run.arguments.values("role-name")) token.add_roles()->set_name(name);
  for (const std::string& typed : run.arguments.values("role-id")) {
    const auto id = Uuid::parse(typed);
    if (!id) return run.usage("-role-id: \"" + typed + "\" is no identifier");
    token.add_roles()->set_id(id->bytes());
  }
  if (run.arguments.is_set("ttl")) {
    const auto ttl = parse_duration(run.arguments.value("ttl"));
    if (!ttl) return run.usage("-ttl: " + ttl.status().message());
    token.set_expiration_ttl(ttl->count());
  }
  const auto made = run.client.call<v1::Acl::ApplyToken>(request);
  if (!made) return run.fail("Error creating token", made.status());
  if (auto code = print_object(run, *made)) return *code;
  run.out << token_text(made->message.token());
  return 0;
}

int token_update(Run& run) {
  v1::AclTokenRequest look;
  look.set_accessor_id(run.arguments.positional()[0]);
  const auto found = run.client.call<v1::Acl::GetToken>(look);
  if (!found) return run.fail("Error fetching token", found.status());
  v1::ApplyAclTokenRequest request;
  request.set_accessor_id(look.accessor_id());
  v1::AclToken& token = *request.mutable_token();
  token = found->message.token();
  if (run.arguments.is_set("name")) token.set_name(run.arguments.value("name"));
  if (run.arguments.is_set("type")) token.set_type(run.arguments.value("type"));
  if (run.arguments.is_set("global")) token.set_global(run.arguments.on("global"));
  if (run.arguments.is_set("policy")) {
    token.clear_policies();
    for (const std::string& policy : run.arguments.values("policy")) token.add_policies(policy);
  }
  const auto changed = run.client.call<v1::Acl::ApplyToken>(request);
  if (!changed) return run.fail("Error updating token", changed.status());
  run.out << token_text(changed->message.token());
  return 0;
}

int token_delete(Run& run) {
  v1::AclTokenRequest request;
  request.set_accessor_id(run.arguments.positional()[0]);
  const auto deleted = run.client.call<v1::Acl::DeleteToken>(request);
  if (!deleted) return run.fail("Error deleting token", deleted.status());
  run.out << "Token " << request.accessor_id() << " successfully deleted\n";
  return 0;
}

int token_info(Run& run) {
  v1::AclTokenRequest request;
  request.set_accessor_id(run.arguments.positional()[0]);
  const auto found = run.client.call<v1::Acl::GetToken>(request);
  if (!found) return run.fail("Error fetching token", found.status());
  if (auto code = print_object(run, *found)) return *code;
  run.out << token_text(found->message.token());
  return 0;
}

int token_self(Run& run) {
  const auto found = run.client.call<v1::Acl::GetOwnToken>({});
  if (!found) return run.fail("Error fetching self token", found.status());
  if (auto code = print_object(run, *found)) return *code;
  run.out << token_text(found->message.token());
  return 0;
}

int token_list(Run& run) {
  const auto list = run.client.call<v1::Acl::ListTokens>({});
  if (!list) return run.fail("Error listing ACL tokens", list.status());
  if (auto code = print_object(run, *list)) return *code;
  if (list->message.tokens().empty()) {
    run.out << "No tokens found\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"Name", "Type", "Global", "Accessor ID", "Expired"}};
  for (const v1::AclTokenListStub& token : list->message.tokens()) {
    const bool has_ended = token.expiration_time() > 0 && token.expiration_time() <= now_ns();
    rows.push_back(
        {token.name(), token.type(), yes_no(token.global()), id_text(token.accessor_id()), yes_no(has_ended)});
  }
  run.out << format_list(rows);
  return 0;
}

void add_policies(Run& run, v1::AclRole& role) {
  for (const std::string& policy : run.arguments.values("policy")) role.add_policies()->set_name(policy);
}

int role_create(Run& run) {
  v1::ApplyAclRoleRequest request;
  request.mutable_role()->set_name(run.arguments.value("name"));
  request.mutable_role()->set_description(run.arguments.value("description"));
  add_policies(run, *request.mutable_role());
  const auto made = run.client.call<v1::Acl::ApplyRole>(request);
  if (!made) return run.fail("Error creating ACL role", made.status());
  if (auto code = print_object(run, *made)) return *code;
  run.out << role_text(made->message.role());
  return 0;
}

int role_update(Run& run) {
  v1::AclRoleRequest look;
  look.set_id(run.arguments.positional()[0]);
  const auto found = run.client.call<v1::Acl::GetRole>(look);
  if (!found) return run.fail("Error when retrieving ACL role", found.status());
  v1::ApplyAclRoleRequest request;
  request.set_id(look.id());
  v1::AclRole& role = *request.mutable_role();
  role.set_id(found->message.role().id());
  if (!run.arguments.on("no-merge")) role = found->message.role();
  if (run.arguments.is_set("name")) role.set_name(run.arguments.value("name"));
  if (run.arguments.is_set("description")) role.set_description(run.arguments.value("description"));
  if (run.arguments.is_set("policy")) role.clear_policies();
  add_policies(run, role);
  const auto changed = run.client.call<v1::Acl::ApplyRole>(request);
  if (!changed) return run.fail("Error updating ACL role", changed.status());
  if (auto code = print_object(run, *changed)) return *code;
  run.out << role_text(changed->message.role());
  return 0;
}

int role_delete(Run& run) {
  v1::AclRoleRequest request;
  request.set_id(run.arguments.positional()[0]);
  const auto deleted = run.client.call<v1::Acl::DeleteRole>(request);
  if (!deleted) return run.fail("Error deleting ACL role", deleted.status());
  run.out << "ACL role " << request.id() << " successfully deleted\n";
  return 0;
}

int role_info(Run& run) {
  v1::AclRoleRequest request;
  const std::string& typed = run.arguments.positional()[0];
  run.arguments.on("by-name") ? request.set_name(typed) : request.set_id(typed);
  const auto found = run.client.call<v1::Acl::GetRole>(request);
  if (!found) return run.fail("Error reading ACL role", found.status());
  if (auto code = print_object(run, *found)) return *code;
  run.out << role_text(found->message.role());
  return 0;
}

int role_list(Run& run) {
  const auto list = run.client.call<v1::Acl::ListRoles>({});
  if (!list) return run.fail("Error listing ACL roles", list.status());
  if (auto code = print_object(run, *list)) return *code;
  if (list->message.roles().empty()) {
    run.out << "No ACL roles found\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"ID", "Name", "Description", "Policies"}};
  for (const v1::AclRole& role : list->message.roles()) {
    rows.push_back({id_text(role.id()), role.name(), role.description(), policies_text(role)});
  }
  run.out << format_list(rows);
  return 0;
}

}  // namespace

std::vector<Definition> acl_token_commands() {
  return {{"acl token create", "Creates a token.", "", "",
           with_object_flags(rights_flags({with_value("name", "", "A name for people"),
                                           with_value("type", "client", "client or management"),
                                           on_off("global", "Valid in all regions"),
                                           with_value("ttl", "", "How long it lives, such as 8h; without: for good"),
                                           with_value("role-name", "", "A role of the token; may be repeated"),
                                           with_value("role-id", "", "The same, by identifier")})),
           0, 0, token_create},
          {"acl token update", "Changes a token.", "<accessor>", "",
           rights_flags({with_value("name", "", "A name for people"),
                         with_value("type", "client", "client or management"),
                         on_off("global", "Valid in all regions")}),
           1, 1, token_update},
          {"acl token delete", "Deletes a token.", "<accessor>", "", {}, 1, 1, token_delete},
          {"acl token info", "Shows a token.", "<accessor>", "", with_object_flags({}), 1, 1, token_info},
          {"acl token list", "Lists tokens, without their secrets.", "", "", with_object_flags({}), 0, 0, token_list},
          {"acl token self", "Shows the token in use.", "", "", with_object_flags({}), 0, 0, token_self},
          {"acl role create", "Creates a role: policies under a name.", "", "",
           with_object_flags(rights_flags({with_value("name", "", "The role's name"),
                                           with_value("description", "", "What the role is for")})),
           0, 0, role_create},
          {"acl role update", "Changes a role.", "<role>", "",
           with_object_flags(rights_flags({with_value("name", "", "The role's name"),
                                           with_value("description", "", "What the role is for"),
                                           on_off("no-merge", "Forget what is not said again")})),
           1, 1, role_update},
          {"acl role delete", "Deletes a role.", "<role>", "", {}, 1, 1, role_delete},
          {"acl role info", "Shows a role.", "<role>", "",
           with_object_flags({on_off("by-name", "The argument is the role's name")}), 1, 1, role_info},
          {"acl role list", "Lists roles.", "", "", with_object_flags({}), 0, 0, role_list}};
}

}  // namespace drover::cli
