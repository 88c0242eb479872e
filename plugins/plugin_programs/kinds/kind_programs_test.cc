// Check providers, service providers and auth methods over real processes, and those processes killed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>

#include "drover/auth_method.h"
#include "drover/check_provider.h"
#include "drover/device_plugin.h"
#include "drover/hclspec.h"
#include "drover/service_provider.h"
#include "testing/running_plugin.h"

#include "drover/v1/auth_method.pb.h"
#include "drover/v1/check_provider.pb.h"
#include "drover/v1/service_provider.pb.h"

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;
using State = Supervision::State;

v1::RunCheckRequest a_run(const char* result, std::chrono::milliseconds timeout = 10s) {
  v1::RunCheckRequest request;
  request.set_type("told");
  request.set_check_id("1");
  request.set_options(hclspec::to_msgpack(hcl::Object{{"result", result}}));
  *request.mutable_timeout() = duration_of(timeout);
  return request;
}

TEST(CheckProgram, SaysItsTypesAndRunsThem) {
  RunningPlugin plugin(DROVER_KINDS_PROGRAM, {"check"});
  CheckProvider& checks = plugin.as<CheckProvider>();

  ASSERT_TRUE(plugin.wait_state(State::running));
  const auto types = checks.types();
  ASSERT_EQ(1u, types.size());
  EXPECT_EQ("told", types[0].name());
  EXPECT_EQ(&checks, plugin.hosted().find<CheckProvider>());
  EXPECT_EQ(nullptr, plugin.hosted().find<DevicePlugin>());
  EXPECT_EQ("check", plugin.hosted().kind()->word);

  for (const auto& [told, status] : {std::pair("passing", v1::CheckResult::PASSING),
                                     {"warning", v1::CheckResult::WARNING},
                                     {"critical", v1::CheckResult::CRITICAL}}) {
    const auto result = checks.run(a_run(told), {});
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(status, result->status()) << told;
    EXPECT_FALSE(result->output().empty()) << told;
  }
}

TEST(CheckProgram, TellsWhatItCannotRunFromWhatIsCritical) {
  RunningPlugin plugin(DROVER_KINDS_PROGRAM, {"check"});
  ASSERT_TRUE(plugin.wait_state(State::running));
  CheckProvider& checks = plugin.as<CheckProvider>();

  v1::RunCheckRequest unknown = a_run("passing");
  unknown.set_type("http");
  EXPECT_EQ(not_found("there is no check type \"http\""), checks.run(unknown, {}).status());
  EXPECT_EQ(Code::invalid_argument, checks.run(a_run("perhaps"), {}).status().code());
  v1::RunCheckRequest timeless = a_run("passing");
  timeless.clear_timeout();
  EXPECT_EQ(Code::invalid_argument, checks.run(timeless, {}).status().code());

  const auto late = checks.run(a_run("slow", 200ms), {});
  ASSERT_TRUE(late.ok()) << late.status().message();
  EXPECT_EQ(v1::CheckResult::CRITICAL, late->status());
  EXPECT_EQ("no answer within 200ms", late->output());
}

TEST(CheckProgram, ARunEndsWithItsProcessAndTheNextOneIsAnswered) {
  RunningPlugin plugin(DROVER_KINDS_PROGRAM, {"check"});
  ASSERT_TRUE(plugin.wait_state(State::running));
  CheckProvider& checks = plugin.as<CheckProvider>();

  auto slow = std::async(std::launch::async, [&] { return checks.run(a_run("slow", 60s), {}).status(); });
  ASSERT_TRUE(plugin.eventually([&] { return !plugin.program().calls().empty(); }));
  ASSERT_TRUE(plugin.replace());

  EXPECT_EQ(Code::unavailable, slow.get().code());
  const auto next = checks.run(a_run("passing"), {});
  ASSERT_TRUE(next.ok()) << next.status().message();
  EXPECT_EQ(v1::CheckResult::PASSING, next->status());
}

TEST(CheckProgram, ARunThatIsBrokenOffEnds) {
  RunningPlugin plugin(DROVER_KINDS_PROGRAM, {"check"});
  ASSERT_TRUE(plugin.wait_state(State::running));
  std::stop_source stop;
  auto slow = std::async(std::launch::async,
                         [&] { return plugin.as<CheckProvider>().run(a_run("slow", 60s), stop.get_token()).status(); });
  ASSERT_TRUE(plugin.eventually([&] { return !plugin.program().calls().empty(); }));
  stop.request_stop();
  EXPECT_EQ(Code::cancelled, slow.get().code());
}

TEST(ServiceProgram, SyncsAndSyncsAgainAfterACrash) {
  char name[] = "/tmp/drover-services-XXXXXX";
  const std::string folder = ::mkdtemp(name);
  {
    RunningPlugin plugin(DROVER_KINDS_PROGRAM, {"service"}, quick_times(), hcl::Value(hcl::Object{{"folder", folder}}));
    ASSERT_TRUE(plugin.wait_state(State::running)) << plugin.program().view().problem;
    ServiceProvider& services = plugin.as<ServiceProvider>();
    EXPECT_EQ(std::chrono::nanoseconds(30s), services.sync_every());

    v1::SyncServicesRequest request;
    request.set_node_id("5f1c7d2e-0000-4000-8000-000000000001");
    const auto published = [&] {
      std::ifstream file(folder + "/" + request.node_id());
      return std::string(std::istreambuf_iterator<char>(file), {});
    };
    for (const char* id : {"one", "two"}) {
      v1::ServiceInstance& instance = *request.add_instances();
      instance.set_id(id);
      instance.set_address("192.0.2.7");
      instance.set_port(80);
    }
    request.add_instances()->set_id("nowhere");
    const auto synced = services.sync(request, {});
    ASSERT_TRUE(synced.ok()) << synced.status().message();
    ASSERT_EQ(1, synced->failures_size());
    EXPECT_EQ("nowhere", synced->failures(0).id());
    EXPECT_EQ("one 192.0.2.7:80\ntwo 192.0.2.7:80\n", published());

    ASSERT_TRUE(plugin.replace());
    request.mutable_instances()->DeleteSubrange(1, 2);
    EXPECT_TRUE(services.sync(request, {}).ok());
    EXPECT_EQ("one 192.0.2.7:80\n", published());
  }
  std::filesystem::remove_all(folder);
}

TEST(AuthProgram, LogsInWhoIsKnownAndNobodyElse) {
  RunningPlugin plugin(DROVER_KINDS_PROGRAM, {"auth"});
  ASSERT_TRUE(plugin.wait_state(State::running));
  AuthMethod& auth = plugin.as<AuthMethod>();
  EXPECT_EQ("Reference", auth.type());
  EXPECT_TRUE(auth.flows().token);
  EXPECT_TRUE(auth.flows().browser);

  const auto errors = auth.check_config(R"({"Users": {"ada": 1}, "Usres": {}})");
  ASSERT_TRUE(errors.ok()) << errors.status().message();
  ASSERT_EQ(2u, errors->size());
  EXPECT_EQ("Users.ada", (*errors)[0].path());
  EXPECT_EQ("Usres", (*errors)[1].path());

  v1::AuthLoginRequest request;
  request.set_config(R"({"Users": {"ada": "countess-1815"}})");
  request.set_token("ada:countess-1815");
  const auto ada = auth.login(request, {});
  ASSERT_TRUE(ada.ok()) << ada.status().message();
  EXPECT_EQ("ada", ada->subject());
  EXPECT_EQ("mathematicians", ada->list_claims().at("groups").values(0));
  request.set_token("ada:baroness");
  EXPECT_EQ(Code::unauthenticated, auth.login(request, {}).status().code());
}

TEST(AuthProgram, ALoginWithTheBrowserOutlivesTheProcessInBetween) {
  RunningPlugin plugin(DROVER_KINDS_PROGRAM, {"auth"});
  ASSERT_TRUE(plugin.wait_state(State::running));
  AuthMethod& auth = plugin.as<AuthMethod>();
  v1::StartAuthLoginRequest start;
  start.set_config(R"({"Users": {}})");
  start.set_state("the-state");
  const auto started = auth.start_login(start, {});
  ASSERT_TRUE(started.ok()) << started.status().message();
  EXPECT_NE(std::string::npos, started->auth_url().find("the-state"));

  ASSERT_TRUE(plugin.replace());
  v1::CompleteAuthLoginRequest complete;
  complete.set_kept(started->kept());
  complete.set_code(started->auth_url().substr(started->auth_url().find("code=") + 5));
  const auto ada = auth.complete_login(complete, {});
  ASSERT_TRUE(ada.ok()) << ada.status().message();
  EXPECT_EQ("ada", ada->subject());
  complete.set_code("another");
  EXPECT_EQ(Code::unauthenticated, auth.complete_login(complete, {}).status().code());
}

TEST(KindPrograms, WithoutAProcessTheirCallsAreUnavailable) {
  RunningPlugin plugin(DROVER_KINDS_PROGRAM, {"check"});
  ASSERT_TRUE(plugin.wait_state(State::running));
  plugin.program().stop();
  EXPECT_EQ(Code::unavailable, plugin.as<CheckProvider>().run(a_run("passing", 100ms), {}).status().code());
  EXPECT_EQ(1u, plugin.as<CheckProvider>().types().size()) << "what it said stays true";
}

}  // namespace
}  // namespace drover::plugin_programs
