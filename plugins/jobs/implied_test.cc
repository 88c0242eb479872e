#include "implied.h"

#include <gtest/gtest.h>

#include "drover/v1/job.pb.h"

namespace drover::jobs {
namespace {

v1::Identity identity(const std::string& name, const std::string& change_mode = "") {
  v1::Identity out;
  out.set_name(name);
  out.set_change_mode(change_mode);
  return out;
}

TEST(ImpliedIdentities, AreGivenOnceToTasksThatNeedThem) {
  v1::Job job;
  v1::TaskGroup& group = *job.add_task_groups();
  for (const char* name : {"plain", "reads", "own"}) group.add_tasks()->set_name(name);
  group.mutable_tasks(1)->add_templates();
  group.mutable_tasks(2)->add_templates();
  *group.mutable_tasks(2)->add_identities() = identity("registry", "restart");
  const IdentitiesFor registry = [](const v1::TaskGroup&, const v1::Task& task) {
    return task.templates().empty() ? std::vector<v1::Identity>() : std::vector{identity("registry")};
  };
  add_implied_identities(job, registry);
  add_implied_identities(job, registry);
  EXPECT_EQ(group.tasks(0).identities_size(), 0);
  ASSERT_EQ(group.tasks(1).identities_size(), 1);
  EXPECT_EQ(group.tasks(1).identities(0).change_mode(), "noop");
  ASSERT_EQ(group.tasks(2).identities_size(), 1);
  EXPECT_EQ(group.tasks(2).identities(0).change_mode(), "restart") << "the job's own stands before it";
}

TEST(ImpliedConstraints, ServicesInANamespaceOfConsulNeedOneThatHasThem) {
  const auto constraints = [](const std::string& of_group, const std::string& of_task, const char* provider) {
    v1::Job job;
    v1::TaskGroup& group = *job.add_task_groups();
    group.mutable_consul()->set_namespace_(of_group);
    v1::Task& task = *group.add_tasks();
    task.mutable_consul()->set_namespace_(of_task);
    task.add_services()->set_provider(provider);
    add_implied_constraints(job);
    std::string text;
    for (const v1::Constraint& each : group.constraints()) text += each.l_target() + each.operand() + each.r_target();
    return text;
  };
  constexpr const char* kVersion = "${attr.consul.version}semver>= 1.7.0";
  const std::string both = std::string(kVersion) + "${attr.consul.ft.namespaces}=true";
  EXPECT_EQ(constraints("", "", "consul"), kVersion);
  EXPECT_EQ(constraints("team", "", "consul"), both);
  EXPECT_EQ(constraints("", "team", "consul"), both);
  EXPECT_EQ(constraints("team", "default", "consul"), kVersion) << "every Consul has that one";
  EXPECT_EQ(constraints("team", "", "acme"), "");
}

}  // namespace
}  // namespace drover::jobs
