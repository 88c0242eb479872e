#include "node/given.h"

#include <gtest/gtest.h>

#include "drover/v1/task.pb.h"

namespace drover::identity {
namespace {

using namespace std::chrono_literals;

v1::Identity named(const std::string& name, const std::string& path = "") {
  v1::Identity identity;
  identity.set_name(name);
  identity.set_filepath(path);
  return identity;
}

TEST(Given, HasAPlaceAndAName) {
  const struct {
    v1::Identity identity;
    const char *file, *variable;
  } cases[] = {{named("default"), "secrets/nomad_token", "NOMAD_TOKEN"},
               {named(""), "secrets/nomad_token", "NOMAD_TOKEN"},
               {named("vault_1"), "secrets/nomad_vault_1.jwt", "NOMAD_TOKEN_vault_1"},
               {named("a-b"), "secrets/nomad_a-b.jwt", "NOMAD_TOKEN_a_b"},
               {named("web", "local/token"), "local/token", "NOMAD_TOKEN_web"}};
  for (const auto& c : cases) {
    EXPECT_EQ(file_of(c.identity), c.file);
    EXPECT_EQ(variable_of(c.identity), c.variable);
  }
}

TEST(Given, IsWhatTheTaskIsShown) {
  v1::Task task;
  EXPECT_TRUE(shown_identities(task).empty());
  task.mutable_identity();
  EXPECT_TRUE(shown_identities(task).empty()) << "nobody sees its token";
  task.mutable_identity()->set_env(true);
  task.add_identities()->set_name("unseen");
  v1::Identity& seen = *task.add_identities();
  seen.set_name("seen");
  seen.set_file(true);
  std::string names;
  for (const v1::Identity& each : shown_identities(task)) names += each.name() + " ";
  EXPECT_EQ(names, "default seen ");
}

TEST(Given, IsRenewedAtHalfOfItsLife) {
  EXPECT_EQ(until_renewal(3'600'000'000'000, 0), 30min);
  EXPECT_EQ(until_renewal(100, 0), 1s);
  EXPECT_EQ(until_renewal(0, 100), 1s) << "it has ended";
}

}  // namespace
}  // namespace drover::identity
