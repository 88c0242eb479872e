// The pure parts: leases, options, mapped ports, the rules of the packet filter.
#include <gtest/gtest.h>

#include "attachment.h"
#include "config.h"
#include "drover/v1/allocation.pb.h"
#include "fingerprint.h"
#include "native/leases.h"
#include "native/rules.h"

namespace drover::networks {
namespace {

TEST(FreeNumber, IsTheNextOne) {
  EXPECT_EQ(2U, *free_number({}, 1, 6));
  EXPECT_EQ(5U, *free_number({2, 3, 4}, 2, 6));
  EXPECT_EQ(2U, *free_number({6}, 6, 6));  // the first one is the bridge's
  EXPECT_EQ(4U, *free_number({2, 3, 5, 6}, 4, 6));
  EXPECT_EQ(resource_exhausted("all 4 addresses of the bridge's subnet are in use"),
            free_number({2, 3, 4}, 4, 4).status());
}

Result<Config> configured(const std::string& text) {
  DROVER_TRY(const ConfigBlock block, parse_config("test.hcl", text));
  DROVER_TRY(const ConfigBlock checked, apply_schema(block, {.options = client_options()}));
  return read_config(&checked);
}

TEST(NetworkConfig, SaysWhatIsWrong) {
  EXPECT_EQ((std::vector<std::string>{"/a", "/b"}), configured("cni_path = \"/a::/b\"")->cni_folders);
  EXPECT_EQ("172.26.64.0/20", to_string(configured("")->subnet));
  const std::pair<const char*, const char*> cases[] = {
      {"bridge_network_name = \"a/b\"",
       "client.bridge_network_name: \"a/b\" is no name of an interface: at most 15 letters, digits, - and _"},
      {"bridge_network_name = \"sixteen_letters_\"",
       "client.bridge_network_name: \"sixteen_letters_\" is no name of an interface: at most 15 letters, digits, - and _"},
      {"bridge_network_subnet = \"fd00::/64\"",
       "client.bridge_network_subnet: \"fd00::/64\" is no IPv4 range with room for allocations, such as "
       "172.26.64.0/20"},
      {"bridge_network_subnet = \"10.0.0.0/31\"",
       "client.bridge_network_subnet: \"10.0.0.0/31\" is no IPv4 range with room for allocations, such as "
       "172.26.64.0/20"},
      {"bridge_network_subnet_ipv6 = \"10.0.0.0/8\"",
       "client.bridge_network_subnet_ipv6: \"10.0.0.0/8\" is no IPv6 range with room for allocations, such as "
       "fd00:a110:c8::/112"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(expected, configured(text).status().message()) << text;
}

TEST(MappedPorts, ListenWhereTheHostNetworkIs) {
  v1::Allocation allocation;
  v1::PortMapping& port = *allocation.mutable_allocated_resources()->mutable_shared()->add_ports();
  port.set_value(24000);
  port.set_host_ip("10.0.0.1");
  const auto same = mapped_ports(allocation, true);
  EXPECT_EQ("", same[0].host_ip());
  EXPECT_EQ(24000, same[0].inside());
  port.set_to(80);
  const auto mapped = mapped_ports(allocation, false);
  EXPECT_EQ("10.0.0.1", mapped[0].host_ip());
  EXPECT_EQ(24000, mapped[0].host());
  EXPECT_EQ(80, mapped[0].inside());
}

StoredLease lease(uint32_t number, int host, int inside, const std::string& host_ip = "") {
  StoredLease out;
  out.set_number(number);
  StoredPort& port = *out.add_ports();
  port.set_host(host);
  port.set_inside(inside);
  port.set_host_ip(host_ip);
  return out;
}

TEST(Rules, AreWholeForAllLeases) {
  Config config;
  config.bridge = "my-bridge";
  config.subnet = *parse_subnet("10.9.0.0/24");
  EXPECT_EQ(R"(table inet drover_my_bridge { }
delete table inet drover_my_bridge
table inet drover_my_bridge {
  map some4 {
    type inet_proto . ipv4_addr . inet_service : ipv4_addr . inet_service
    elements = { tcp . 192.0.2.1 . 81 : 10.9.0.3 . 82, udp . 192.0.2.1 . 81 : 10.9.0.3 . 82 }
  }
  map any4 {
    type inet_proto . inet_service : ipv4_addr . inet_service
    elements = { tcp . 8080 : 10.9.0.2 . 80, udp . 8080 : 10.9.0.2 . 80 }
  }
  chain ports {
    meta nfproto ipv4 dnat ip to meta l4proto . ip daddr . th dport map @some4
    meta nfproto ipv4 dnat ip to meta l4proto . th dport map @any4
  }
  chain arriving {
    type nat hook prerouting priority dstnat; policy accept; fib daddr type local jump ports
  }
  chain leaving {
    type nat hook output priority -100; policy accept; fib daddr type local jump ports
  }
  chain masquerading {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr 10.9.0.0/24 ip daddr != 10.9.0.0/24 ip daddr != 224.0.0.0/4 masquerade
    ip saddr 127.0.0.0/8 oifname "my-bridge" masquerade
    ip saddr 10.9.0.0/24 ip daddr 10.9.0.0/24 ct status dnat masquerade
  }
}
)",
            rules_script(config, {lease(2, 8080, 80), lease(3, 81, 82, "192.0.2.1")}));
}

TEST(Rules, MapBothFamilies) {
  Config config;
  config.subnet = *parse_subnet("10.9.0.0/24");
  config.subnet6 = *parse_subnet("fd00:9::/112");
  const std::string script = rules_script(config, {lease(2, 8080, 80), lease(3, 81, 82, "2001:db8::1")});
  const auto has = [&](const std::string& text) { return script.find(text) != std::string::npos; };
  EXPECT_TRUE(has("elements = { tcp . 8080 : fd00:9::2 . 80, udp . 8080 : fd00:9::2 . 80 }")) << script;
  EXPECT_TRUE(has("elements = { tcp . 2001:db8::1 . 81 : fd00:9::3 . 82")) << script;
  EXPECT_FALSE(has("2001:db8::1 . 81 : 10.9")) << script;
  EXPECT_TRUE(has("meta nfproto ipv6 dnat ip6 to meta l4proto . th dport map @any6")) << script;
  EXPECT_TRUE(has("ip6 saddr fd00:9::/112 ip6 daddr != fd00:9::/112 ip6 daddr != ff00::/8 masquerade")) << script;
}

TEST(CheckPorts, FindsAPortThatIsTaken) {
  const Leases leases = {{"a1", lease(2, 80, 80)}, {"a2", lease(3, 81, 80, "10.0.0.1")}};
  const auto check = [&](const std::string& allocation, const StoredLease& wanted) {
    return check_ports(leases, {.allocation = allocation, .mode = {}, .path = {}, .ports = {wanted.ports(0)}}).message();
  };
  EXPECT_EQ("port 80 of this machine is mapped to allocation a1", check("new", lease(9, 80, 1, "10.0.0.9")));
  EXPECT_EQ("port 81 of this machine is mapped to allocation a2", check("new", lease(9, 81, 1)));
  EXPECT_EQ("", check("new", lease(9, 81, 1, "10.0.0.9")));
  EXPECT_EQ("", check("a1", lease(9, 80, 1)));
}

TEST(Admission, IsFoundAgain) {
  Config config;
  const std::string both = R"(table ip filter {
	chain FORWARD {
		type filter hook forward priority filter; policy drop;
		iifname "nomad" counter packets 0 bytes 0 accept
		oifname "nomad" counter packets 10 bytes 600 accept
	}
})";
  EXPECT_TRUE(is_admitted(config, both));
  EXPECT_FALSE(is_admitted(config, both.substr(0, both.find("oifname"))));
  EXPECT_FALSE(is_admitted(config, ""));
  config.bridge = "other";
  EXPECT_FALSE(is_admitted(config, both));
}

TEST(PluginVersion, IsTheLastWordThatIsOne) {
  EXPECT_EQ("1.0.0", plugin_version("CNI bridge plugin version unknown\n"
                                    "CNI protocol versions supported: 0.1.0, 0.2.0, 1.0.0\n"));
  EXPECT_EQ("v1.1.1", plugin_version("CNI bridge plugin v1.1.1"));
  EXPECT_EQ("", plugin_version("usage: it needs a name (see manual.)"));
  EXPECT_EQ("", plugin_version(""));
}

}  // namespace
}  // namespace drover::networks
