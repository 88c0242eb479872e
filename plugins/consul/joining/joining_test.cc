#include <gtest/gtest.h>

#include "joining/found_servers.h"
#include "joining/join_turns.h"
#include "joining/joiner.h"
#include "drover/pause.h"
#include "testing/fake_consul.h"

namespace drover::consul {
namespace {

using namespace std::chrono_literals;

TEST(JoinTurns, WaitWhileThereIsALeader) {
  JoinTurns turns;
  const SteadyTime start{1h};
  EXPECT_FALSE(turns.is_due(true, true, start));
  EXPECT_FALSE(turns.is_due(false, true, start + 14s));
  EXPECT_TRUE(turns.is_due(false, true, start + 15s));
  turns.found(false, 0, start + 15s);
  EXPECT_FALSE(turns.is_due(false, true, start + 59s));
  EXPECT_TRUE(turns.is_due(false, true, start + 60s));
  turns.found(false, 1, start + 60s);
  EXPECT_FALSE(turns.is_due(false, true, start + 127s));
  EXPECT_TRUE(turns.is_due(false, true, start + 128s));
  turns.found(true, 0, start + 128s);
  EXPECT_FALSE(turns.is_due(false, true, start + 142s));
  EXPECT_TRUE(turns.is_due(false, true, start + 143s));
}

TEST(JoinTurns, BeginAtOnceForAServerOfNoCluster) {
  JoinTurns turns, member;
  EXPECT_TRUE(turns.is_due(false, false, SteadyTime{1h}));
  EXPECT_FALSE(member.is_due(false, true, SteadyTime{1h})) << "one of a cluster waits for its own";
}

TEST(FoundServers, AreReadInConsulsOrder) {
  const auto found = addresses_in(R"([{"Address":"10.0.0.1","ServiceAddress":"","ServicePort":4648},
    {"Address":"10.0.0.1","ServiceAddress":"10.0.0.2","ServicePort":4648},{"Address":"10.0.0.1","ServicePort":4648},
    {"ServiceAddress":"::1","ServicePort":1},{"ServiceAddress":"x","ServicePort":0},{"ServicePort":1},7])");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, (std::vector<std::string>{"10.0.0.1:4648", "10.0.0.2:4648", "[::1]:1"}));
  EXPECT_FALSE(addresses_in("{}").ok());
}

TEST(FoundServers, AreThoseWithTheTag) {
  testing::FakeConsul consul;
  const ConsulClient client({.origin = consul.url()});
  EXPECT_EQ(find_servers(client, "nomad", "rpc", {}).status().message(),
            "Consul knows no service \"nomad\" with the tag \"rpc\"");
  const char* row = R"({"ID":"a","Name":"nomad","Tags":["rpc"],"Address":"10.0.0.1","Port":4647})";
  ASSERT_TRUE(consul.call("PUT", "/v1/agent/service/register", row).ok());
  EXPECT_EQ(*find_servers(client, "nomad", "rpc", {}), std::vector<std::string>{"10.0.0.1:4647"});
  EXPECT_EQ(find_servers(client, "nomad", "serf", {}).status().code(), Code::not_found);
  consul.control(R"({"trouble":{"GET /v1/catalog/service":"500"}})");
  EXPECT_EQ(find_servers(client, "nomad", "rpc", {}).status().code(), Code::unavailable);
}

TEST(ClientSearch, FindsServersThatComeLater) {
  testing::FakeConsul consul;
  const ConsulClient client({.origin = consul.url()});
  ClientSearch search;
  search.start(client, "nomad");
  EXPECT_TRUE(search.rpc_addresses().empty());
  const char* row = R"({"ID":"a","Name":"nomad","Tags":["rpc"],"Address":"10.0.0.1","Port":4647})";
  ASSERT_TRUE(consul.call("PUT", "/v1/agent/service/register", row).ok());
  const SteadyTime end = SystemClock().steady() + 60s;
  while (search.rpc_addresses().empty() && SystemClock().steady() < end) pause_for(20ms, {});
  EXPECT_EQ(search.rpc_addresses(), std::vector<std::string>{"10.0.0.1:4647"});
  search.stop();
}

}  // namespace
}  // namespace drover::consul
