#include "config.h"

#include <gtest/gtest.h>

#include "drover/config.h"

namespace drover::dns {
namespace {

Result<Config> read(const std::string& text) {
  DROVER_TRY(const ConfigBlock block, parse_config("dns.hcl", text));
  DROVER_TRY(const ConfigBlock checked, apply_schema(block, config_schema()));
  return read_config(checked);
}

TEST(Config, HasDefaults) {
  const auto config = read("");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->addresses, std::vector<std::string>{"127.0.0.1:8653"});
  ASSERT_EQ(config->clients.size(), 2U);
  EXPECT_EQ(to_string(config->clients[0]) + " " + to_string(config->clients[1]), "127.0.0.0/8 ::1/128");
  EXPECT_EQ(to_string(config->zone.origin), "drover.");
  EXPECT_EQ(config->zone.ttl, 5U);
  EXPECT_EQ(config->zone.negative_ttl, 2U);
  EXPECT_EQ(config->zone.max_answers, 32U);
  EXPECT_EQ(config->max_stale, std::chrono::hours(1));
  EXPECT_EQ(config->token_file, "");
}

TEST(Config, TakesWhatIsSaid) {
  const auto config = read(R"(
    addresses    = ["172.17.0.1:53", "[::1]:53"]
    clients      = ["172.17.0.0/16", "127.0.0.0/8"]
    domain       = "svc.example."
    ttl          = "0s"
    negative_ttl = "1m"
    max_answers  = 3
    max_stale    = "0s"
    token_file   = "/etc/drover/dns.token")");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(to_string(config->zone.origin), "svc.example.");
  EXPECT_EQ(config->zone.ttl, 0U);
  EXPECT_EQ(config->zone.negative_ttl, 60U);
  EXPECT_EQ(config->zone.max_answers, 3U);
  EXPECT_EQ(config->max_stale.count(), 0);
  EXPECT_EQ(config->token_file, "/etc/drover/dns.token");
  ASSERT_EQ(config->zone.servers.size(), 2U);
  EXPECT_EQ(to_string(config->zone.servers[1]), "::1");
}

TEST(Config, NamesTheOptionThatIsWrong) {
  const struct {
    const char* text;
    const char* problem;
  } cases[] = {
      {"addresses = []", "addresses: there is none"},
      {"addresses = [\"localhost:53\"]", "addresses: \"localhost:53\" is not of the form IP:port"},
      {"addresses = [\"10.0.0.1:53\"]", "clients: only this machine may ask at 10.0.0.1:53"},
      {"addresses = [\"[2001:db8::1]:53\"]", "clients: only this machine may ask at [2001:db8::1]:53"},
      {"clients = [\"10.0.0.1\"]", "clients: \"10.0.0.1\" is no range of addresses"},
      {"domain = \"a..b\"", "domain: \"a..b\" has a part that is empty"},
      {"ttl = \"-1s\"", "ttl"},
      {"max_answers = 0", "max_answers"},
      {"token_file = \"dns.token\"", "token_file: must be an absolute path"},
      {"recursors = [\"1.1.1.1\"]", "recursors"},
  };
  for (const auto& c : cases) {
    const auto config = read(c.text);
    ASSERT_FALSE(config.ok()) << c.text;
    EXPECT_NE(config.status().message().find(c.problem), std::string::npos) << config.status().message();
  }
}

}  // namespace
}  // namespace drover::dns
