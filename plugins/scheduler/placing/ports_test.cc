#include "ports.h"

#include <gtest/gtest.h>

#include "fit.h"
#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::make_job;
using testing::make_node;

// Two addresses of the host: 10.0.0.1 is "default", 192.168.0.1 "public", which reserves 443.
v1::Node node_with_networks() {
  v1::Node node = make_node("n1");
  node.mutable_reserved_resources()->mutable_networks()->set_reserved_host_ports("22");
  (*node.mutable_meta())["net"] = "public";
  v1::NodeNetwork& network = *node.mutable_node_resources()->add_node_networks();
  network.set_mode("host");
  network.set_device("eth1");
  v1::NodeAddress& address = *network.add_addresses();
  address.set_alias("public");
  address.set_address("192.168.0.1");
  address.set_reserved_ports("443");
  v1::NodeAddress& usual = *network.add_addresses();
  usual.set_alias("default");
  usual.set_address("10.0.0.1");
  return node;
}

struct Ask {
  const char* label;
  int32_t value = 0;  // 0: dynamic
  const char* network = "";
  int32_t to = 0;
};
v1::TaskGroup group_with(const std::vector<Ask>& asks) {
  v1::TaskGroup group = make_job().task_groups(0);
  v1::NetworkResource& network = *group.add_networks();
  network.set_mode("host");
  for (const Ask& ask : asks) {
    v1::Port& port = ask.value ? *network.add_reserved_ports() : *network.add_dynamic_ports();
    port.set_label(ask.label);
    port.set_value(ask.value);
    port.set_to(ask.to);
    port.set_host_network(ask.network);
  }
  return group;
}

Usage holding(const char* ip, int32_t port) {
  Usage usage;
  usage.ports.push_back({ip, port});
  return usage;
}

TEST(Ports, SayWhyTheyFindNoPlace) {
  struct Case {
    const char* name;
    std::vector<Ask> asks;
    std::string reason;
  };
  const Case cases[] = {
      {"K7 taken by an allocation", {{"x", 80}}, "network: reserved port collision x=80"},
      {"K9 the same port of another address", {{"x", 80, "public"}}, ""},
      {"reserved on every address", {{"ssh", 22, "public"}}, "network: reserved port collision ssh=22"},
      {"reserved on this address", {{"tls", 443, "public"}}, "network: reserved port collision tls=443"},
      {"reserved on another address", {{"tls", 443}}, ""},
      {"named by a node's value", {{"tls", 443, "${meta.net}"}}, "network: reserved port collision tls=443"},
      {"asked for twice", {{"a", 81}, {"b", 81}}, "network: reserved port collision b=81"},
      {"no such network", {{"x", 80, "private"}}, "network: no addresses available for private network"},
      {"a dynamic one of no such network",
       {{"x", 0, "private"}},
       "network: no addresses available for private network"},
      {"out of range", {{"x", 70000}}, "network: invalid port 70000 (out of range)"},
      {"K10 more dynamic ones than there are", {{"a"}, {"b"}, {"c"}}, "network: dynamic port selection failed"},
      {"as many dynamic ones as there are", {{"a"}, {"b"}}, ""},
      {"one of them taken by the group itself", {{"s", 20000}, {"a"}, {"b"}}, "network: dynamic port selection failed"},
      {"one of another address", {{"a"}, {"b"}, {"c", 0, "public"}}, ""},
  };
  v1::Node node = node_with_networks();
  node.mutable_node_resources()->set_min_dynamic_port(20000);
  node.mutable_node_resources()->set_max_dynamic_port(20001);
  NodeRoom room(node);
  room.add(holding("10.0.0.1", 80));
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const v1::TaskGroup group = group_with(c.asks);
    EXPECT_EQ(room.ports_exhausted(group, node), c.reason);
    if (!c.reason.empty()) continue;
    NodeRoom after = room;
    after.add(usage_of(room.grant(group, node, false, "seed")));
    EXPECT_EQ(after.overcommitted(), "");
  }
}

TEST(Ports, AreBoundToTheAddressOfTheirNetwork) {
  const v1::Node node = node_with_networks();
  const auto granted = NodeRoom(node).grant(
      group_with({{"fixed", 8080, "public"}, {"plain", 0, "", -1}, {"open", 0, "${meta.net}", 9000}}), node, false,
      "s");
  ASSERT_EQ(granted.shared().ports_size(), 3);
  EXPECT_EQ(granted.shared().ports(0).host_ip(), "192.168.0.1");
  EXPECT_EQ(granted.shared().ports(1).host_ip(), "10.0.0.1");
  EXPECT_EQ(granted.shared().ports(1).to(), granted.shared().ports(1).value());
  EXPECT_EQ(granted.shared().ports(2).host_ip(), "192.168.0.1");
  EXPECT_EQ(granted.shared().ports(2).to(), 9000);
  EXPECT_EQ(granted.shared().networks(0).ip(), "192.168.0.1");
  EXPECT_EQ(granted.shared().networks(0).device(), "eth1");
}

TEST(Ports, AnAddressThatTheNodeHasLostHoldsNothing) {
  const v1::Node node = node_with_networks();
  NodeRoom room(node);
  room.add(holding("172.16.0.1", 80));
  EXPECT_EQ(room.ports_exhausted(group_with({{"x", 80}}), node), "");
  room.remove(holding("172.16.0.1", 80));
  EXPECT_EQ(room, NodeRoom(node));
}

}  // namespace
}  // namespace drover::scheduler
