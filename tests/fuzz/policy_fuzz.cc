// One input as a policy of access control: what it grants does not depend on how often it is read or asked, and a policy
// that cannot be read grants nothing.
#include <string>
#include <string_view>

#include "drover/options.pb.h"
#include "plugins/acl/rules/compiled.h"
#include "plugins/acl/rules/policy.h"

void fuzz_policy(std::string_view text);

void fuzz_policy(std::string_view text) {
  using namespace drover;
  const auto rules = acl::parse_policy(std::string(text));
  if (!rules) {
    DROVER_CHECK(rules.status().code() == Code::invalid_argument && !rules.status().message().empty());
    return;
  }
  const acl::Compiled once({*rules}), twice({*rules, *rules});
  for (int each = Access::Capability_MIN + 1; each <= Access::Capability_MAX; ++each) {
    const auto capability = static_cast<Access::Capability>(each);
    for (const char* name : {"default", "prod-1", "*"})
      DROVER_CHECK(once.may(capability, name) == twice.may(capability, name));
    DROVER_CHECK(!once.may(capability, "default") || once.may(capability, "*"));
  }
  for (int each = Access::VariableRight_MIN + 1; each <= Access::VariableRight_MAX; ++each) {
    const auto right = static_cast<Access::VariableRight>(each);
    for (const char* path : {"a", "nomad/jobs/web"})
      DROVER_CHECK(once.may_variable("default", path, right) == twice.may_variable("default", path, right));
  }
  DROVER_CHECK(!once.is_management());
}
