#include "drover/plugin_programs/handshake.h"

#include <gtest/gtest.h>

#include "drover/tls.h"

namespace drover::plugin_programs {
namespace {

TEST(Handshake, TakesWhatPluginsSay) {
  for (const char* line : {"1|2|unix|/tmp/plugin123|grpc|", "1|2|unix|/tmp/plugin123|grpc",
                           "  1|2|unix|/tmp/plugin123|grpc|\r\n", "1|2|unix|/tmp/plugin123|grpc||false"}) {
    auto handshake = parse_handshake(line);
    ASSERT_TRUE(handshake.ok()) << line << ": " << handshake.status().message();
    EXPECT_EQ(handshake->socket, "/tmp/plugin123") << line;
  }
}

TEST(Handshake, SaysWhatItExpectedAndQuotesWhatItGot) {
  const struct {
    std::string line, text;
  } kCases[] = {
      {"Usage: tool [options]",
       "the program does not speak the plugin protocol (check that it is a plugin, for this machine); its first line "
       "of "
       "output was \"Usage: tool [options]\""},
      {"",
       "the program does not speak the plugin protocol (check that it is a plugin, for this machine); its first line "
       "of output was \"\""},
      {"2|2|unix|/tmp/p|grpc|",
       "the plugin speaks version 2 of the handshake, not 1; its first line of output was \"2|2|unix|/tmp/p|grpc|\""},
      {"1|3|unix|/tmp/p|grpc|",
       "the plugin speaks version 3 of the plugin protocol, not 2; its first line of output was "
       "\"1|3|unix|/tmp/p|grpc|\""},
      {"1|2|unix|/tmp/p", "the plugin speaks netrpc, not grpc; its first line of output was \"1|2|unix|/tmp/p\""},
      {"1|2|tcp|127.0.0.1:1234|grpc|",
       "the plugin listens on tcp, not on a unix socket; its first line of output was "
       "\"1|2|tcp|127.0.0.1:1234|grpc|\""},
      {"1|2|unix|tmp/p|grpc|",
       "the plugin's socket is not an absolute path of at most 107 bytes; its first line of output was "
       "\"1|2|unix|tmp/p|grpc|\""},
      {"1|2|unix|/tmp/p|grpc|" + std::string(60, 'A'),
       "the plugin wants TLS, which this host did not offer; its first line of output was \"1|2|unix|/tmp/p|grpc|" +
           std::string(60, 'A') + "\""},
      {"\x1b[2J|\xff",
       "the program does not speak the plugin protocol (check that it is a plugin, for this machine); its first line "
       "of "
       "output was \"?[2J|?\""},
  };
  for (const auto& c : kCases) {
    auto handshake = parse_handshake(c.line);
    ASSERT_FALSE(handshake.ok()) << c.line;
    EXPECT_EQ(handshake.status(), failed_precondition(c.text));
  }
  EXPECT_LT(parse_handshake(std::string(100'000, 'x')).status().message().size(), 500u);
}

TEST(Handshake, TakesACertificateWhereItAskedForOneAndNothingElse) {
  const auto identity = make_tls_identity();
  ASSERT_TRUE(identity.ok());
  const std::string certificate = certificate_to_base64_der(identity->cert).value_or("");

  const auto handshake = parse_handshake("1|2|unix|/s|grpc|" + certificate, Transport::mutual_tls);
  ASSERT_TRUE(handshake.ok()) << handshake.status().to_string();
  EXPECT_EQ(identity->cert, handshake->certificate);

  const auto without = parse_handshake("1|2|unix|/s|grpc|", Transport::mutual_tls);
  EXPECT_TRUE(without.status().message().starts_with(
      "the plugin was asked for TLS (auto_mtls) and answers without a certificate"))
      << without.status().message();
  const auto broken = parse_handshake("1|2|unix|/s|grpc|" + std::string(60, 'A'), Transport::mutual_tls);
  EXPECT_TRUE(broken.status().message().starts_with("the plugin's certificate cannot be read: "))
      << broken.status().message();
}

TEST(Handshake, GivesTheChildWhatItNeedsAndNoSecret) {
  const char* const host[] = {"PATH=/bin",
                              "NOMAD_TOKEN=secret",
                              "VAULT_TOKEN=secret",
                              "PLUGIN_CLIENT_CERT=x",
                              "PLUGIN_UNIX_SOCKET_DIR=/tmp/of-another",
                              "A=b=c",
                              "broken",
                              nullptr};
  const std::map<std::string, std::string> expected{{"PATH", "/bin"},
                                                    {"A", "b=c"},
                                                    {std::string(kCookieKey), std::string(kCookieValue)},
                                                    {"PLUGIN_MIN_PORT", "10000"},
                                                    {"PLUGIN_MAX_PORT", "25000"},
                                                    {"PLUGIN_PROTOCOL_VERSIONS", "2"}};
  EXPECT_EQ(plugin_environment(host), expected);
}

}  // namespace
}  // namespace drover::plugin_programs
