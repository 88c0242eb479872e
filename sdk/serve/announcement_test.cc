#include "announcement.h"

#include <gtest/gtest.h>

#include <map>

namespace drover::serve {
namespace {

using Variables = std::map<std::string, std::string>;

// As a host gives them.
Variables host() {
  return {{"NOMAD_PLUGIN_MAGIC_COOKIE", "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255"},
          {"PLUGIN_PROTOCOL_VERSIONS", "2"}};
}

Result<Terms> read(const Variables& variables) {
  return read_terms([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Announcement, NamesProtocolAndSocket) {
  const auto terms = read(host());
  ASSERT_TRUE(terms.ok());
  EXPECT_EQ("/tmp", terms->socket_folder);
  EXPECT_EQ("1|2|unix|/tmp/plugin1|grpc|", announcement(*terms, "/tmp/plugin1"));
}

TEST(Announcement, CarriesItsCertificateForAHostThatAsksForTls) {
  Variables variables = host();
  variables["PLUGIN_CLIENT_CERT"] = "PEM";
  const auto terms = read(variables);
  ASSERT_TRUE(terms.ok());
  EXPECT_EQ("PEM", terms->client_certificate);
  EXPECT_EQ("1|2|unix|/s|grpc|MIIB", announcement(*terms, "/s", "MIIB"));
}

TEST(Announcement, SaysThatItDoesNotMultiplexOnlyWhenAsked) {
  Variables variables = host();
  variables["PLUGIN_MULTIPLEX_GRPC"] = "true";
  EXPECT_EQ("1|2|unix|/s|grpc||false", announcement(*read(variables), "/s"));
}

TEST(Announcement, KeepsItsVersionForAHostThatSpeaksAnother) {
  Variables variables = host();
  variables["PLUGIN_PROTOCOL_VERSIONS"] = "3,4";
  EXPECT_EQ("1|2|unix|/s|grpc|", announcement(*read(variables), "/s"));
}

TEST(Announcement, TakesTheHostsFolderBeforeTheTemporaryOne) {
  Variables variables = host();
  variables["TMPDIR"] = "/var/tmp";
  EXPECT_EQ("/var/tmp", read(variables)->socket_folder);
  variables["PLUGIN_UNIX_SOCKET_DIR"] = "/run/here";
  variables["PLUGIN_UNIX_SOCKET_GROUP"] = "wheel";
  EXPECT_EQ("/run/here", read(variables)->socket_folder);
  EXPECT_EQ("wheel", read(variables)->socket_group);
}

TEST(Announcement, RefusesWhatItCannotServeWithAHint) {
  const struct {
    const char* name;
    const char* variable;
    const char* value;
    const char* text;
  } cases[] = {
      {"started by hand", "NOMAD_PLUGIN_MAGIC_COOKIE", "", "it does nothing when it is started by hand"},
      {"a relative folder", "TMPDIR", "tmp", "\"tmp\", is no absolute path"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Variables variables = host();
    variables[c.variable] = c.value;
    const Status status = read(variables).status();
    EXPECT_EQ(Code::failed_precondition, status.code());
    EXPECT_NE(std::string::npos, status.message().find(c.text)) << status.message();
  }
}

}  // namespace
}  // namespace drover::serve
