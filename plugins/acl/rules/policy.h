// The policy language: what a policy grants, read from its text. Pure. [any]
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "drover/permissions.h"
#include "drover/result.h"

namespace drover::acl {

// Capabilities as a set: the bit of a capability is its number in Access::Capability. "deny" takes all others away.
using Capabilities = uint32_t;
inline constexpr Capabilities kDeny = 1;
// Those of host volumes and of variables, in sets of their own; kDeny is the same there. The bit of a right on
// variables is its number in Access::VariableRight.
inline constexpr Capabilities kMountReadOnly = 1u << 1;
inline constexpr Capabilities kMountReadWrite = 1u << 2;

struct AreaRule {
  bool is_denied = false;  // takes the grant away, also that of other policies
  Grant grant = Grant::none;
};

// The content of one policy. Names are patterns, in which "*" stands for any run of characters.
struct PolicyRules {
  std::map<std::string, Capabilities> namespaces;
  std::map<std::string, Capabilities> host_volumes;
  std::map<std::string, Capabilities> variables;  // by variable_key(namespace pattern, path pattern)
  std::map<Area, AreaRule> areas;
};

std::string variable_key(std::string_view name_space, std::string_view path);

// Reads HCL or JSON. An empty text grants nothing. Errors: invalid_argument with every problem and its line: unknown
// blocks and options, blocks without label, words and capabilities that there are not.
Result<PolicyRules> parse_policy(const std::string& text);

}  // namespace drover::acl
