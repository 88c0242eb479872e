#include "acl/acl_text.h"

#include "drover/v1/acl.pb.h"
#include "output.h"

namespace drover::cli {

std::string policies_text(const v1::AclRole& role) {
  std::vector<std::string> names;
  for (const v1::AclRolePolicyLink& policy : role.policies()) names.push_back(policy.name());
  return joined(names, ",");
}

std::string token_text(const v1::AclToken& token) {
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"Accessor ID", id_text(token.accessor_id())},
      {"Secret ID", id_text(token.secret_id())},
      {"Name", token.name()},
      {"Type", token.type()},
      {"Global", yes_no(token.global())},
      {"Create Time", full_time(token.create_time())},
      {"Expiry Time", token.expiration_time() == 0 ? "<none>" : full_time(token.expiration_time())},
      {"Create Index", std::to_string(token.create_index())},
      {"Modify Index", std::to_string(token.modify_index())}};
  if (token.type() == "management") {
    pairs.insert(pairs.end(), {{"Policies", "n/a"}, {"Roles", "n/a"}});
    return format_pairs(pairs);
  }
  pairs.emplace_back("Policies", "[" + joined(token.policies(), " ") + "]");
  std::string text = format_pairs(pairs);
  if (token.roles().empty()) return text + "\nRoles\n<none>\n";
  std::vector<std::vector<std::string>> rows = {{"ID", "Name"}};
  for (const v1::AclTokenRoleLink& role : token.roles()) rows.push_back({id_text(role.id()), role.name()});
  return text + "\nRoles\n" + format_list(rows);
}

std::string role_text(const v1::AclRole& role) {
  return format_pairs({{"ID", id_text(role.id())},
                       {"Name", role.name()},
                       {"Description", role.description().empty() ? "<none>" : role.description()},
                       {"Policies", policies_text(role)},
                       {"Create Index", std::to_string(role.create_index())},
                       {"Modify Index", std::to_string(role.modify_index())}});
}

}  // namespace drover::cli
