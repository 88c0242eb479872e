#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drover/duration.h"
#include "templates/secret_functions.h"
#include "templates/secret_question.h"
#include "testing/vault_node.h"

namespace drover::vault {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using text_template::Value;

std::vector<Value> values(const std::vector<std::string>& texts) {
  std::vector<Value> all;
  for (const std::string& each : texts) all.push_back(text_template::value_of(each));
  return all;
}

TEST(SecretQuestion, IsReadFromACall) {
  const struct {
    const char* name;
    const char* function;
    std::vector<std::string> arguments;
    const char* expected;  // the question's name, or the error
  } cases[] = {
      {"a read", "secret", {"/kv/db/"}, "vault.read(kv/db)"},
      {"of a version", "secret", {"secret/db?version=2"}, "vault.read(secret/db?version=2)"},
      {"a list", "secrets", {"kv"}, "vault.list(kv)"},
      {"a write", "secret", {"pki/issue", "a = b"}, "vault.write(pki/issue -> db4a7ecb)"},
      {"a certificate", "pkiCert", {"pki/issue", "a=b"}, "vault.pki(pki/issue -> db4a7ecb)"},
      {"nothing", "secret", {}, "takes a path"},
      {"an empty path", "secret", {" / "}, "takes a path, which is empty"},
      {"a list with more", "secrets", {"kv", "a=b"}, "takes one argument, a path"},
      {"no pair", "secret", {"kv", "a"}, "argument 2 is no pair k=v"},
      {"no name", "secret", {"kv", "=a"}, "argument 2 is no pair k=v"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto question = read_question(c.function, values(c.arguments));
    EXPECT_EQ(c.expected, question ? question->name() : question.status().message());
  }
  const std::vector<Value> number = {text_template::value_of(1)};
  EXPECT_FALSE(read_question("secret", number));
}

TEST(SecretQuestion, VersionTwoOfAStoreHasPathsOfItsOwn) {
  const Mount two{.path = "secret/", .kv_version = 2}, one{.path = "secret/", .kv_version = 1};
  const struct {
    const char* function;
    const char* path;
    const Mount& mount;
    const char* expected;
  } cases[] = {
      {"secret", "secret/a/b", two, "secret/data/a/b"}, {"secret", "secret/data/a", two, "secret/data/a"},
      {"secret", "secret/database", two, "secret/data/database"}, {"secrets", "secret/a", two, "secret/metadata/a"},
      {"secrets", "secret/metadata", two, "secret/metadata"}, {"secret", "secret/a", one, "secret/a"},
      {"secret", "other/a", two, "other/a"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(c.expected, path_at(c.mount, *read_question(c.function, values({c.path})))) << c.path;
  EXPECT_EQ(json::parse(R"({"data":{"k":"v"}})"), body_at(two, *read_question("secret", values({"secret/a", "k=v"}))));
  EXPECT_EQ(json::parse(R"({"k":"v"})"), body_at(one, *read_question("secret", values({"secret/a", "k=v"}))));
}

TEST(SecretQuestion, AnswersSayWhenToLookAgain) {
  const struct {
    const char* name;
    std::vector<std::string> arguments;
    const char* answer;
    const char* again;
  } cases[] = {
      {"static", {"kv/a"}, R"({"data":{}})", "5m0s"},
      {"a store's default", {"kv/a"}, R"({"data":{},"lease_duration":2764800})", "5m0s"},
      {"its own ttl", {"kv/a"}, R"({"data":{},"lease_duration":30})", "20s"},
      {"a lease", {"db/creds"}, R"({"data":{},"lease_id":"l","renewable":true,"lease_duration":3600})", "40m0s"},
      {"a lease that cannot be renewed", {"db/creds"}, R"({"data":{},"lease_id":"l","lease_duration":3600})", "40m0s"},
      {"a lease of no length", {"db/creds"}, R"({"data":{},"lease_id":"l"})", "1s"},
      {"a write", {"kv/a", "a=b"}, R"({"data":{}})", "0s"},
      {"a write with a lease", {"db/x", "a=b"}, R"({"data":{},"lease_id":"l","lease_duration":3})", "2s"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto value = read_answer(*read_question("secret", values(c.arguments)), json::parse(c.answer), 0);
    ASSERT_TRUE(value) << value.status().message();
    EXPECT_EQ(c.again, format_duration(value->again));
  }
  const auto pki = read_question("pkiCert", values({"pki/issue/web", "common_name=a"}));
  const auto certificate = read_answer(*pki, json::parse(R"({"data":{"certificate":"c","expiration":1100}})"),
                                       1'000'000'000'000);
  ASSERT_TRUE(certificate);
  EXPECT_EQ("1m30s", format_duration(certificate->again));
  EXPECT_FALSE(read_answer(*pki, json::object(), 0));
}

// One run after the other of a template of the node's task.
class SecretsTest : public VaultNode, public TemplateLooks {
 protected:
  SecretsTest() { functions_.start({.host = host_, .config = config_, .client = *client_, .vaults = vaults_}); }

  const HookedTask& task() const override { return *task_; }
  const Variables& environment() const override { return start_.environment; }
  TemplateAnswer at(const std::string& name, const std::function<std::shared_ptr<TemplateWatch>()>& begin) override {
    auto& watch = watches_[name];
    if (!watch) watch = begin();
    host_.run_delayed();
    return watch->now();
  }
  void miss(std::string name) override { missing_ = std::move(name); }

  json call(const std::string& function, const std::vector<std::string>& arguments) {
    missing_.clear();
    const auto value = functions_.call(function, values(arguments), *this);
    return value ? **value : json(value.status().message());
  }
  json data(const std::string& path) {
    const json secret = call("secret", {path});
    return secret.is_object() ? secret.at("Data") : secret;
  }

  SecretFunctions functions_;
  std::map<std::string, std::shared_ptr<TemplateWatch>> watches_;
  std::string missing_;
};

TEST_F(SecretsTest, ReadsBothVersionsOfTheStore) {
  ASSERT_TRUE(start().ok());
  vault_.order(R"({"put": {"path": "kv/db", "data": {"user": "ada"}}})");
  vault_.order(R"({"put": {"path": "secret/db", "data": {"user": "eve"}}})");
  EXPECT_EQ(data("kv/db"), json::parse(R"({"user":"ada"})"));
  EXPECT_EQ(data("secret/db").at("data"), json::parse(R"({"user":"eve"})"));
  EXPECT_EQ(data("secret/data/db").at("data").at("user"), "eve");
  EXPECT_EQ(missing_, "");
}

TEST_F(SecretsTest, ListsWhatLiesBelowAPath) {
  ASSERT_TRUE(start().ok());
  vault_.order(R"({"put": {"path": "secret/team/b", "data": {}}})");
  vault_.order(R"({"put": {"path": "secret/team/a/x", "data": {}}})");
  EXPECT_EQ(call("secrets", {"secret/team"}), json::parse(R"(["a/","b"])"));
  EXPECT_EQ(call("secrets", {"secret/nobody"}), json::array());
  EXPECT_EQ(missing_, "") << "an empty list is an answer";
}

TEST_F(SecretsTest, WaitsForASecretAndFollowsIt) {
  ASSERT_TRUE(start().ok());
  EXPECT_EQ(data("kv/late"), json());
  EXPECT_EQ(missing_, "vault.read(kv/late): no secret exists there");
  vault_.order(R"({"put": {"path": "kv/late", "data": {"n": "1"}}})");
  EXPECT_EQ(data("kv/late").at("n"), "1");
  const uint64_t change = watches_.at("vault.read(kv/late)")->now().change;
  host_.run_delayed();
  EXPECT_EQ(watches_.at("vault.read(kv/late)")->now().change, change) << "the same is no news";
  vault_.order(R"({"put": {"path": "kv/late", "data": {"n": "2"}}})");
  EXPECT_EQ(data("kv/late").at("n"), "2");
  vault_.order(R"({"delete": "kv/late"})");
  EXPECT_EQ(data("kv/late").at("n"), "2") << "what is known stays";
}

TEST_F(SecretsTest, SaysWhatVaultRefuses) {
  ASSERT_TRUE(start().ok());
  vault_.order(R"({"fail": {"kv/": 403}})");
  EXPECT_EQ(data("kv/db"), json());
  EXPECT_EQ(missing_, "vault.read(kv/db): Vault answers 403: as ordered");
}

TEST_F(SecretsTest, LeasesAreRenewedAndReadAgainWhenVaultEndsThem) {
  ASSERT_TRUE(start().ok());
  const json first = data("database/creds/app");
  EXPECT_EQ(data("database/creds/app"), first);
  EXPECT_EQ(vault_.asked("database/creds/app"), 1);
  EXPECT_EQ(vault_.asked("sys/leases/renew"), 1);
  vault_.order(R"({"fail": {"sys/leases": 400}})");
  EXPECT_NE(data("database/creds/app"), first);
}

TEST_F(SecretsTest, ANewTokenReadsAnew) {
  ASSERT_TRUE(start().ok());
  const json first = data("database/creds/app");
  vault_.order(R"({"forget": true})");
  for (int i = 0; i < 4; ++i) host_.run_delayed();  // the renewal fails, another login, another secret
  const json second = data("database/creds/app");
  EXPECT_NE(second, first);
  EXPECT_EQ(vault_.asked("auth/jwt-nomad/login"), 2);
}

TEST_F(SecretsTest, TheSameQuestionOfATaskIsAskedOnce) {
  ASSERT_TRUE(start().ok());
  vault_.order(R"({"put": {"path": "kv/db", "data": {"user": "ada"}}})");
  (void)data("kv/db");
  const auto first = watches_;
  watches_.clear();  // another template of the same task
  (void)data("kv/db");
  EXPECT_EQ(first.begin()->second, watches_.begin()->second);
}

TEST_F(SecretsTest, WritesOnceAndMakesCertificates) {
  ASSERT_TRUE(start().ok());
  EXPECT_TRUE(call("secret", {"secret/mine", "k=v"}).is_object());
  EXPECT_TRUE(call("secret", {"secret/mine", "k=v"}).is_object());
  EXPECT_EQ(data("secret/mine").at("metadata").at("version"), 1);
  const json made = call("pkiCert", {"pki/issue/web", "common_name=web.example"});
  EXPECT_EQ(made.at("CA"), "ca");
  EXPECT_TRUE(made.at("Cert").get<std::string>().starts_with("cert of web.example"));
}

TEST_F(SecretsTest, SaysWhatIsMissingToReadAtAll) {
  attach();
  EXPECT_EQ(call("secret", {"kv/db"}), json());
  EXPECT_EQ(missing_, "vault.read(kv/db)") << "there is no token yet";
  config_.is_enabled = false;
  EXPECT_NE(call("secret", {"kv/db"}).get<std::string>().find("vault { enabled = true }"), std::string::npos);
}

}  // namespace
}  // namespace drover::vault
