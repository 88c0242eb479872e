#include "drover/subnet.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

std::string shown(std::string_view text) {
  const auto subnet = parse_subnet(text);
  if (!subnet) return subnet.status().message();
  const uint32_t hosts = hosts_in(*subnet);
  std::string out = to_string(*subnet) + " " + std::to_string(hosts);
  if (hosts > 0) out += " " + host_address(*subnet, 1) + " " + host_address(*subnet, hosts);
  return out;
}

TEST(Subnet, AddressesByNumber) {
  const std::pair<const char*, const char*> cases[] = {
      {"172.26.64.0/20", "172.26.64.0/20 4094 172.26.64.1 172.26.79.254"},
      {"10.1.2.3/30", "10.1.2.0/30 2 10.1.2.1 10.1.2.2"},
      {"10.1.2.3/31", "10.1.2.2/31 0"},
      {"10.0.0.0/8", "10.0.0.0/8 16777214 10.0.0.1 10.255.255.254"},
      {"0.0.0.0/0", "0.0.0.0/0 16777214 0.0.0.1 0.255.255.254"},
      {"fd00:1::/112", "fd00:1::/112 65534 fd00:1::1 fd00:1::fffe"},
      {"fd00::ffff/64", "fd00::/64 16777214 fd00::1 fd00::ff:fffe"},
      {"10.1.2.3", "\"10.1.2.3\" is no range of addresses"},
      {"10.1.2.3/33", "\"10.1.2.3/33\" is no range of addresses"},
      {"10.1.2.3/-1", "\"10.1.2.3/-1\" is no range of addresses"},
      {"fd00::/129", "\"fd00::/129\" is no range of addresses"},
      {"10.1.2/24", "\"10.1.2/24\" is no range of addresses"},
      {"", "\"\" is no range of addresses"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(expected, shown(text)) << text;
}

TEST(Subnet, ContainsAddresses) {
  const Subnet small = *parse_subnet("10.1.2.0/23"), six = *parse_subnet("fd00::/64");
  EXPECT_TRUE(contains(small, "10.1.3.255"));
  EXPECT_FALSE(contains(small, "10.1.4.0"));
  EXPECT_FALSE(contains(small, "fd00::1"));
  EXPECT_FALSE(contains(small, "10.1.2"));
  EXPECT_TRUE(contains(six, "fd00::ffff:1"));
  EXPECT_FALSE(contains(six, "fd00:0:0:1::1"));
  EXPECT_TRUE(contains(*parse_subnet("0.0.0.0/0"), "8.8.8.8"));
}

}  // namespace
}  // namespace drover
