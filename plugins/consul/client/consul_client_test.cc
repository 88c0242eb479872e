#include "client/consul_client.h"

#include <gtest/gtest.h>

#include <thread>

#include "testing/fake_consul.h"

namespace drover::consul {
namespace {

using namespace std::chrono_literals;

TEST(ConsulClient, ReadsTheAgent) {
  const testing::FakeConsul consul;
  const ConsulClient client({.origin = consul.url()});
  const auto self = client.self({});
  ASSERT_TRUE(self.ok()) << self.status().message();
  EXPECT_EQ(self->name, "machine");
  EXPECT_EQ(self->datacenter, "dc1");
  EXPECT_EQ(self->version, "1.15.0");
  EXPECT_TRUE(self->is_server);
  EXPECT_TRUE(self->has_connect);
  EXPECT_FALSE(self->is_enterprise);
  EXPECT_EQ(self->grpc_port, 8502);
}

TEST(ConsulClient, SaysWhatWentWrong) {
  testing::FakeConsul consul;
  const ConsulClient client({.origin = consul.url()});
  EXPECT_EQ(client.deregister_service("x", {}).code(), Code::not_found);
  EXPECT_EQ(client.register_service("{}", {}).message(), "Unexpected response code: 400 (Missing service name)");
  consul.control(R"({"trouble":{"GET /v1/agent/self":"500"}})");
  EXPECT_EQ(client.self({}).status().code(), Code::unavailable);
  consul.control(R"({"trouble":{"GET /v1/agent/self":"403"}})");
  EXPECT_EQ(client.self({}).status().code(), Code::permission_denied);
  const ConsulClient nobody({.origin = "http://127.0.0.1:1"});
  EXPECT_EQ(nobody.self({}).status().code(), Code::unavailable);
}

TEST(ConsulClient, WaitsForAChange) {
  const testing::FakeConsul consul;
  const ConsulClient client({.origin = consul.url()});
  ASSERT_TRUE(consul.call("PUT", "/v1/kv/a%20b", "one").ok());
  const auto first = client.watch("/v1/kv/a%20b?raw", 0, "", {});
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first->body, "one");
  Result<Watched> second = unavailable("not asked");
  std::jthread waiting([&] { second = client.watch("/v1/kv/a%20b?raw", first->index, "", {}); });
  ASSERT_TRUE(consul.call("PUT", "/v1/kv/a%20b", "two").ok());
  waiting.join();
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(second->body, "two");
  EXPECT_GT(second->index, first->index);
}

TEST(ConsulClient, ComesBackWhenItIsToldToStop) {
  const testing::FakeConsul consul;
  const ConsulClient client({.origin = consul.url()});
  std::stop_source stop;
  Result<Watched> answer = unavailable("not asked");
  std::jthread waiting([&] { answer = client.watch("/v1/catalog/services", 1'000'000, "", stop.get_token()); });
  stop.request_stop();
  waiting.join();
  EXPECT_EQ(answer.status().code(), Code::cancelled);
}

}  // namespace
}  // namespace drover::consul
