#include "fingerprint/host_networks.h"

#include <gtest/gtest.h>

#include "drover/v1/node.pb.h"
#include "fingerprint/host_ranges.h"

namespace drover::agent {
namespace {

TEST(HostRanges, SayWhetherAnAddressIsInOne) {
  const struct {
    const char* address;
    const char* cidr;
    bool is_in;
  } cases[] = {
      {"10.1.2.3", "10.0.0.0/8", true},        {"11.1.2.3", "10.0.0.0/8", false},
      {"192.168.7.9", "192.168.7.8/31", true}, {"192.168.7.10", "192.168.7.8/31", false},
      {"10.1.2.3", "10.1.2.3/32", true},       {"10.1.2.4", "10.1.2.3/32", false},
      {"10.1.2.3", "0.0.0.0/0", true},         {"fd00::1", "fd00::/8", true},
      {"fe00::1", "fd00::/8", false},          {"10.1.2.3", "::/0", false},
  };
  for (const auto& c : cases) EXPECT_EQ(is_in_cidr(c.address, c.cidr), c.is_in) << c.address << " " << c.cidr;
}

TEST(HostRanges, AreChecked) {
  for (const char* good : {"10.0.0.0/8", "0.0.0.0/0", "::1/128"}) EXPECT_TRUE(check_cidr(good).ok()) << good;
  for (const char* bad : {"", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/-1", "10.0.0.0/x", "eth0/8"})
    EXPECT_FALSE(check_cidr(bad).ok()) << bad;
  for (const char* good : {"", "22", "22,80", " 22 , 8500-8600 ", "1-65535"})
    EXPECT_TRUE(check_ports(good).ok()) << good;
  for (const char* bad : {"0", "65536", "22,,80", "80-22", "http", "22-", "-22", "22;80"})
    EXPECT_FALSE(check_ports(bad).ok()) << bad;
}

// "lo: default 127.0.0.1 | eth0: public 1.2.3.4 [22]"
std::string text_of(const std::vector<v1::NodeNetwork>& networks) {
  std::string text;
  for (const v1::NodeNetwork& network : networks) {
    text += (text.empty() ? "" : " | ") + network.device() + ":";
    for (const v1::NodeAddress& address : network.addresses()) {
      text += " " + address.alias() + " " + address.family() + " " + address.address();
      if (!address.reserved_ports().empty()) text += " [" + address.reserved_ports() + "]";
    }
  }
  return text;
}

TEST(HostNetworks, AreTheAddressesThatTheirBlocksSay) {
  const std::vector<InterfaceAddress> found = {
      {"lo", "127.0.0.1"}, {"eth0", "10.0.0.5"}, {"eth1", "192.168.1.5"}, {"eth1", "fd00::5"}};
  const InterfaceAddress chosen = found[1];
  const struct {
    const char* name;
    std::vector<HostNetwork> configured;
    const char* networks;
  } cases[] = {
      {"none", {}, "eth0: default ipv4 10.0.0.5"},
      {"by range",
       {{"private", "192.168.0.0/16", "", "22,80"}},
       "eth0: default ipv4 10.0.0.5 | eth1: private ipv4 192.168.1.5 [22,80]"},
      {"by interface",
       {{"second", "", "eth1", ""}},
       "eth0: default ipv4 10.0.0.5 | eth1: second ipv4 192.168.1.5 second ipv6 fd00::5"},
      {"by both", {{"six", "fd00::/8", "eth1", ""}}, "eth0: default ipv4 10.0.0.5 | eth1: six ipv6 fd00::5"},
      {"an address of two networks",
       {{"a", "10.0.0.0/8", "", ""}, {"b", "", "eth0", ""}},
       "eth0: default ipv4 10.0.0.5 a ipv4 10.0.0.5 b ipv4 10.0.0.5"},
      {"another default", {{"default", "127.0.0.0/8", "", ""}}, "lo: default ipv4 127.0.0.1"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto networks = host_networks(c.configured, found, chosen);
    ASSERT_TRUE(networks.ok()) << networks.status().message();
    EXPECT_EQ(text_of(*networks), c.networks);
  }
}

TEST(HostNetworks, ThatAreNotThereAreNamed) {
  const std::vector<InterfaceAddress> found = {{"lo", "127.0.0.1"}};
  EXPECT_EQ(host_networks({{"far", "10.0.0.0/8", "", ""}}, found, found[0]).status().message(),
            "client.host_network \"far\": no interface of this machine has an address in 10.0.0.0/8");
  EXPECT_EQ(host_networks({{"far", "10.0.0.0/8", "lo", ""}}, found, found[0]).status().message(),
            "client.host_network \"far\": interface \"lo\" has no address in 10.0.0.0/8");
  EXPECT_EQ(host_networks({{"far", "", "eth9", ""}}, found, found[0]).status().message(),
            "client.host_network \"far\": interface \"eth9\" has no address");
}

}  // namespace
}  // namespace drover::agent
