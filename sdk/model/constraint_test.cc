#include "drover/model/constraint.h"

#include <gtest/gtest.h>

#include "drover/v1/node.pb.h"
#include "version.h"

namespace drover {
namespace {

TEST(Constraint, ComparesValuesByOperator) {
  struct Case {
    const char* operand;
    std::optional<std::string> left, right;
    bool holds;
  };
  const std::optional<std::string> none;
  const Case cases[] = {
      {"=", "a", "a", true},
      {"==", "a", "b", false},
      {"is", "a", "a", true},
      {"=", none, "a", false},
      {"!=", "a", "b", true},
      {"not", "a", "a", false},
      {"!=", none, "a", true},
      {"<", "9", "10", true},
      {"<", "1.5", "1.25", false},
      {">=", "10", "10", true},
      {">", "b", "a", true},
      {"<", none, "1", false},
      {"regexp", "linux-5.10", "^linux-[0-9]+", true},
      {"regexp", "windows", "linux", false},
      {"regexp", "Linux", "(?i)^linux$", true},
      {"regexp", std::string(10'000, 'a'), "(a*)*b", false},
      {"regexp", "a", "(", false},
      {"regexp", "a", std::string(600, 'a'), false},
      {"version", "1.2.3", ">= 1.2, < 2", true},
      {"semver", "1.2.3-beta", ">= 1.2.3", false},
      {"set_contains", "a, b ,c", "b,c", true},
      {"set_contains_all", "a,b", "b,c", false},
      {"set_contains_any", "a,b", "b,c", true},
      {"set_contains_any", "a,b", "d", false},
      {"is_set", "a", "", true},
      {"is_set", none, "", false},
      {"is_not_set", none, "", true},
      {"is_not_set", "a", "", false},
      {"unheard_of", "a", "a", false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.operand) + " " + c.left.value_or("-") + " " + c.right.value_or("-"));
    EXPECT_EQ(compare_values(c.operand, c.left, c.right), c.holds);
  }
}

TEST(Constraint, ResolvesWhatATargetNames) {
  v1::Node node;
  node.set_name("n1");
  node.set_datacenter("dc1");
  (*node.mutable_attributes())["kernel.name"] = "linux";
  (*node.mutable_meta())["rack"] = "r7";
  EXPECT_EQ(resolve_target("${attr.kernel.name}", node), "linux");
  EXPECT_EQ(resolve_target("${meta.rack}", node), "r7");
  EXPECT_EQ(resolve_target("${node.datacenter}", node), "dc1");
  EXPECT_EQ(resolve_target("${node.unique.name}", node), "n1");
  EXPECT_EQ(resolve_target("${attr.absent}", node), std::nullopt);
  EXPECT_EQ(resolve_target("plain", node), "plain");
}

TEST(Version, MeetsConstraints) {
  struct Case {
    const char* version;
    const char* constraint;
    VersionForm form;
    bool meets;
  };
  using enum VersionForm;
  const Case cases[] = {
      {"1.2.3", ">= 1.0, < 2.0", loose, true},
      {"2.0", ">= 1.0, < 2.0", loose, false},
      {"v1.2", "= 1.2.0", loose, true},
      {"1.2.9", "~> 1.2.3", loose, true},
      {"1.3.0", "~> 1.2.3", loose, false},
      {"1.9", "~> 1.2", loose, true},
      {"2.0", "~> 1.2", loose, false},
      {"1.7.0-beta1", ">= 1.6.0", loose, false},
      {"1.7.0-beta1", ">= 1.7.0-alpha", loose, true},
      {"1.0", "!= 1.1", loose, true},
      {"1.0", "rubbish", loose, false},
      {"rubbish", ">= 1", loose, false},
      {"1.7.0-beta", ">= 1.6.0", semver, true},
      {"1.6.0-beta", ">= 1.6.0", semver, false},
      {"1.2.3+build", "= 1.2.3", semver, true},
      {"5.10.0-28-amd64", ">= 3.0", semver, true},
      {"5.10.0-28-amd64", "> 3", semver, true},
      {"1.2.3", ">= 1.2", semver, true},
      {"v1.2.3", ">= 1.0.0", semver, true},
      {"1.2", ">= 1.0.0", semver, true},
      {"1.2.3.4", ">= 1.0.0", semver, true},
      {"1.2.3", "= v1.2.3", semver, true},
      {"1.2", "= 1.2.0", semver, true},
      {"1.2.3.4", "> 1.2.3", semver, true},
      {"1.02.3", "= 1.2.3", semver, true},
      {"1.2", ">= 1.3", semver, false},
      {"v1", "< 1", semver, false},
      {"1.2.3beta1", ">= 1.0.0", semver, false},
      {"1.2.3beta1", ">= 1.2.3beta0", loose, true},
      {"1.2.", ">= 1", semver, false},
      {"vv1.2", ">= 1", semver, false},
      {"1.2.3", "~> 1.2.0", semver, false},
      {"1.0.0-alpha.2", "< 1.0.0-alpha.10", semver, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.version) + " " + c.constraint);
    EXPECT_EQ(version_meets(c.version, c.constraint, c.form), c.meets);
  }
}

TEST(Glob, StarStandsForAnyText) {
  struct Case {
    const char* pattern;
    const char* text;
    bool matches;
  };
  const Case cases[] = {
      {"*", "dc1", true},   {"dc*", "dc12", true},  {"dc*", "xdc", false}, {"*-east-*", "a-east-1", true},
      {"dc1", "dc1", true}, {"dc1", "dc12", false}, {"", "", true},        {"a*b*c", "aXbYbc", true}};
  for (const Case& c : cases) EXPECT_EQ(glob_matches(c.pattern, c.text), c.matches) << c.pattern << " " << c.text;
}

}  // namespace
}  // namespace drover
