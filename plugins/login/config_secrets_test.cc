// How rows and commands keep what is secret in a Config.
#include "config_secrets.h"

#include <gtest/gtest.h>

#include "drover/api/keyring.pb.h"
#include "drover/api/logins.pb.h"
#include "login.pb.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_keyring.h"

namespace drover::login {
namespace {

constexpr const char* kConfig = R"({"APISecret":"hush","URL":"x"})";
constexpr const char* kShown = R"({"APISecret":"redacted","URL":"x"})";

class SealedConfigs : public ::testing::Test {
 protected:
  SealedConfigs() {
    root_keys_ = Table<v1::RootKey>(host_.rows().add_table(Table<v1::RootKey>::spec(
        "root_keys", {}, [](const v1::RootKey& key, RowKeys& out) { out.primary(key.key_id()); })));
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    put_root_key(keyring_.active, v1::ROOT_KEY_STATE_ACTIVE);
    secrets_.start(&keyring_);
  }
  void put_root_key(const std::string& id, v1::RootKeyState state) {
    v1::RootKey key;
    key.set_key_id(id);
    key.set_state(state);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(root_keys_.put(rows, key).ok()); });
  }
  static v1::AclAuthMethod method(const std::string& name, const std::string& config) {
    v1::AclAuthMethod made;
    made.set_name(name);
    made.set_config(config);
    return made;
  }
  v1::AclAuthMethod sealed(const std::string& name, const std::string& config) {
    v1::AclAuthMethod made = method(name, config);
    EXPECT_EQ(secrets_.seal(*host_.snapshot(), made), ok_status());
    return made;
  }
  Status write(const v1::AclAuthMethod& made) {
    v1::AclAuthMethodApplied command;
    *command.mutable_method() = made;
    return host_.propose(command, SteadyTime::max()).status();
  }
  v1::AclAuthMethod row(const std::string& name) { return *tables_.methods.get(*host_.snapshot(), name); }
  std::optional<v1::AclAuthMethodsResealed> next() {
    return secrets_.next_resealed(*host_.snapshot(), tables_, failed_);
  }
  uint64_t uses(const std::string& key) { return Uses(tables_).uses(*host_.snapshot(), key, 10); }
  // A new active key, so that the former one is to be emptied.
  std::string rotate() {
    const std::string former = keyring_.active;
    keyring_.active = std::string(16, 'B');
    keyring_.old = {former};
    put_root_key(keyring_.active, v1::ROOT_KEY_STATE_ACTIVE);
    put_root_key(former, v1::ROOT_KEY_STATE_REKEYING);
    return former;
  }

  drover::testing::FakeHost host_;
  Tables tables_;
  Table<v1::RootKey> root_keys_;
  drover::testing::FakeKeyring keyring_;
  ConfigSecrets secrets_;
  size_t failed_ = 0;
};

TEST_F(SealedConfigs, ShowWhatAnswersShowAndKeepTheRest) {
  v1::AclAuthMethod made = sealed("m", kConfig);
  EXPECT_EQ(made.config(), kShown);
  EXPECT_EQ(serialize(made).find("hush"), std::string::npos);
  EXPECT_EQ(secrets_.open(made), ok_status());
  EXPECT_EQ(serialize(made), serialize(method("m", kConfig))) << "nothing is left of how it was kept";
  made = sealed("m", kConfig);
  made.set_name("other");
  EXPECT_EQ(secrets_.open(made).code(), Code::data_loss) << "the bytes belong to their method";
}

TEST_F(SealedConfigs, NeedAKeyOnlyWhereThereIsASecret) {
  keyring_.active.clear();
  v1::AclAuthMethod with = method("m", kConfig), without = method("m", R"({"URL":"x"})");
  EXPECT_EQ(secrets_.seal(*host_.snapshot(), with), failed_precondition("keyring has not been initialized yet"));
  EXPECT_EQ(with.config(), kConfig) << "a refusal changes nothing";
  without.set_sealed_config("what a request says");
  EXPECT_EQ(secrets_.seal(*host_.snapshot(), without), ok_status());
  EXPECT_TRUE(without.sealed_config().empty());
  secrets_.start(nullptr);
  EXPECT_EQ(secrets_.seal(*host_.snapshot(), with).message(),
            "auth methods with secrets need the plugin keyring on servers; enable it");
}

TEST_F(SealedConfigs, AreWrittenUnderAKeyThatStays) {
  const v1::AclAuthMethod early = sealed("m", kConfig);
  const std::string former = rotate();
  EXPECT_EQ(write(early), aborted("the root key was replaced meanwhile; try again"));
  EXPECT_EQ(write(sealed("m", kConfig)), ok_status());
  EXPECT_EQ(uses(former), 0U);
  EXPECT_EQ(uses(keyring_.active), 1U);
}

TEST_F(SealedConfigs, AreSealedAnewWhenTheirKeyIsToGo) {
  ASSERT_EQ(write(sealed("m", kConfig)), ok_status());
  ASSERT_EQ(write(sealed("plain", "{}")), ok_status());
  EXPECT_FALSE(next().has_value());
  const uint64_t index = row("m").modify_index();
  const std::string former = rotate();
  EXPECT_EQ(uses(former), 1U);
  const auto command = next();
  ASSERT_TRUE(command.has_value());
  ASSERT_EQ(command->methods_size(), 1);
  ASSERT_TRUE(host_.propose(*command, SteadyTime::max()).ok());
  EXPECT_EQ(uses(former), 0U);
  EXPECT_EQ(uses(keyring_.active), 1U);
  EXPECT_EQ(row("m").modify_index(), index) << "logins that have begun go on";
  v1::AclAuthMethod opened = row("m");
  EXPECT_EQ(secrets_.open(opened), ok_status());
  EXPECT_EQ(opened.config(), kConfig);
  EXPECT_FALSE(next().has_value());
}

TEST_F(SealedConfigs, OfAMethodThatChangedMeanwhileStay) {
  ASSERT_EQ(write(sealed("m", kConfig)), ok_status());
  rotate();
  const auto command = next();
  ASSERT_TRUE(command.has_value());
  v1::AclAuthMethodApplied change;
  *change.mutable_method() = sealed("m", R"({"APISecret":"new"})");
  change.set_expected_index(row("m").modify_index());
  ASSERT_TRUE(host_.propose(change, SteadyTime::max()).ok());
  ASSERT_TRUE(host_.propose(*command, SteadyTime::max()).ok());
  v1::AclAuthMethod opened = row("m");
  EXPECT_EQ(secrets_.open(opened), ok_status());
  EXPECT_EQ(opened.config(), R"({"APISecret":"new"})");
}

// As versions before have left them.
TEST_F(SealedConfigs, AreMadeOfRowsThatHaveTheirSecretsInTheClear) {
  host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(tables_.methods.put(rows, method("m", kConfig)).ok()); });
  v1::AclAuthMethod opened = row("m");
  EXPECT_EQ(secrets_.open(opened), ok_status());
  EXPECT_EQ(opened.config(), kConfig);
  const std::string active = std::exchange(keyring_.active, "");
  EXPECT_FALSE(next().has_value());
  EXPECT_EQ(failed_, 1U);
  keyring_.active = active;
  const auto command = next();
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(failed_, 0U);
  ASSERT_TRUE(host_.propose(*command, SteadyTime::max()).ok());
  EXPECT_EQ(row("m").config(), kShown);
  EXPECT_EQ(uses(active), 1U);
}

}  // namespace
}  // namespace drover::login
