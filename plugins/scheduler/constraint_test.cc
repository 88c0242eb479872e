#include "constraint.h"

#include <gtest/gtest.h>

#include "feasibility.h"
#include "testing/fixtures.h"
#include "version.h"

namespace drover::scheduler {
namespace {

using testing::make_job;
using testing::make_node;

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
  v1::Node node = make_node("n1");
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

TEST(Feasibility, NamesTheReason) {
  v1::Job job = make_job();
  v1::Constraint& constraint = *job.add_constraints();
  constraint.set_l_target("${attr.kernel.name}");
  constraint.set_operand("=");
  constraint.set_r_target("windows");
  EXPECT_EQ(Feasibility(job, job.task_groups(0)).check(make_node("n1")), "${attr.kernel.name} = windows");

  v1::Node driverless = make_node("n2");
  driverless.mutable_drivers()->at("mock").set_healthy(false);
  const v1::Job plain = make_job();
  EXPECT_EQ(Feasibility(plain, plain.task_groups(0)).check(driverless), "missing drivers");

  v1::Job bridged = make_job();
  bridged.mutable_task_groups(0)->add_networks()->set_mode("bridge");
  EXPECT_EQ(Feasibility(bridged, bridged.task_groups(0)).check(make_node("n3")), "missing network");
}

TEST(Feasibility, AsksOnceAClassUnlessAConstraintEscapesIt) {
  v1::Job job = make_job();
  v1::Constraint& constraint = *job.add_constraints();
  constraint.set_l_target("${node.unique.name}");
  constraint.set_operand("=");
  constraint.set_r_target("n1");
  v1::Node first = make_node("n1");
  v1::Node second = make_node("n2");
  second.set_computed_class(first.computed_class());
  Feasibility feasibility(job, job.task_groups(0));

  EXPECT_TRUE(feasibility.escaped());
  EXPECT_EQ(feasibility.check(first), "");
  EXPECT_NE(feasibility.check(second), "");
}

TEST(Feasibility, KeepsApartWhatMustBeDistinct) {
  v1::Job job = make_job();
  v1::Constraint& constraint = *job.add_constraints();
  constraint.set_l_target("${meta.rack}");
  constraint.set_operand("distinct_property");
  v1::Node here = make_node("n1");
  v1::Node there = make_node("n2");
  (*here.mutable_meta())["rack"] = "r1";
  (*there.mutable_meta())["rack"] = "r1";
  const Feasibility feasibility(job, job.task_groups(0));
  EXPECT_EQ(feasibility.check_distinct(there, {{&here, "app"}}), "distinct_property: ${meta.rack}=r1 used by 1 allocs");
  EXPECT_EQ(feasibility.check_distinct(make_node("n3"), {}), "missing property \"${meta.rack}\"");

  v1::Job apart = make_job();
  apart.add_constraints()->set_operand("distinct_hosts");
  const Feasibility hosts(apart, apart.task_groups(0));
  EXPECT_EQ(hosts.check_distinct(here, {{&here, "app"}}), "distinct_hosts");
  EXPECT_EQ(hosts.check_distinct(there, {{&here, "app"}}), "");
  for (const auto& [value, reason] : {std::pair("true", "distinct_hosts"), {"false", ""}}) {
    apart.mutable_constraints(0)->set_r_target(value);
    EXPECT_EQ(Feasibility(apart, apart.task_groups(0)).check_distinct(here, {{&here, "app"}}), reason) << value;
  }
}

}  // namespace
}  // namespace drover::scheduler
