#include "services/consul_provider.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "drover/v1/service_provider.pb.h"
#include "sdk/testing/fake_host.h"
#include "testing/fake_consul.h"

namespace drover::consul {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

class ConsulProviderTest : public ::testing::Test {
 protected:
  ConsulProviderTest() { 
    provider_.start(client_, clock_, metrics_, [this](const std::set<std::string>& namespaces) {
      ++published_;
      namespaces_ = namespaces;
    });
   }

  v1::SyncServicesRequest request(std::initializer_list<const char*> names) {
    v1::SyncServicesRequest out;
    out.set_node_id("n1");
    for (const char* name : names) {
      v1::ServiceInstance& instance = *out.add_instances();
      instance.set_id(std::string("_nomad-task-") + name);
      instance.set_service(name);
      instance.set_port(80);
      v1::InstanceCheck& check = *instance.add_checks();
      check.set_id(name);
      check.set_name("alive");
      check.set_type("tcp");
    }
    return out;
  }
  Status sync(std::initializer_list<const char*> names) {
    const auto answer = provider_.sync(request(names), {});
    if (answer) last_ = *answer;
    return answer.status();
  }
  // The identifiers of all services. `query`: with a namespace or not.
  std::string services(const std::string& query = "") {
    std::string out;
    const Json all = Json::parse(*consul_.call("GET", "/v1/agent/services" + query));
    for (const auto& [id, row] : all.items()) out += id + " ";
    return out;
  }
  int writes() {
    int count = 0;
    for (const std::string& call : consul_.calls()) count += call.starts_with("PUT") ? 1 : 0;
    return count;
  }

  testing::FakeConsul consul_;
  SystemClock clock_;
  const ConsulClient client_{{.origin = consul_.url()}};
  Metrics metrics_;
  ConsulProvider provider_;
  std::set<std::string> namespaces_;
  v1::SyncServicesResponse last_;
  int published_ = 0;
};

TEST_F(ConsulProviderTest, PublishesAndTakesOut) {
  ASSERT_TRUE(sync({"a", "b"}).ok());
  EXPECT_EQ(services(), "_nomad-task-a _nomad-task-b ");
  consul_.clear_calls();
  ASSERT_TRUE(sync({"a", "b"}).ok());
  EXPECT_EQ(writes(), 0) << "the same again changes nothing";
  ASSERT_TRUE(sync({"b"}).ok());
  EXPECT_EQ(services(), "_nomad-task-b ");
  EXPECT_EQ(published_, 3);
}

TEST_F(ConsulProviderTest, PutsBackWhatOthersChangedAndWhatConsulLost) {
  ASSERT_TRUE(sync({"a"}).ok());
  consul_.control(R"({"edit":"_nomad-task-a","tags":["by hand"]})");
  ASSERT_TRUE(sync({"a"}).ok());
  EXPECT_EQ(Json::parse(*consul_.call("GET", "/v1/agent/services"))["_nomad-task-a"]["Tags"], Json::array());
  consul_.control(R"({"lose":true})");
  ASSERT_TRUE(sync({"a"}).ok());
  EXPECT_EQ(services(), "_nomad-task-a ");
  EXPECT_TRUE(Json::parse(*consul_.call("GET", "/v1/agent/checks")).contains("_nomad-check-a"));
}

TEST_F(ConsulProviderTest, KeepsEachNamespaceByItself) {
  consul_.control(R"({"namespaces":["team"]})");
  v1::SyncServicesRequest wanted = request({"a", "b", "c"});
  wanted.mutable_instances(1)->set_registry_namespace("team");
  wanted.mutable_instances(2)->set_registry_namespace("default");
  ASSERT_TRUE(provider_.sync(wanted, {}).ok());
  EXPECT_EQ(services(), "_nomad-task-a _nomad-task-c ");
  EXPECT_EQ(services("?ns=team"), "_nomad-task-b ");
  EXPECT_EQ(namespaces_, (std::set<std::string>{"", "team"}));
  consul_.clear_calls();
  ASSERT_TRUE(provider_.sync(wanted, {}).ok());
  EXPECT_EQ(writes(), 0) << "the same again changes nothing";
  wanted.mutable_instances(1)->clear_registry_namespace();
  ASSERT_TRUE(provider_.sync(wanted, {}).ok());
  EXPECT_EQ(services(), "_nomad-task-a _nomad-task-b _nomad-task-c ");
  EXPECT_EQ(services("?ns=team"), "");
  // Another life of the agent, which wants nothing there: what it finds of its own goes when it is old enough.
  wanted.mutable_instances(1)->set_registry_namespace("team");
  ASSERT_TRUE(provider_.sync(wanted, {}).ok());
  drover::testing::ForwardClock clock;
  ConsulProvider next;
  next.start(client_, clock, metrics_, [](const auto&) {});
  ASSERT_TRUE(next.sync(request({}), {}).ok());
  EXPECT_EQ(services("?ns=team"), "_nomad-task-b ");
  clock.advance(ConsulProvider::kYoung + 1s);
  ASSERT_TRUE(next.sync(request({}), {}).ok());
  EXPECT_EQ(services("?ns=team"), "");
}

TEST_F(ConsulProviderTest, AConsulWithoutNamespacesSaysSoOfThoseInstancesAlone) {
  v1::SyncServicesRequest wanted = request({"a", "b"});
  wanted.mutable_instances(1)->set_registry_namespace("team");
  const auto answer = provider_.sync(wanted, {});
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->failures_size(), 1);
  EXPECT_EQ(answer->failures(0).id(), "_nomad-task-b");
  EXPECT_EQ(answer->failures(0).reason(),
            "Consul's namespace \"team\": Unexpected response code: 400 (Invalid query parameter: \"ns\" - Namespaces "
            "are a Consul Enterprise feature)");
  EXPECT_EQ(services(), "_nomad-task-a ");
}

TEST_F(ConsulProviderTest, CountsWhatItDoes) {
  ASSERT_TRUE(sync({"a", "b"}).ok());
  ASSERT_TRUE(sync({"b"}).ok());
  consul_.control(R"({"trouble":{"GET /v1/agent/services":"500"}})");
  EXPECT_FALSE(sync({"b"}).ok());
  std::map<std::string, double> values;
  for (const Metrics::Value& each : metrics_.values()) values[each.name] = each.value;
  EXPECT_EQ(values, (std::map<std::string, double>{{"nomad.client.consul.services", 1},
                                                   {"nomad.client.consul.checks", 1},
                                                   {"nomad.client.consul.service_registrations", 2},
                                                   {"nomad.client.consul.service_deregistrations", 1},
                                                   {"nomad.client.consul.sync_failure", 1}}));
}

TEST_F(ConsulProviderTest, LeavesForeignServicesAlone) {
  const std::string foreign = R"({"ID":"_nomad-task-x","Name":"x"})", plain = R"({"Name":"db"})";
  ASSERT_TRUE(consul_.call("PUT", "/v1/agent/service/register", foreign).ok());
  ASSERT_TRUE(consul_.call("PUT", "/v1/agent/service/register", plain).ok());
  ASSERT_TRUE(sync({"a"}).ok());
  ASSERT_TRUE(sync({}).ok());
  EXPECT_EQ(services(), "_nomad-task-x db ");
}

TEST_F(ConsulProviderTest, ATroubleInTheMiddleIsTriedAgain) {
  ASSERT_TRUE(sync({"a"}).ok());
  consul_.control(R"({"trouble":{"PUT /v1/agent/service/register":"500"}})");
  EXPECT_EQ(sync({"b"}).code(), Code::unavailable);
  EXPECT_EQ(services(), "") << "what can be done is done";
  consul_.control(R"({"trouble":{}})");
  ASSERT_TRUE(sync({"b"}).ok());
  EXPECT_EQ(services(), "_nomad-task-b ");
  consul_.control(R"({"trouble":{"PUT /v1/agent/service/deregister":"500"}})");
  EXPECT_EQ(sync({}).code(), Code::unavailable);
  consul_.control(R"({"trouble":{}})");
  ASSERT_TRUE(sync({}).ok());
  EXPECT_EQ(services(), "") << "it is taken out on purpose, however young the agent is";
}

TEST_F(ConsulProviderTest, WhatConsulRefusesIsSaidOfItsInstance) {
  consul_.control(R"({"trouble":{"PUT /v1/agent/service/register":"403"}})");
  ASSERT_TRUE(sync({"a"}).ok());
  ASSERT_EQ(last_.failures_size(), 1);
  EXPECT_EQ(last_.failures(0).id(), "_nomad-task-a");
  EXPECT_EQ(last_.failures(0).reason(), "Unexpected response code: 403 (Permission denied)");
}

TEST_F(ConsulProviderTest, ASilentConsulIsGivenUp) {
  consul_.control(R"({"trouble":{"GET /v1/agent/services":"silence"}})");
  const ConsulClient impatient({.origin = consul_.url(), .timeout = 200ms});
  ConsulProvider provider;
  provider.start(impatient, clock_, metrics_, [](const auto&) {});
  EXPECT_EQ(provider.sync(request({"a"}), {}).status().code(), Code::unavailable);
}

TEST(ConsulProvider, WithoutABlockPublishesNothingAndSaysSo) {
  ConsulProvider provider;
  v1::SyncServicesRequest request;
  EXPECT_TRUE(provider.sync(request, {}).ok());
  request.add_instances()->set_id("a");
  const auto answer = provider.sync(request, {});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->failures(0).reason(), "the agent's configuration has no block \"consul\"");
}

}  // namespace
}  // namespace drover::consul
