// Permissions of callers in tests of handlers.
#pragma once

#include "drover/permissions.h"

namespace drover::testing {

// Everything but what takes a management token.
class AllButManagement : public Permissions {
 public:
  bool is_management() const override { return false; }
  bool may(Access_Capability, std::string_view) const override { return true; }
  bool may_see(std::string_view) const override { return true; }
  Grant granted(Area) const override { return Grant::write; }
  bool may_variable(std::string_view, std::string_view, Access_VariableRight) const override { return true; }
  bool may_mount(std::string_view, bool) const override { return true; }
};

// The same in one namespace only.
class OnlyIn final : public AllButManagement {
 public:
  explicit OnlyIn(std::string name_space) : name_space_(std::move(name_space)) {}
  bool may(Access_Capability, std::string_view name_space) const override { return covers(name_space); }
  bool may_see(std::string_view name_space) const override { return covers(name_space); }
  bool may_variable(std::string_view name_space, std::string_view, Access_VariableRight) const override {
    return covers(name_space);
  }

 private:
  bool covers(std::string_view name_space) const { return name_space == "*" || name_space == name_space_; }
  const std::string name_space_;
};

}  // namespace drover::testing
