// Jobs that use Vault: what is refused.
#include <gtest/gtest.h>

#include "canonical.h"
#include "drover/json.h"
#include "drover/v1/job.pb.h"
#include "validate.h"

namespace drover::jobs {
namespace {

v1::Job with_tasks(const std::string& tasks, const std::string& more = "") {
  v1::Job job;
  EXPECT_TRUE(json_to_message(R"({"ID":"web","Datacenters":["dc1"],"Type":"service",)" + more +
                                  R"("TaskGroups":[{"Name":"a","Tasks":[)" + tasks + "]}]}",
                              job)
                  .ok());
  canonicalize(job);
  return job;
}
v1::Job with_vault(const std::string& vault, const std::string& more = "") {
  return with_tasks(R"({"Name":"t","Driver":"raw_exec","Vault":)" + vault + "}", more);
}
Findings validated(const v1::Job& job) { return validate(job, {.has_vault = true}); }

TEST(VaultJobs, AreRefusedWhereServersHaveNoVault) {
  EXPECT_EQ(validate(with_vault("{}")).errors,
            std::vector<std::string>{"group[\"a\"].task[\"t\"].vault: Vault not enabled but used in the job; the servers' "
                                     "configuration needs vault { enabled = true }"});
  EXPECT_EQ(validated(with_vault("{}")).errors, std::vector<std::string>());
}

TEST(VaultJobs, AreRefusedWithThePlace) {
  const struct {
    const char* name;
    v1::Job job;
    const char* problem;
  } cases[] = {
      {"a token of the job", with_vault("{}", R"("VaultToken":"hvs.mine",)"),
       "vault_token: is not taken: each task logs in to Vault with its own identity"},
      {"a second Vault", with_vault(R"({"Cluster":"other"})"), "vault.cluster: vault.cluster (there is one Vault"},
      {"root", with_vault(R"({"Policies":["root"]})"), "vault.policies: the policy \"root\" is not allowed"},
      {"an unknown mode", with_vault(R"({"ChangeMode":"script"})"), "vault.change_mode: \"script\" is unknown"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto errors = validated(c.job).errors;
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_NE(errors.front().find(c.problem), std::string::npos) << errors.front();
    EXPECT_EQ(errors.front().find("hvs.mine"), std::string::npos) << "a secret is shown";
  }
}

TEST(VaultJobs, PoliciesAreTheRolesNow) {
  const Findings found = validated(with_vault(R"({"Policies":["app"]})"));
  EXPECT_EQ(found.errors, std::vector<std::string>());
  ASSERT_EQ(found.warnings.size(), 1u);
  EXPECT_NE(found.warnings.front().find("vault.policies: has no effect"), std::string::npos) << found.warnings.front();
}

}  // namespace
}  // namespace drover::jobs
