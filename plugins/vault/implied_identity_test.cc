#include "implied_identity.h"

#include <gtest/gtest.h>

#include "drover/v1/job.pb.h"

namespace drover::vault {
namespace {

TEST(VaultIdentity, IsForTasksThatUseVault) {
  VaultIdentity implied;
  v1::Task plain, uses;
  uses.mutable_vault()->set_cluster("default");
  EXPECT_FALSE(implied.identity_for({}, uses)) << "Vault is not enabled";
  implied.start({.audience = {"vault.io", "more"}, .ttl = 60, .env = true, .file = false});
  EXPECT_FALSE(implied.identity_for({}, plain));
  const auto identity = implied.identity_for({}, uses);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->name(), "vault_default");
  EXPECT_EQ(identity->audience_size(), 2);
  EXPECT_EQ(identity->ttl(), 60);
  EXPECT_TRUE(identity->env());
  EXPECT_FALSE(identity->file());
}

TEST(VaultIdentity, HasAnAudienceAndALifeWhereNothingIsSaid) {
  const DefaultIdentity usual = read_default_identity(nullptr);
  EXPECT_EQ(usual.audience, std::vector<std::string>{"vault.io"});
  EXPECT_EQ(usual.ttl, std::chrono::nanoseconds(std::chrono::hours(1)).count());
}

}  // namespace
}  // namespace drover::vault
