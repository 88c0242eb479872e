#include "leaving/shutdown_drain.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

using ShutdownDrain = AgentTest;

TEST_F(ShutdownDrain, IsAskedForAndWaitedFor) {
  configure(R"(
    drain_on_shutdown {
      deadline           = "5m"
      ignore_system_jobs = true
    })");
  start();
  EXPECT_EQ(agent_->leave_time(), 5min + 30s + 5s);
  std::jthread leaving([&] { agent_->leave(std::chrono::steady_clock::now() + 1min); });
  ASSERT_TRUE(servers_.wait([&] { return servers_.drain.has_value(); }));
  EXPECT_EQ(servers_.drain->node_id(), host_->node().bytes());
  EXPECT_EQ(servers_.drain->drain_spec().deadline(), std::chrono::nanoseconds(5min).count());
  EXPECT_TRUE(servers_.drain->drain_spec().ignore_system_jobs());
  EXPECT_FALSE(servers_.drain->mark_eligible());
  EXPECT_EQ(servers_.drain->meta().at("message"), "shutting down");
  servers_.end_drain();
}

TEST_F(ShutdownDrain, WaitsForWhatIsMovedAtTheDeadline) {
  configure("drain_on_shutdown {\n  ignore_system_jobs = true\n}");
  start();
  const std::string web = place({task("web")}), everywhere = place({task("log")}, "system");
  until_status(web, v1::CLIENT_STATUS_RUNNING);
  until_status(everywhere, v1::CLIENT_STATUS_RUNNING);
  servers_.end_drain();  // before the order to stop comes
  auto leaving = std::async(std::launch::async, [&] { agent_->leave(std::chrono::steady_clock::now() + 1min); });
  ASSERT_TRUE(servers_.wait([&] { return servers_.drain.has_value(); }));
  EXPECT_EQ(leaving.wait_for(50ms), std::future_status::timeout);
  servers_.stop(web);
  EXPECT_EQ(leaving.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(until_status(web, v1::CLIENT_STATUS_COMPLETE).client_status(), v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ(servers_.until(everywhere, [](const v1::Allocation&) { return true; }).client_status(),
            v1::CLIENT_STATUS_RUNNING);
}

TEST_F(ShutdownDrain, AsksAgainWhileNoServerAnswers) {
  configure("drain_on_shutdown {}");
  start();
  servers_.fail_next("/drover.v1.Nodes/Drain", unavailable("No cluster leader"));
  servers_.fail_next("/drover.v1.Nodes/Get", deadline_exceeded("no answer in time"));
  servers_.end_drain();
  agent_->leave(std::chrono::steady_clock::now() + 1min);
  EXPECT_TRUE(servers_.drain.has_value());
  EXPECT_EQ(servers_.looks, 1);
}

TEST_F(ShutdownDrain, EndsWithItsTimeWhenNoServerAnswers) {
  configure("drain_on_shutdown {}");
  start();
  for (int i = 0; i < 60; ++i) servers_.fail_next("/drover.v1.Nodes/Drain", unavailable("No cluster leader"));
  auto leaving = std::async(std::launch::async, [&] { agent_->leave(std::chrono::steady_clock::now() + 50ms); });
  EXPECT_EQ(leaving.wait_for(10s), std::future_status::ready);
  EXPECT_FALSE(servers_.drain.has_value());
}

TEST_F(ShutdownDrain, GivesUpWhenItIsRefused) {
  configure("drain_on_shutdown {}");
  start();
  servers_.fail_next("/drover.v1.Nodes/Drain", permission_denied("not this node"));
  agent_->leave(std::chrono::steady_clock::now() + 1min);
  EXPECT_FALSE(servers_.drain.has_value());
}

TEST_F(ShutdownDrain, EndsWithItsTime) {
  configure("drain_on_shutdown { force = true }");
  start();
  EXPECT_EQ(agent_->leave_time(), 30s + 5s);
  agent_->leave(std::chrono::steady_clock::now() + 50ms);
  ASSERT_TRUE(servers_.drain.has_value());
  EXPECT_EQ(servers_.drain->drain_spec().deadline(), -1);
}

TEST_F(ShutdownDrain, IsOffUnlessItIsConfiguredAndForDevelopment) {
  configure("node_class = \"small\"");
  start();
  agent_->leave(std::chrono::steady_clock::now() + 1min);
  EXPECT_FALSE(servers_.drain.has_value());
  stop();
  configure("drain_on_shutdown {}");
  start(/*dev_mode=*/true);
  agent_->leave(std::chrono::steady_clock::now() + 1min);
  EXPECT_FALSE(servers_.drain.has_value());
}

}  // namespace
}  // namespace drover::agent
