#include "machine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "drover/api/system.pb.h"

namespace drover::status {
namespace {

TEST(Machine, ShowsNoSecret) {
  const struct {
    const char *name, *value, *shown;
  } cases[] = {{"PATH", "/bin:/usr/bin", "/bin:/usr/bin"},
               {"NOMAD_ADDR", "http://127.0.0.1:4646", "http://127.0.0.1:4646"},
               {"NOMAD_TOKEN", "7b1d", "<redacted>"},
               {"consul_http_auth", "a:b", "<redacted>"},
               {"AWS_SECRET_ACCESS_KEY", "x", "<redacted>"},
               {"PGPASSWORD", "x", "<redacted>"},
               {"HTTP_PROXY", "http://me:word@proxy:80", "<redacted>"},
               {"EMPTY", "", ""}};
  for (const auto& c : cases) EXPECT_EQ(c.shown, shown_variable(c.name, c.value)) << c.name;
}

TEST(Machine, IsShownToWhoeverMayAsk) {
  EXPECT_FALSE(may_show_machine(R"({"ACL":{"Enabled":false},"EnableDebug":false})"));
  EXPECT_TRUE(may_show_machine(R"({"ACL":{"Enabled":true},"EnableDebug":false})"));
  EXPECT_TRUE(may_show_machine(R"({"EnableDebug":true})"));
  EXPECT_FALSE(may_show_machine(""));
}

TEST(Machine, IsDescribed) {
  const char* const environment[] = {"A=b=c", "MY_TOKEN=x", "ODD", nullptr};
  const v1::HostData data = describe_machine(environment);
  EXPECT_NE(std::string::npos, data.os().find(" Linux ")) << data.os();
  EXPECT_EQ("b=c", data.environment().at("A"));
  EXPECT_EQ("<redacted>", data.environment().at("MY_TOKEN"));
  EXPECT_EQ("", data.environment().at("ODD"));
  ASSERT_TRUE(data.disk().contains("/"));
  EXPECT_GT(data.disk().at("/").disk_mb(), 0);
  EXPECT_LE(data.disk().at("/").used_mb(), data.disk().at("/").disk_mb());
  EXPECT_TRUE(std::ranges::any_of(data.network(), [](const v1::HostInterface& each) {
    return each.name() == "lo" && each.address() == "127.0.0.1";
  }));
}

}  // namespace
}  // namespace drover::status
