#include "redaction.h"

#include <gtest/gtest.h>

namespace drover::login {
namespace {

TEST(Redaction, HidesSecretsWhereverTheyStand) {
  for (const char* name : {"OIDCClientSecret", "BindPassword", "password", "PemKey", "APIToken", "PrivateKey"})
    EXPECT_TRUE(is_secret_name(name)) << name;
  for (const char* name : {"OIDCClientID", "JWKSURL", "JWTValidationPubKeys", "SecretName", ""})
    EXPECT_FALSE(is_secret_name(name)) << name;
  EXPECT_EQ(redacted(R"({"OIDCClientSecret":"hush","URL":"x","A":[{"Password":"p"}],)"
                     R"("Assertion":{"PrivateKey":{"PemKey":"k","KeyID":"i"}},"Token":""})"),
            R"({"A":[{"Password":"redacted"}],"Assertion":{"PrivateKey":{"KeyID":"redacted","PemKey":"redacted"}},)"
            R"("OIDCClientSecret":"redacted","Token":"","URL":"x"})");
  EXPECT_EQ(redacted(""), "");
}

TEST(Redaction, KnowsWhetherThereAreSecrets) {
  for (const char* with : {R"({"A":[{"Password":"p"}]})", R"({ "Token" : "t" })"}) EXPECT_TRUE(has_secrets(with)) << with;
  for (const char* without : {"", "{", "{}", R"({ "URL" : "x", "Token": "" })"}) EXPECT_FALSE(has_secrets(without)) << without;
}

TEST(Redaction, KeepsSecretsThatAreWrittenAsTheyWereShown) {
  const std::string stored = R"({"A":[{"Password":"p"}],"Secret":"hush","URL":"x"})";
  EXPECT_EQ(*with_secrets(redacted(stored), stored), stored);
  EXPECT_EQ(*with_secrets(R"({"Secret":"new","URL":"redacted"})", stored), R"({"Secret":"new","URL":"redacted"})");
  EXPECT_EQ(with_secrets(R"({"Other":{"Secret":"redacted"}})", stored).status().message(),
            "Config: Other.Secret: there is no secret that is redacted");
  EXPECT_FALSE(with_secrets(R"({"Secret":"redacted"})", "").ok());
  EXPECT_FALSE(with_secrets(R"({"A":[{"Password":"redacted"},1]})", stored).ok());  // another list
  EXPECT_FALSE(with_secrets("[]", stored).ok());
  EXPECT_FALSE(with_secrets("{", stored).ok());
}

}  // namespace
}  // namespace drover::login
