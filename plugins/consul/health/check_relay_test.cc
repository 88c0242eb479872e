#include "health/check_relay.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "drover/check_provider.h"
#include "drover/pause.h"
#include "drover/v1/check_provider.pb.h"
#include "testing/fake_consul.h"

namespace drover::consul {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

TEST(ResultOf, IsWhatConsulSays) {
  EXPECT_EQ(result_of({.status = "passing", .output = ""})->status(), v1::CheckResult::PASSING);
  EXPECT_EQ(result_of({.status = "warning", .output = "x"})->status(), v1::CheckResult::WARNING);
  EXPECT_EQ(result_of({.status = "critical", .output = "x"})->status(), v1::CheckResult::CRITICAL);
  EXPECT_EQ(result_of({.status = "critical", .output = ""}).status().code(), Code::failed_precondition)
      << "it has not run yet";
}

class CheckRelayTest : public ::testing::Test {
 protected:
  CheckRelayTest() { relay_.start(client_, clock_); }
  ~CheckRelayTest() override { relay_.stop(); }

  void add_check(const std::string& id, const std::string& more) {
    ASSERT_TRUE(consul_.call("PUT", "/v1/agent/check/register",
                             R"({"ID":"_nomad-check-)" + id + R"(","Name":")" + id + "\"," + more + "}")
                    .ok());
  }
  bool eventually(const std::function<bool()>& holds) {
    const SteadyTime end = clock_.steady() + 30s;
    while (!holds()) {
      if (clock_.steady() > end) return false;
      pause_for(20ms, {});
    }
    return true;
  }
  Code code(const std::string& id) { return relay_.result(id).status().code(); }
  std::string status_of(const std::string& id) {
    const Json all = Json::parse(*consul_.call("GET", "/v1/agent/checks"));
    return all["_nomad-check-" + id]["Status"].get<std::string>() + " " +
           all["_nomad-check-" + id]["Output"].get<std::string>();
  }

  testing::FakeConsul consul_;
  SystemClock clock_;
  const ConsulClient client_{{.origin = consul_.url()}};
  CheckRelay relay_;
};

TEST_F(CheckRelayTest, SaysWhatConsulSays) {
  add_check("a", R"("TCP":"127.0.0.1:1")");
  EXPECT_TRUE(eventually([&] { return code("a") == Code::failed_precondition; }));
  EXPECT_EQ(code("b"), Code::not_found);
  consul_.control(R"({"check":"a","status":"critical","output":"refused"})");
  EXPECT_TRUE(eventually([&] {
    const auto result = relay_.result("a");
    return result.ok() && result->status() == v1::CheckResult::CRITICAL && result->output() == "refused";
  }));
  consul_.control(R"({"lose":true})");
  EXPECT_TRUE(eventually([&] { return code("a") == Code::not_found; }));
}

TEST_F(CheckRelayTest, TellsResultsOnceConsulHasTheCheck) {
  relay_.tell("a", check::warning("first"));
  relay_.tell("a", check::passing("fine"));
  add_check("a", R"("TTL":"30s")");
  EXPECT_TRUE(eventually([&] { return status_of("a") == "passing fine"; }));
  consul_.control(R"({"trouble":{"PUT /v1/agent/check/update":"500"}})");
  relay_.tell("a", check::critical("broken"));
  consul_.control(R"({"trouble":{}})");
  EXPECT_TRUE(eventually([&] { return status_of("a") == "critical broken"; }));
}

TEST_F(CheckRelayTest, LooksAndTellsInEachNamespace) {
  consul_.control(R"({"namespaces":["team"]})");
  ASSERT_TRUE(consul_.call("PUT", "/v1/agent/check/register?ns=team",
                           R"({"ID":"_nomad-check-a","Name":"a","TTL":"30s"})").ok());
  relay_.look_soon({"", "team"});
  relay_.tell("a", check::passing("fine"));
  EXPECT_TRUE(eventually([&] {
    const auto result = relay_.result("a");
    return result.ok() && result->output() == "fine";
  }));
}

TEST_F(CheckRelayTest, AsksNothingWhileNobodyAsks) {
  pause_for(50ms, {});
  EXPECT_TRUE(consul_.calls().empty());
}

TEST(CheckRelay, WithoutConsulKnowsNothing) {
  testing::FakeConsul consul;
  SystemClock clock;
  const ConsulClient client({.origin = "http://127.0.0.1:1"});
  CheckRelay relay;
  EXPECT_EQ(relay.result("a").status().code(), Code::unavailable);
  relay.tell("a", check::passing("x"));
  relay.start(client, clock);
  EXPECT_EQ(relay.result("a").status().code(), Code::unavailable);
  relay.stop();
}

}  // namespace
}  // namespace drover::consul
