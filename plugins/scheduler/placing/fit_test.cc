#include "fit.h"

#include <gtest/gtest.h>

#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::make_job;
using testing::make_node;

v1::TaskGroup group_with_ports(std::initializer_list<int> fixed, int dynamic) {
  v1::TaskGroup group = make_job().task_groups(0);
  v1::NetworkResource& network = *group.add_networks();
  network.set_mode("host");
  for (const int port : fixed) {
    v1::Port& one = *network.add_reserved_ports();
    one.set_label("p" + std::to_string(port));
    one.set_value(port);
  }
  for (int i = 0; i < dynamic; ++i) network.add_dynamic_ports()->set_label("d" + std::to_string(i));
  return group;
}

TEST(Fit, NamesTheDimensionThatIsExhausted) {
  struct Case {
    Amount ask;
    const char* dimension;
  };
  v1::Node node = make_node("n1", 1000, 1024);
  node.mutable_reserved_resources()->mutable_cpu()->set_cpu_shares(100);
  const NodeRoom room(node);
  const Case cases[] = {
      {{900, 1024, 100000}, ""}, {{901, 10, 10}, "cpu"}, {{900, 1025, 10}, "memory"}, {{900, 1024, 100001}, "disk"}};
  for (const Case& c : cases) EXPECT_EQ(room.exhausted(c.ask), c.dimension);
}

TEST(Fit, SecretsLieInMemory) {
  v1::TaskGroup group = make_job().task_groups(0);
  const int64_t before = amount_of(group).memory_mb;
  group.mutable_tasks(0)->mutable_resources()->set_secrets_mb(8);
  EXPECT_EQ(before + 8, amount_of(group).memory_mb);
  const v1::Node node = make_node("n1");
  const auto granted = NodeRoom(node).grant(group, node, false, "seed");
  EXPECT_EQ(before + 8, amount_of(granted).memory_mb);
}

TEST(Fit, ReadsPortLists) {
  EXPECT_EQ(parse_ports("22,80, 8000-8002"), (std::set<int32_t>{22, 80, 8000, 8001, 8002}));
  EXPECT_EQ(parse_ports("x,70000,-1"), std::set<int32_t>{});
}

TEST(Fit, GrantsPortsOnceAndRepeatably) {
  v1::Node node = make_node("n1");
  node.mutable_reserved_resources()->mutable_networks()->set_reserved_host_ports("22");
  node.mutable_node_resources()->set_min_dynamic_port(20000);
  node.mutable_node_resources()->set_max_dynamic_port(20001);
  NodeRoom room(node);

  EXPECT_EQ(room.ports_exhausted(group_with_ports({22}, 0), node), "network: reserved port collision p22=22");
  EXPECT_EQ(room.ports_exhausted(group_with_ports({}, 3), node), "network: dynamic port selection failed");
  const v1::TaskGroup group = group_with_ports({8080}, 1);
  ASSERT_EQ(room.ports_exhausted(group, node), "");
  const auto granted = room.grant(group, node, false, "seed");

  ASSERT_EQ(granted.shared().ports_size(), 2);
  EXPECT_EQ(granted.shared().ports(0).value(), 8080);
  EXPECT_EQ(granted.shared().ports(0).host_ip(), "10.0.0.1");
  EXPECT_EQ(room.grant(group, node, false, "seed").shared().ports(1).value(), granted.shared().ports(1).value());
  EXPECT_EQ(granted.tasks().at("main").cpu().cpu_shares(), 500);

  room.add(usage_of(granted));
  EXPECT_EQ(room.ports_exhausted(group, node), "network: reserved port collision p8080=8080");
  const auto second = room.grant(group_with_ports({}, 1), node, false, "seed");
  EXPECT_NE(second.shared().ports(0).value(), granted.shared().ports(1).value());
  room.add(usage_of(second));
  EXPECT_EQ(room.overcommitted(), "");
  room.add(usage_of(second));
  EXPECT_EQ(room.overcommitted().substr(0, 29), "reserved alloc port collision");
  room.remove(usage_of(second));
  EXPECT_EQ(room.overcommitted(), "");
}

TEST(Fit, ScoresFullNodesHigher) {
  const NodeRoom room(make_node("n1", 1000, 1000));
  EXPECT_DOUBLE_EQ(room.binpack({0, 0, 0}), 0);
  EXPECT_DOUBLE_EQ(room.binpack({1000, 1000, 0}), 18);
  EXPECT_NEAR(room.binpack({500, 500, 0}), 13.675445, 1e-6);
}

}  // namespace
}  // namespace drover::scheduler
