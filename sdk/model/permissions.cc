#include "drover/permissions.h"

#include <algorithm>

#include "drover/methods.h"
#include "drover/options.pb.h"

namespace drover {
namespace {

class AllPermissions final : public Permissions {
 public:
  bool is_management() const override { return true; }
  bool may(Access_Capability, std::string_view) const override { return true; }
  bool may_see(std::string_view) const override { return true; }
  Grant granted(Area) const override { return Grant::write; }
  bool may_variable(std::string_view, std::string_view, Access_VariableRight) const override { return true; }
  bool may_mount(std::string_view, bool) const override { return true; }
};

const Permissions& permissions_of(const Identity& caller) {
  return caller.permissions ? *caller.permissions : no_permissions();
}

Grant grant_of(Access::Level level) { return level == Access::READ ? Grant::read : Grant::write; }
Grant grant_of(Access::PluginLevel level) { return level == Access::PLUGIN_LIST ? Grant::list : Grant::read; }

bool is_known(Identity::Kind kind) {
  return kind == Identity::Kind::token || kind == Identity::Kind::management || kind == Identity::Kind::workload;
}

bool meets(const Access& rule, const CallContext& context, std::string_view name_space) {
  const Identity& caller = context.identity;
  const Permissions& permissions = permissions_of(caller);
  switch (rule.rule_case()) {
    case Access::kNamespace:
      return permissions.may(rule.namespace_(), name_space);
    case Access::kNode:
      return permissions.granted(Area::node) >= grant_of(rule.node());
    case Access::kAgent:
      return permissions.granted(Area::agent) >= grant_of(rule.agent());
    case Access::kOperator:
      return permissions.granted(Area::cluster) >= grant_of(rule.operator_());
    case Access::kPlugin:
      return permissions.granted(Area::plugin) >= grant_of(rule.plugin());
    case Access::kManagement:
      return permissions.is_management();
    case Access::kAnyone:
    case Access::kVariables:
      return true;
    case Access::kToken:
      return is_known(caller.kind);
    case Access::kClient:
      return caller.kind == Identity::Kind::client || permissions.is_management();
    case Access::kWorkload:
      return caller.kind == Identity::Kind::workload || permissions.is_management();
    case Access::kServer:
      return context.from_server;
    case Access::RULE_NOT_SET:
      return false;
  }
  return false;
}

}  // namespace

std::shared_ptr<const Permissions> all_permissions() {
  static const auto all = std::make_shared<const AllPermissions>();
  return all;
}

const Permissions& no_permissions() {
  static const Permissions none{};
  return none;
}

bool allows(const Access& rule, const CallContext& context, std::string_view name_space) {
  return meets(rule, context, name_space) || std::ranges::any_of(rule.or_else(), [&](const Access& other) {
           return meets(other, context, name_space);
         });
}

const Permissions& Call::permissions() const { return permissions_of(context().identity); }

bool Call::allowed_in(std::string_view name_space) const {
  const Access* rule = context().access;
  return rule ? allows(*rule, context(), name_space) : permissions().is_management();
}

Status Call::require(std::string_view name_space) const {
  return allowed_in(name_space) ? ok_status() : access_denied();
}

Status Call::own_node(std::string_view node_id) const {
  const Identity& caller = context().identity;
  if (caller.kind != Identity::Kind::client) return ok_status();
  return caller.name == Uuid::from_bytes(node_id).to_string() ? ok_status() : access_denied();
}

Status access_denied() { return permission_denied("Permission denied"); }

}  // namespace drover
