#include "kernel/rpc/server_names.h"

#include "gtest/gtest.h"

namespace drover {
namespace {

TEST(ServerNames, AreThoseOfTheRegionThatLive) {
  const Uuid id = Uuid::from_bytes("0123456789abcdef"), other = Uuid::from_bytes("fedcba9876543210");
  const std::vector<ServerMember> servers = {
      {.id = other, .name = "two", .region = "mars", .rpc_address = "mars:4647"},
      {.id = id, .name = "two", .region = "global", .rpc_address = "two:4647"},
      {.id = other, .name = "three", .region = "global", .rpc_address = "three:4647", .status = ServerStatus::failed},
  };
  struct Case {
    std::string said;
    std::optional<std::string> address;
  };
  const Case cases[] = {
      {"two", "two:4647"},     {"two.global", "two:4647"}, {id.to_string(), "two:4647"},     {"two.mars", std::nullopt},
      {"three", std::nullopt}, {"four", std::nullopt},     {other.to_string(), std::nullopt}};
  for (const Case& c : cases) EXPECT_EQ(server_address_of(servers, c.said, "global"), c.address) << c.said;
}

TEST(ServerNames, OneThatWasNotVisitedLives) {
  const std::vector<ServerMember> servers = {
      {.name = "away", .region = "mars", .rpc_address = "mars:4647"},
      {.name = "one", .region = "global", .rpc_address = "one:4647"},
      {.name = "three", .region = "global", .rpc_address = "three:4647", .status = ServerStatus::failed},
      {.name = "two", .region = "global", .rpc_address = "two:4647"},
  };
  EXPECT_EQ("one:4647", unvisited_server_of(servers, "global", "two", {}));
  EXPECT_EQ("two:4647", unvisited_server_of(servers, "global", "one", {}));
  EXPECT_EQ("", unvisited_server_of(servers, "global", "two", {"one"}));
}

}  // namespace
}  // namespace drover
