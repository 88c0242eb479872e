// Tasks while the plugin that brings their driver is away.
#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

TEST_F(AgentTest, ATaskOfADriverThatIsLateGoesOn) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  stop();
  servers_.expect_another_agent();
  driver_.is_away_for("recover", 1);
  start();

  until_status(id, v1::CLIENT_STATUS_RUNNING);
  ASSERT_TRUE(driver_.wait_recovered(2));
  servers_.stop(id);
  const v1::Allocation end = until_status(id, v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ((std::vector<std::string>{"Received", "Task Setup", "Started", "Killing", "Terminated", "Killed"}),
            event_types(end.task_states().at("web")));
  EXPECT_EQ(std::vector<std::string>{"web"}, driver_.starts());
}

TEST_F(AgentTest, AStopAndAWaitThatFindNoDriverAreAskedAgain) {
  start();
  driver_.is_away_for("wait", 1);
  driver_.is_away_for("stop", 1);
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);

  servers_.stop(id);

  const v1::Allocation end = until_status(id, v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ((std::vector<std::string>{"Received", "Task Setup", "Started", "Killing", "Terminated", "Killed"}),
            event_types(end.task_states().at("web")));
  EXPECT_EQ(std::vector<std::string>{"web"}, driver_.stopped());
}

TEST_F(AgentTest, AStartThatFindsNoDriverIsTriedAgain) {
  start();
  driver_.is_away_for("encode", 1);
  const std::string id = place({task("web")});

  const v1::Allocation now = until_status(id, v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ(
      (std::vector<std::string>{"Received", "Task Setup", "Driver Failure", "Restarting", "Task Setup", "Started"}),
      event_types(now.task_states().at("web")));
}

}  // namespace
}  // namespace drover::agent
