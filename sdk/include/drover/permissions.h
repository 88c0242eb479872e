// The permissions of a caller, and whether they meet the rule that a method declares (drover/options.proto, Access).
//
// The router asks allows() once for each call. A handler asks where the rule alone does not decide: the namespace of an
// object that was found (Call::allowed_in), the path of a variable, the content of a request (Call::permissions).
// Nothing is allowed that nobody granted. [any]
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace drover {

class Access;                     // drover/options.proto
enum Access_Capability : int;     // Access::Capability
enum Access_VariableRight : int;  // Access::VariableRight
struct CallContext;

// The parts of a cluster that belong to no namespace.
enum class Area : uint8_t { node, agent, cluster, plugin };
enum class Grant : uint8_t { none, list, read, write };  // each has those before it

// Nothing, but for what a class grants. Immutable, and shared by the calls of one caller.
class Permissions {
 public:
  virtual ~Permissions() = default;
  virtual bool is_management() const { return false; }  // everything
  // The namespace "*": in at least one.
  virtual bool may(Access_Capability /*capability*/, std::string_view /*name_space*/) const { return false; }
  virtual bool may_see(std::string_view /*name_space*/) const { return false; }  // has any capability there
  virtual Grant granted(Area /*area*/) const { return Grant::none; }
  virtual bool may_variable(std::string_view /*name_space*/, std::string_view /*path*/, Access_VariableRight) const {
    return false;
  }
  virtual bool may_mount(std::string_view /*host_volume*/, bool /*writes*/) const { return false; }
};

// For those whom nobody restricts: the management identity, and everybody where access control is off.
std::shared_ptr<const Permissions> all_permissions();
// For those to whom nothing was granted.
const Permissions& no_permissions();

// True when the caller of the context may do what the rule asks for; a capability is asked for in that namespace. True
// for a rule about variables, too: which path, the handler knows.
bool allows(const Access& rule, const CallContext& context, std::string_view name_space);

}  // namespace drover
