#include "node/consul_fingerprint.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "drover/v1/node.pb.h"
#include "testing/fake_consul.h"

namespace drover::consul {
namespace {

using namespace std::chrono_literals;

TEST(DescribeConsul, WritesAndTakesOut) {
  v1::Node node;
  (*node.mutable_attributes())["kernel.name"] = "linux";
  AgentSelf self{.name = "m", .datacenter = "dc1", .version = "1.15.0+ent", .is_enterprise = true, .grpc_port = -1};
  EXPECT_TRUE(describe_consul(self, node));
  EXPECT_EQ(node.attributes().at("consul.version"), "1.15.0");
  EXPECT_EQ(node.attributes().at("consul.sku"), "ent");
  EXPECT_EQ(node.attributes().at("consul.server"), "false");
  EXPECT_EQ(node.attributes().at("consul.grpc"), "-1");
  EXPECT_EQ(node.attributes().at("unique.consul.name"), "m");
  EXPECT_EQ(node.links().at("consul"), "dc1.m");
  EXPECT_FALSE(node.attributes().contains("consul.segment"));
  EXPECT_FALSE(describe_consul(self, node));
  self.version = "1.16.0";
  EXPECT_TRUE(describe_consul(self, node));
  EXPECT_TRUE(describe_consul(std::nullopt, node));
  EXPECT_EQ(node.attributes_size(), 1);
  EXPECT_FALSE(describe_consul(std::nullopt, node));
}

TEST(ConsulFingerprint, DescribesTheConsulThatIsThere) {
  const testing::FakeConsul consul;
  const ConsulClient client({.origin = consul.url()});
  ConsulFingerprint fingerprint;
  fingerprint.start(client);
  v1::Node node;
  ASSERT_TRUE(fingerprint.describe(node).ok());
  EXPECT_EQ(node.attributes().at("consul.version"), "1.15.0");
  EXPECT_EQ(node.attributes().at("consul.sku"), "oss");
  fingerprint.stop();
}

TEST(ConsulFingerprint, OneThatComesLaterIsTold) {
  testing::FakeConsul consul;
  consul.control(R"({"trouble":{"GET /v1/agent/self":"500"}})");
  const ConsulClient client({.origin = consul.url()});
  std::mutex mutex;
  std::condition_variable changed;
  bool is_told = false;
  ConsulFingerprint fingerprint;
  fingerprint.watch([&] {
    const std::lock_guard lock(mutex);
    is_told = true;
    changed.notify_all();
  });
  fingerprint.start(client);
  v1::Node node;
  EXPECT_FALSE(fingerprint.refresh(node)) << "nothing is known";
  consul.control(R"({"trouble":{}})");
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, 60s, [&] { return is_told; }));
  }
  EXPECT_TRUE(fingerprint.refresh(node));
  fingerprint.watch({});
  fingerprint.stop();
}

}  // namespace
}  // namespace drover::consul
