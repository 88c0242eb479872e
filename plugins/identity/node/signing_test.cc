#include "node/signing.h"

#include <gtest/gtest.h>

#include "identity.pb.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_node.h"

namespace drover::identity {
namespace {

class SigningTest : public ::testing::Test {
 protected:
  SigningTest() {
    host_.answer_calls_with([this](const CallContext& context, const std::string& bytes) -> Result<std::string> {
      EXPECT_EQ(context.method, "/drover.v1.NodeIdentities/Sign");
      asked_ = parse_message<v1::SignIdentitiesRequest>(bytes).value_or({});
      DROVER_RETURN_IF_ERROR(servers_);
      return serialize(answer_);
    });
    v1::SignedIdentity& one = *answer_.add_identities();
    one.set_name("vault_default");
    one.set_token("header.claims.signature");
    one.set_expires_at(1234);
  }
  void know_node() { EXPECT_TRUE(host_.rows().extend<NodeCalls>("agent", node_).ok()); }
  Result<TaskTokens::Token> sign() { return signing_.sign(allocation_, "web", "vault_default", {}); }

  const Uuid allocation_ = Uuid::from_bytes(std::string(16, 'a'));
  testing::FakeHost host_;
  testing::FakeNode node_;
  Status servers_;
  v1::SignIdentitiesRequest asked_;
  v1::SignIdentitiesResponse answer_;
  Signing signing_;
};

TEST_F(SigningTest, AsksTheServersForThatIdentityOfThatTask) {
  know_node();
  signing_.start(host_);
  const auto token = sign();
  ASSERT_TRUE(token.ok()) << token.status().message();
  EXPECT_EQ(token->jwt, "header.claims.signature");
  EXPECT_EQ(token->expires_at, 1234);
  EXPECT_EQ(asked_.alloc_id(), allocation_.bytes());
  EXPECT_EQ(asked_.task(), "web");
  ASSERT_EQ(asked_.identities_size(), 1);
  EXPECT_EQ(asked_.identities(0), "vault_default");
  EXPECT_EQ(asked_.node_id(), std::string(16, 'n'));
  EXPECT_EQ(asked_.secret_id(), std::string(16, 's'));
}

TEST_F(SigningTest, IsUnavailableUntilTheServersKnowTheNode) {
  EXPECT_EQ(sign().status().code(), Code::unavailable) << "it has not started";
  signing_.start(host_);
  EXPECT_EQ(sign().status().code(), Code::unavailable);
}

TEST_F(SigningTest, IsUnavailableUntilTheServersHaveKeys) {
  know_node();
  signing_.start(host_);
  servers_ = failed_precondition("keyring has not been initialized yet");
  EXPECT_EQ(sign().status(), unavailable("keyring has not been initialized yet"));
}

TEST_F(SigningTest, ARefusalOfTheServersIsHandedOn) {
  know_node();
  signing_.start(host_);
  for (const Status& refusal : {not_found("identity not found"), permission_denied("Permission denied")}) {
    servers_ = refusal;
    EXPECT_EQ(sign().status(), refusal);
  }
}

TEST_F(SigningTest, AnAnswerAboutAnotherIdentityIsNone) {
  know_node();
  signing_.start(host_);
  answer_.mutable_identities(0)->set_name("consul_default");
  EXPECT_EQ(sign().status().code(), Code::internal);
  answer_.clear_identities();
  EXPECT_EQ(sign().status().code(), Code::internal);
}

}  // namespace
}  // namespace drover::identity
