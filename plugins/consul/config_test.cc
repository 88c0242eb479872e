#include "config.h"

#include <gtest/gtest.h>

#include <map>

#include "drover/v1/task.pb.h"

namespace drover::consul {
namespace {

Result<Config> read(const std::string& text, const std::map<std::string, std::string>& environment = {}) {
  DROVER_TRY(const ConfigBlock block, parse_config("consul", text));
  DROVER_TRY(const ConfigBlock checked, apply_schema(block, config_schema()));
  return read_config(checked, [&](const std::string& name) {
    const auto at = environment.find(name);
    return at == environment.end() ? std::string() : at->second;
  });
}

TEST(Config, HasNomadsDefaults) {
  const auto config = read("");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->endpoint.origin, "http://127.0.0.1:8500");
  EXPECT_EQ(config->endpoint.timeout, std::chrono::seconds(5));
  EXPECT_TRUE(config->endpoint.tls.is_verified);
  EXPECT_EQ(config->server_service, "nomad");
  EXPECT_EQ(config->client_service, "nomad-client");
  EXPECT_TRUE(config->advertises);
  EXPECT_TRUE(config->server_joins);
  EXPECT_TRUE(config->client_joins);
  EXPECT_EQ(config->task_identity, nullptr);
  const auto with_identity = read("task_identity {\n}");
  ASSERT_TRUE(with_identity.ok() && with_identity->task_identity);
  EXPECT_EQ(with_identity->task_identity->audience(0), "consul.io");
}

TEST(Config, TakesTheEnvironmentWhereTheFileSaysNothing) {
  const std::map<std::string, std::string> environment = {{"CONSUL_HTTP_ADDR", "consul.example:1"},
                                                          {"CONSUL_HTTP_TOKEN", "secret"},
                                                          {"CONSUL_HTTP_SSL", "true"},
                                                          {"CONSUL_HTTP_SSL_VERIFY", "false"},
                                                          {"CONSUL_CACERT", "/ca"}};
  const auto config = read("", environment);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->endpoint.origin, "https://consul.example:1");
  EXPECT_EQ(config->endpoint.token, "secret");
  EXPECT_EQ(config->endpoint.tls.ca_file, "/ca");
  EXPECT_FALSE(config->endpoint.tls.is_verified);
  const auto written = read("address = \"http://other:2/\"\ntoken = \"mine\"", environment);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written->endpoint.origin, "http://other:2");
  EXPECT_EQ(written->endpoint.token, "mine");
}

TEST(Config, ReadsAddresses) {
  const std::pair<const char*, const char*> cases[] = {{"10.0.0.1:8500", "http://10.0.0.1:8500"},
                                                       {"[::1]:8500", "http://[::1]:8500"},
                                                       {"https://c:8501", "https://c:8501"},
                                                       {"unix:///run/consul.sock", "http://localhost"}};
  for (const auto& [text, origin] : cases) {
    const auto config = read("address = \"" + std::string(text) + "\"");
    ASSERT_TRUE(config.ok()) << text;
    EXPECT_EQ(config->endpoint.origin, origin);
  }
  EXPECT_EQ(read("address = \"unix:///run/consul.sock\"")->endpoint.unix_socket, "/run/consul.sock");
}

TEST(Config, RefusesWhatItCannotCarryOut) {
  const std::pair<const char*, const char*> cases[] = {
      {"address = \"http://a/b\"", "consul.address"},
      {"allow_unauthenticated = false", "consul.allow_unauthenticated"},
      {"name = \"second\"", "consul.name"},
      {"service_identity { aud = [\"consul.io\"] }", "service_identity"},
      {"adress = \"x\"", "address"},
  };
  for (const auto& [text, word] : cases) {
    const auto config = read(text);
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_NE(config.status().message().find(word), std::string::npos) << config.status().message();
  }
}

}  // namespace
}  // namespace drover::consul
