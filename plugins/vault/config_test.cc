#include "config.h"

#include <gtest/gtest.h>

#include <map>

namespace drover::vault {
namespace {

Result<Config> config_of(const std::string& text, const std::map<std::string, std::string>& environment = {}) {
  DROVER_TRY(const ConfigBlock written, parse_config("agent.hcl", text));
  DROVER_TRY(const ConfigBlock block, apply_schema(written, schema()));
  return read_config(&block, [&](const char* name) {
    const auto at = environment.find(name);
    return at == environment.end() ? std::string() : at->second;
  });
}

TEST(VaultConfig, IsOffUnlessItIsEnabled) {
  EXPECT_FALSE(config_of("")->is_enabled);
  EXPECT_FALSE(read_config(nullptr, [](const char*) { return ""; })->is_enabled);
  EXPECT_FALSE(config_of("enabled = false\naddress = \"nonsense\"")->is_enabled);
}

TEST(VaultConfig, FillsInWhatIsNotSaid) {
  const auto config = config_of("enabled = true");
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_EQ(config->address, "https://vault.service.consul:8200");
  EXPECT_EQ(config->auth_path, "jwt-nomad");
  EXPECT_EQ(config->name_space, "");
  EXPECT_EQ(config->role, "");
  EXPECT_TRUE(config->tls.is_verified);
}

TEST(VaultConfig, TheEnvironmentStandsForWhatTheBlockDoesNotSay) {
  const std::map<std::string, std::string> environment = {{"VAULT_ADDR", "http://127.0.0.1:8200/"},
                                                          {"VAULT_NAMESPACE", "team"}};
  const auto ours = config_of("enabled = true", environment);
  ASSERT_TRUE(ours) << ours.status().message();
  EXPECT_EQ(ours->address, "http://127.0.0.1:8200");
  EXPECT_EQ(ours->name_space, "team");
  const auto said = config_of("enabled = true\naddress = \"https://v.example\"\nnamespace = \"own\"", environment);
  ASSERT_TRUE(said) << said.status().message();
  EXPECT_EQ(said->address, "https://v.example");
  EXPECT_EQ(said->name_space, "own");
}

TEST(VaultConfig, RefusesWithThePlace) {
  const struct {
    const char* name;
    const char* text;
    const char* why;
  } cases[] = {
      {"no URL", "enabled = true\naddress = \"vault.example\"", "address must be a URL that begins with https://"},
      {"another kind", "enabled = true\naddress = \"unix:///run/vault\"", "address must be a URL"},
      {"half a certificate", "enabled = true\ncert_file = \"/c\"", "cert_file and key_file are given together"},
      {"a server's token", "enabled = true\ntoken = \"hvs.x\"", "each task logs in with its own identity"},
      {"how long those live", "enabled = true\ntask_token_ttl = \"72h\"", "each task logs in with its own identity"},
      {"whose token a job must bring", "enabled = true\nallow_unauthenticated = false", "vault.allow_unauthenticated"},
      {"a second Vault", "enabled = true\nname = \"other\"", "other"},
      {"a typing error", "enabled = true\nadress = \"https://v\"", "address"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto config = config_of(c.text);
    ASSERT_FALSE(config);
    EXPECT_NE(config.status().message().find(c.why), std::string::npos) << config.status().message();
    EXPECT_EQ(config.status().message().find("hvs.x"), std::string::npos) << "a secret is shown";
  }
}

}  // namespace
}  // namespace drover::vault
