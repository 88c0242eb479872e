#include "servers/known_servers.h"

#include <gtest/gtest.h>

namespace drover::agent {
namespace {

TEST(ServerAddress, HasAPort) {
  const struct {
    const char *typed, *address;
  } cases[] = {{"10.0.0.1", "10.0.0.1:4647"},         {"10.0.0.1:5000", "10.0.0.1:5000"},
               {"one.servers", "one.servers:4647"},   {"fd00::1", "[fd00::1]:4647"},
               {"[fd00::1]", "[fd00::1]:4647"},       {"[fd00::1]:99", "[fd00::1]:99"}};
  for (const auto& c : cases) EXPECT_EQ(c.address, server_address(c.typed).value_or("none")) << c.typed;
  for (const char* typed : {"", ":4647", "a:", "a:0", "a:65536", "a:b", "a b", "[fd00::1", "http://a", "[]:1"}) {
    EXPECT_EQ(invalid_argument("\"" + std::string(typed) + "\" is no address of a server such as 10.0.0.1:4647"),
              server_address(typed).status());
  }
}

TEST(KnownServers, AreThoseOfTheConfigurationAndThoseHeardOf) {
  KnownServers servers;
  servers.configure({"a:1", "b:1"});
  EXPECT_EQ((std::vector<std::string>{"a:1", "b:1"}), servers.all());
  servers.heard({"b:1", "c:1"});
  servers.heard({});
  EXPECT_EQ((std::vector<std::string>{"a:1", "b:1", "c:1"}), servers.all());
  EXPECT_EQ((std::vector<std::string>{"b:1", "c:1"}), servers.rpc_addresses());
  servers.heard({"d:1"});
  EXPECT_EQ((std::vector<std::string>{"a:1", "b:1", "d:1"}), servers.all());
}

}  // namespace
}  // namespace drover::agent
