#include "node/vault_hook.h"

#include <sys/stat.h>

#include "testing/vault_node.h"

namespace drover::vault {
namespace {

using Names = std::vector<std::string>;

TEST_F(VaultNode, ATaskGetsItsTokenBeforeItStarts) {
  block_.set_namespace_("team");
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(variable("VAULT_TOKEN"), "hvs.fake-1");
  EXPECT_EQ(variable("VAULT_NAMESPACE"), "team");
  EXPECT_EQ(file(), "hvs.fake-1");
  struct stat found {};
  ASSERT_EQ(::stat((folder_ + "/web/secrets/vault_token").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
}

TEST_F(VaultNode, ATaskMayBeShownItsTokenNowhere) {
  block_.set_env(false);
  block_.set_disable_file(true);
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(start_.adds.env_size(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/web/secrets/vault_token"));
  EXPECT_EQ(vault_.tokens(), Names{"hvs.fake-1"});
}

TEST_F(VaultNode, TasksWithoutTheBlockHaveNothingToDoWithIt) {
  auto job = std::make_shared<v1::Job>();
  v1::TaskGroup& group = *job->add_task_groups();
  group.set_name("front");
  group.add_tasks()->set_name("web");
  v1::Allocation allocation;
  allocation.set_id(std::string(16, 'a'));
  allocation.set_task_group("front");
  testing::FakeTask plain("", "web", std::make_shared<AllocSpec>(allocation, std::move(job)));
  EXPECT_EQ(hook_.attach(plain, state_), nullptr);
}

TEST_F(VaultNode, ARestartOfTheTaskKeepsItsToken) {
  ASSERT_TRUE(start().ok());
  ASSERT_TRUE(part_->exited().ok());
  ASSERT_TRUE(start_.prestart(*part_).ok() && part_->poststart().ok());
  EXPECT_EQ(variable("VAULT_TOKEN"), "hvs.fake-1");
  EXPECT_EQ(vault_.asked("auth/jwt-nomad/login"), 1);
}

TEST_F(VaultNode, RefusalsEndTheTaskAndSayWhoseTheyAre) {
  vault_.order(R"({"roles": []})");
  EXPECT_EQ(start().code(), Code::cancelled);
  EXPECT_EQ(task_->next(),
            "fail: Vault: failed to derive vault token: Vault answers 400: role \"nomad-workloads\" could not be found");
  tokens_.answer = not_found("identity not found");
  EXPECT_EQ(start().code(), Code::cancelled);
  EXPECT_EQ(task_->next(), "fail: Vault: server failed to derive vault token: identity not found");
}

TEST_F(VaultNode, WhileVaultIsAwayTheTaskWaitsUntilItIsToEnd) {
  vault_.order(R"({"fail": {"auth/": 503}})");
  start_.stop.request_stop();
  EXPECT_EQ(start().code(), Code::cancelled);
  EXPECT_TRUE(task_->is_quiet());
}

TEST_F(VaultNode, ANodeWithoutVaultSaysWhatIsMissing) {
  config_.is_enabled = false;
  const Status status = start();
  EXPECT_EQ(status.code(), Code::failed_precondition);
  EXPECT_NE(status.message().find("vault { enabled = true }"), std::string::npos) << status.message();
}

TEST_F(VaultNode, ATokenIsRenewedAndStaysTheSame) {
  ASSERT_TRUE(start().ok());
  host_.run_delayed();
  host_.run_delayed();
  EXPECT_EQ(vault_.asked("auth/token/renew-self"), 2);
  EXPECT_EQ(file(), "hvs.fake-1");
  EXPECT_TRUE(task_->is_quiet());
}

TEST_F(VaultNode, ATokenThatVaultKnowsNoMoreIsReplacedAndTheTaskRestarted) {
  ASSERT_TRUE(start().ok());
  vault_.order(R"({"forget": true})");
  host_.run_delayed();  // the renewal fails
  host_.run_delayed();  // another login
  EXPECT_EQ(file(), "hvs.fake-2");
  EXPECT_EQ(task_->next(), "restart: Vault: new Vault token acquired");
}

TEST_F(VaultNode, ASignalTellsTheTaskOfANewToken) {
  block_.set_change_mode("signal");
  ASSERT_TRUE(start().ok());
  vault_.order(R"({"forget": true})");
  host_.run_delayed();
  host_.run_delayed();
  EXPECT_EQ(task_->next(), "signal SIGHUP");
}

TEST_F(VaultNode, ATaskMayNotWantToHearOfIt) {
  block_.set_change_mode("noop");
  ASSERT_TRUE(start().ok());
  vault_.order(R"({"forget": true})");
  host_.run_delayed();
  host_.run_delayed();
  EXPECT_EQ(file(), "hvs.fake-2");
  EXPECT_TRUE(task_->is_quiet());
}

TEST_F(VaultNode, WhileVaultIsAwayTheTokenStays) {
  ASSERT_TRUE(start().ok());
  vault_.order(R"({"fail": {"auth/": 500}})");
  host_.run_delayed();
  EXPECT_EQ(file(), "hvs.fake-1");
  vault_.order(R"({"fail": {"auth/": 0}})");
  host_.run_delayed();
  EXPECT_EQ(vault_.asked("auth/token/renew-self"), 2);
  EXPECT_TRUE(task_->is_quiet());
}

TEST_F(VaultNode, ATaskThatRunsWithoutATokenIsEndedWhenAnotherIsRefused) {
  ASSERT_TRUE(start().ok());
  vault_.order(R"({"forget": true, "roles": []})");
  host_.run_delayed();
  host_.run_delayed();
  EXPECT_TRUE(task_->next().starts_with("fail: Vault: failed to derive vault token: Vault answers 400"));
}

TEST_F(VaultNode, ATokenThatCannotBeRenewedIsReplacedInTimeAndRevoked) {
  vault_.order(R"({"renewable": false})");
  ASSERT_TRUE(start().ok());
  host_.run_delayed();
  EXPECT_EQ(file(), "hvs.fake-2");
  host_.run_delayed();
  EXPECT_EQ(vault_.asked("auth/token/revoke-self"), 1);
  const Names left = vault_.tokens();
  EXPECT_EQ(std::count(left.begin(), left.end(), "hvs.fake-1"), 0);
}

TEST_F(VaultNode, ATokenThatMayExpireIsLeftAlone) {
  block_.set_allow_token_expiration(true);
  ASSERT_TRUE(start().ok());
  host_.run_delayed();
  EXPECT_EQ(vault_.asked("auth/token/renew-self"), 0);
}

TEST_F(VaultNode, TheTokenIsRevokedWhenTheTaskIsOver) {
  ASSERT_TRUE(start().ok());
  vault_.order(R"({"fail": {"auth/token/revoke": 503}})");
  ASSERT_TRUE(part_->stop().ok());
  EXPECT_TRUE(state_.is_empty());
  host_.run_delayed();
  EXPECT_EQ(vault_.tokens(), Names{"hvs.fake-1"}) << "Vault is away";
  EXPECT_FALSE(host_.store.is_empty());
  vault_.order(R"({"fail": {"auth/token/revoke": 0}})");
  host_.run_delayed();
  EXPECT_EQ(vault_.tokens(), Names{});
  EXPECT_TRUE(host_.store.is_empty());
}

TEST_F(VaultNode, TheNextAgentRevokesWhatThisOneCouldNot) {
  ASSERT_TRUE(start().ok());
  ASSERT_TRUE(part_->stop().ok());
  Revoker next;
  ASSERT_TRUE(next.start(host_, *client_).ok());
  host_.run_delayed();
  EXPECT_EQ(vault_.tokens(), Names{});
  EXPECT_TRUE(host_.store.is_empty());
}

TEST_F(VaultNode, ATaskThatIsFoundAgainKeepsItsTokenAndItIsRenewedAtOnce) {
  ASSERT_TRUE(start().ok());
  part_->shutdown();
  host_.run_delayed();
  EXPECT_EQ(vault_.asked("auth/token/renew-self"), 0) << "the agent has ended";
  attach();
  ASSERT_TRUE(start_.prestart(*part_, /*recovered=*/true).ok() && part_->poststart().ok());
  EXPECT_EQ(variable("VAULT_TOKEN"), "hvs.fake-1");
  host_.run_delayed();
  EXPECT_EQ(vault_.asked("auth/token/renew-self"), 1);
  EXPECT_EQ(vault_.asked("auth/jwt-nomad/login"), 1);
  EXPECT_TRUE(task_->is_quiet());
}

TEST_F(VaultNode, AKeptTokenThatIsGoneIsReplacedBeforeTheTaskStarts) {
  ASSERT_TRUE(start().ok());
  part_->shutdown();
  vault_.order(R"({"forget": true})");
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(variable("VAULT_TOKEN"), "hvs.fake-2");
  EXPECT_TRUE(task_->is_quiet());
}

}  // namespace
}  // namespace drover::vault
