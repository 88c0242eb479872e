// The grants of several policies together: the decision of access control. Pure; immutable, so any thread may ask.
// [any]
//
//   one name     the rule of that very name stands before all patterns, else the closest pattern counts, else nothing
//   one rule     the rights of all policies add up; "deny" in any of them takes all away
//   closest      fewest characters that the pattern does not say; of two as close, the last in byte order
//   areas        deny before write before read before list
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/permissions.h"
#include "drover/workload.h"
#include "rules/policy.h"

namespace drover::acl {

// Rules by patterns.
class Patterns {
 public:
  void add(const std::string& pattern, Capabilities capabilities);
  // The capabilities under that name; nothing when no rule speaks of it.
  std::optional<Capabilities> exactly(std::string_view name) const;
  std::optional<Capabilities> closest(std::string_view name) const;  // of patterns with "*"
  std::optional<Capabilities> find(std::string_view name) const;
  bool any_has(Capabilities wanted) const;

 private:
  std::map<std::string, Capabilities, std::less<>> exact_;
  std::map<std::string, Capabilities, std::less<>> globs_;
};

// True when the pattern covers the text. "*" stands for any run of characters, also none, and for "/" too.
bool matches(std::string_view pattern, std::string_view text);

// A task reads and lists its own variables without a policy.
class Compiled final : public Permissions {
 public:
  explicit Compiled(const std::vector<PolicyRules>& policies, std::optional<Workload> workload = {});

  bool is_management() const override { return false; }
  bool may(Access_Capability capability, std::string_view name_space) const override;
  bool may_see(std::string_view name_space) const override;
  Grant granted(Area area) const override;
  bool may_variable(std::string_view name_space, std::string_view path, Access_VariableRight right) const override;
  bool may_mount(std::string_view host_volume, bool writes) const override;

 private:
  bool is_own(std::string_view name_space, std::string_view path) const;

  Patterns namespaces_;
  Patterns host_volumes_;
  Patterns variables_;
  std::map<Area, AreaRule> areas_;
  std::optional<Workload> workload_;
};

// The permissions under policies of these texts. Errors: that of the first that cannot be read, which takes all rights
// away from whoever has it.
Result<std::shared_ptr<const Permissions>> compile(const std::vector<std::string>& texts,
                                                   std::optional<Workload> workload = {});

}  // namespace drover::acl
