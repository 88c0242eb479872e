#include "acl.pb.h"
#include "drover/api/acl.pb.h"
#include "drover/model/listing.h"
#include "drover/uuid.h"
#include "rpc.h"
#include "stamps.h"

namespace drover::acl {
namespace {

std::set<std::string> role_ids(const std::optional<v1::AclToken>& token) {
  std::set<std::string> ids;
  if (token) {
    for (const v1::AclTokenRoleLink& link : token->roles()) ids.insert(link.id());
  }
  return ids;
}

}  // namespace

Result<v1::ListAclRolesResponse> Rpc::list_roles(const v1::ListAclRolesRequest&, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  DROVER_TRY(const Listing listing, Listing::by_id(call.query()));
  const bool sees_all = call.permissions().is_management();
  const std::set<std::string> own = role_ids(token_of(call));
  v1::ListAclRolesResponse response;
  const auto wanted = [&](const Cursor& row) -> std::optional<v1::AclRole> {
    v1::AclRole role = Table<v1::AclRole>::parse(row.row());
    if (!sees_all && !own.contains(role.id())) return std::nullopt;
    return role;
  };
  const auto add = [&](v1::AclRole&& role) { *response.add_roles() = std::move(role); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.roles, wanted, add));
  call.set_index(call.view().table_index(tables_.roles.id()));
  return response;
}

Result<v1::AclRoleResponse> Rpc::get_role(const v1::AclRoleRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  std::optional<v1::AclRole> role;
  if (!request.name().empty()) {
    role = tables_.roles.get_by(call.view(), kRolesByName, request.name());
  } else if (const auto id = Uuid::parse(request.id())) {
    role = tables_.roles.get(call.view(), id->bytes());
  }
  const bool has_it = role && role_ids(token_of(call)).contains(role->id());
  if (!has_it && !call.permissions().is_management()) return access_denied();
  if (!role) return not_found("ACL role not found");
  call.set_index(role->modify_index());
  v1::AclRoleResponse response;
  *response.mutable_role() = *std::move(role);
  return response;
}

Result<Write<v1::AclRoleResponse>> Rpc::apply_role(const v1::ApplyAclRoleRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  v1::AclRole role = request.role();
  clear_servers_fields(role);
  if (!request.id().empty()) {
    const auto id = Uuid::parse(request.id());
    if (!id || (!role.id().empty() && role.id() != id->bytes()))
      return invalid_argument("ACL role ID does not match request path");
    role.set_id(id->bytes());
  }
  if (role.id().empty()) {
    role.set_id(Uuid::random().bytes());
  } else {
    const auto existing = tables_.roles.get(call.view(), role.id());
    if (!existing) return invalid_argument("cannot find role " + Uuid::from_bytes(role.id()).to_string());
    role.set_create_index(existing->create_index());
  }
  DROVER_RETURN_IF_ERROR(check_role(role));
  const auto other = tables_.roles.get_by(call.view(), kRolesByName, role.name());
  if (other && other->id() != role.id()) return invalid_argument("role with name " + role.name() + " already exists");
  for (const v1::AclRolePolicyLink& policy : role.policies()) {
    if (!tables_.policies.get(call.view(), policy.name()))
      return invalid_argument("cannot find policy " + policy.name());
  }
  set_hash(role);
  v1::AclRoleApplied command;
  *command.mutable_role() = role;
  v1::AclRoleResponse response;
  *response.mutable_role() = std::move(role);
  return Write<v1::AclRoleResponse>(command, [response](const Applied& applied) mutable {
    stamp(*response.mutable_role(), applied.index);
    return response;
  });
}

Result<Write<v1::AclChangedResponse>> Rpc::delete_role(const v1::AclRoleRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  const auto id = Uuid::parse(request.id());
  if (!id || !tables_.roles.get(call.view(), id->bytes())) return not_found("ACL role not found");
  v1::AclRoleDeleted command;
  command.set_id(id->bytes());
  return Write<v1::AclChangedResponse>(command, v1::AclChangedResponse());
}

}  // namespace drover::acl
