#include "node/own_services.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drover/pause.h"
#include "drover/plugin.h"
#include "testing/fake_consul.h"

namespace drover::consul {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

AgentInfo agent() {
  AgentInfo out;
  out.server = out.client = true;
  out.http_address = "0.0.0.0:4646";
  out.advertise_http = "10.0.0.1:4646";
  out.advertise_rpc = "10.0.0.1:4647";
  out.serf_address = "[::]:4648";
  out.advertise_serf = "[2001:db8::1]:4648";
  return out;
}

Config config() {
  return {.server_http_check = "Nomad Server HTTP Check",
          .server_serf_check = "Nomad Server Serf Check",
          .server_rpc_check = "Nomad Server RPC Check",
          .client_http_check = "Nomad Client HTTP Check",
          .tags = {"blue"}};
}

// "name tags address:port check" of each.
std::vector<std::string> shown(const std::vector<WantedService>& services) {
  std::vector<std::string> out;
  for (const WantedService& each : services) {
    std::string line = each.service.name;
    for (const std::string& tag : each.service.tags) line += " " + tag;
    line += " " + each.service.address + "," + std::to_string(each.service.port);
    for (const auto& [id, check] : each.checks) {
      const Json json = Json::parse(check.body);
      line += " [" + json["Name"].get<std::string>() + " " + json.value("HTTP", "") + json.value("TCP", "") + "]";
    }
    out.push_back(std::move(line));
  }
  return out;
}

TEST(OwnServices, AreOneForEachDoor) {
  EXPECT_EQ(shown(own_services(agent(), {}, config())),
            (std::vector<std::string>{
                "nomad http blue 10.0.0.1,4646 [Nomad Server HTTP Check "
                "http://127.0.0.1:4646/v1/agent/health?type=server]",
                "nomad rpc blue 10.0.0.1,4647 [Nomad Server RPC Check 10.0.0.1:4647]",
                "nomad serf blue 2001:db8::1,4648 [Nomad Server Serf Check [::1]:4648]",
                "nomad-client http blue 10.0.0.1,4646 [Nomad Client HTTP Check "
                "http://127.0.0.1:4646/v1/agent/health?type=client]"}));
}

TEST(OwnServices, AreCheckedAsTheApiIsReached) {
  AgentInfo client = agent();
  client.server = false;
  Config advertised = config();
  advertised.checks_use_advertise = true;
  EXPECT_EQ(shown(own_services(client, {.has_tls = true}, advertised)),
            std::vector<std::string>{"nomad-client http blue 10.0.0.1,4646 [Nomad Client HTTP Check "
                                     "https://10.0.0.1:4646/v1/agent/health?type=client]"});
  EXPECT_EQ(shown(own_services(client, {.has_tls = true, .wants_certificates = true}, config())),
            std::vector<std::string>{"nomad-client http blue 10.0.0.1,4646"})
      << "Consul has no certificate to show";
}

TEST(OwnServices, StandThereUntilTheStop) {
  testing::FakeConsul consul;
  const ConsulClient client({.origin = consul.url()});
  const auto names = [&] {
    std::string out;
    const Json all = Json::parse(*consul.call("GET", "/v1/agent/services"));
    for (const auto& [id, row] : all.items())
      out += row["Service"].get<std::string>() + " ";
    return out;
  };
  OwnServices own;
  own.start(client, own_services(agent(), {}, config()));
  const SteadyTime end = SystemClock().steady() + 30s;
  while (names() != "nomad-client nomad nomad nomad " && SystemClock().steady() < end) pause_for(20ms, {});
  EXPECT_EQ(names(), "nomad-client nomad nomad nomad ");
  ASSERT_TRUE(consul.call("PUT", "/v1/agent/service/register", R"({"Name":"db"})").ok());
  own.stop();
  EXPECT_EQ(names(), "db ");
}

}  // namespace
}  // namespace drover::consul
