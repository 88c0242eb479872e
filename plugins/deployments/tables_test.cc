#include "tables.h"

#include <gtest/gtest.h>

#include "testing/state.h"

namespace drover::deployments {
namespace {

using testing::kDeployment;
using testing::kMinute;
using testing::kSecond;

class Rows : public testing::StateTest {
 protected:
  v1::DeploymentProgressed progress(int32_t placed, int32_t healthy, int32_t unhealthy) {
    v1::DeploymentProgressed command;
    command.set_deployment_id(kDeployment);
    command.set_group("front");
    command.set_placed(placed);
    command.set_healthy(healthy);
    command.set_unhealthy(unhealthy);
    command.set_time(100 * kSecond);
    return command;
  }
  Status update(v1::DeploymentStatus status, const std::string& description) {
    v1::DeploymentsUpdated command;
    v1::DeploymentStatusUpdate& update = *command.add_updates();
    update.set_deployment_id(kDeployment);
    update.set_status(status);
    update.set_description(description);
    command.set_time(200 * kSecond);
    return propose(command);
  }
  Status promote(bool all = true) {
    v1::DeploymentPromoted command;
    command.set_deployment_id(kDeployment);
    command.set_all(all);
    command.mutable_evaluation()->set_id("eeeeeeeeeeeeeeee");
    command.set_time(300 * kSecond);
    return propose(command);
  }
  // Two canaries of which the first is healthy.
  void add_canaries() {
    v1::Deployment deployment = running();
    (*deployment.mutable_task_groups())["front"].set_desired_canaries(2);
    (*deployment.mutable_task_groups())["front"].add_placed_canaries(id_of('a'));
    (*deployment.mutable_task_groups())["front"].add_placed_canaries(id_of('b'));
    (*deployment.mutable_task_groups())["front"].set_require_progress_by(1);
    create(deployment);
    put(alloc('a', true));
    put(alloc('b'));
  }
};

TEST_F(Rows, ANewOneHasItsIndexesAndTimes) {
  create(running());
  EXPECT_EQ(deployment().create_index(), 2U);
  EXPECT_EQ(deployment().modify_index(), 2U);
  EXPECT_EQ(deployment().create_time(), kSecond);
  EXPECT_EQ(deployment().modify_time(), kSecond);
}

TEST_F(Rows, ASuccessfulOneMakesItsVersionStableAndIsOver) {
  create(running());
  ASSERT_TRUE(update(v1::DEPLOYMENT_STATUS_SUCCESSFUL, "Deployment completed successfully").ok());
  const auto stable = told<v1::JobStabilityChanged>();
  ASSERT_EQ(stable.size(), 1U);
  EXPECT_EQ(stable[0].job_version(), 2U);
  EXPECT_TRUE(stable[0].stable());
  ASSERT_TRUE(update(v1::DEPLOYMENT_STATUS_CANCELLED, "too late").ok());
  EXPECT_EQ(deployment().status(), v1::DEPLOYMENT_STATUS_SUCCESSFUL);
  EXPECT_EQ(deployment().status_description(), "Deployment completed successfully");
}

TEST_F(Rows, TheFirstPlacementStartsTheTimeAndHealthMovesIt) {
  create(running());
  ASSERT_TRUE(propose(progress(1, 0, 0)).ok());
  EXPECT_EQ(group().placed_allocs(), 1);
  EXPECT_EQ(group().require_progress_by(), 100 * kSecond + 10 * kMinute);
  v1::DeploymentProgressed healthy = progress(1, 1, 0);
  healthy.set_healthy_at(150 * kSecond);
  ASSERT_TRUE(propose(healthy).ok());
  EXPECT_EQ(group().require_progress_by(), 150 * kSecond + 10 * kMinute);
  healthy.set_healthy_at(120 * kSecond);
  ASSERT_TRUE(propose(healthy).ok());
  EXPECT_EQ(group().require_progress_by(), 150 * kSecond + 10 * kMinute) << "an earlier health changes nothing";
  ASSERT_TRUE(propose(progress(0, -1, 1)).ok());
  EXPECT_EQ(group().healthy_allocs(), 1);
  EXPECT_EQ(group().unhealthy_allocs(), 1);
}

TEST_F(Rows, CanariesAreCountedOnce) {
  create(running());
  v1::DeploymentProgressed command = progress(1, 0, 0);
  command.add_placed_canaries(id_of('a'));
  ASSERT_TRUE(propose(command).ok());
  ASSERT_TRUE(propose(command).ok());
  EXPECT_EQ(group().placed_canaries_size(), 1);
}

TEST_F(Rows, ProgressOfWhatIsNotThereIsNobodys) {
  EXPECT_TRUE(propose(progress(1, 0, 0)).ok());
  create(running());
  v1::DeploymentProgressed command = progress(1, 0, 0);
  command.set_group("gone");
  EXPECT_TRUE(propose(command).ok());
  EXPECT_EQ(group().placed_allocs(), 0);
}

TEST_F(Rows, PromotingWaitsForEveryCanary) {
  add_canaries();
  EXPECT_EQ(promote().message(), "1 error occurred:\n\t* Task group \"front\" has 1/2 healthy allocations\n\n");
  EXPECT_FALSE(group().promoted());
  EXPECT_TRUE(told<v1::EvalsUpdated>().empty());

  put(alloc('b', true));
  ASSERT_TRUE(promote().ok());
  EXPECT_TRUE(group().promoted());
  EXPECT_EQ(group().require_progress_by(), 300 * kSecond + 10 * kMinute);
  EXPECT_EQ(deployment().status_description(), "Deployment is running");
  const auto health = told<v1::AllocationsHealthChanged>();
  ASSERT_EQ(health.size(), 1U);
  EXPECT_EQ(health[0].promoted_ids_size(), 2);
  ASSERT_EQ(told<v1::EvalsUpdated>().size(), 1U);
}

TEST_F(Rows, WhatIsOverIsNotPromoted) {
  EXPECT_EQ(promote().message(),
            "Deployment ID \"64646464-6464-6464-6464-646464646464\" couldn't be updated as it does not exist");
  create(running());
  ASSERT_TRUE(update(v1::DEPLOYMENT_STATUS_FAILED, "no").ok());
  EXPECT_EQ(promote().message(), "Deployment \"64646464-6464-6464-6464-646464646464\" has terminal status \"failed\":");
}

TEST_F(Rows, AFailedOneTakesItsJobBackUnlessThatHasChanged) {
  create(running());
  v1::DeploymentStatusChanged command;
  command.mutable_update()->set_deployment_id(kDeployment);
  command.mutable_update()->set_status(v1::DEPLOYMENT_STATUS_FAILED);
  command.mutable_update()->set_description("why");
  command.mutable_revert()->mutable_job()->set_id("web");
  command.mutable_evaluation()->set_id("eeeeeeeeeeeeeeee");
  command.set_time(5);
  ASSERT_TRUE(propose(command).ok());
  auto reverts = told<v1::JobRegistered>();
  ASSERT_EQ(reverts.size(), 1U);
  EXPECT_EQ(reverts[0].evaluation().id(), "eeeeeeeeeeeeeeee") << "so that it has the new version's index";
  EXPECT_TRUE(told<v1::EvalsUpdated>().empty());
  EXPECT_EQ(deployment().status_description(), "why");

  create(running());  // again, for a job that goes on meanwhile
  host_.commit([&](WriteTransaction& rows) {
    v1::Job job = *jobs_.get(rows, job_key("default", "web"));
    job.set_version(3);
    EXPECT_TRUE(jobs_.put(rows, job).ok());
  });
  ASSERT_TRUE(propose(command).ok());
  EXPECT_EQ(told<v1::JobRegistered>().size(), 1U);
  EXPECT_EQ(told<v1::EvalsUpdated>().size(), 1U);
}

TEST_F(Rows, HealthByHandIsOfItsAllocationsOnly) {
  create(running());
  v1::DeploymentHealthSet command;
  command.set_deployment_id(kDeployment);
  command.add_healthy_ids(id_of('a'));
  EXPECT_EQ(propose(command).message(), "unknown alloc \"61616161-6161-6161-6161-616161616161\"");
  v1::Allocation other = alloc('a');
  other.set_deployment_id("oooooooooooooooo");
  put(other);
  EXPECT_EQ(propose(command).message(),
            "alloc \"61616161-6161-6161-6161-616161616161\" is not part of deployment "
            "\"64646464-6464-6464-6464-646464646464\"");
  put(alloc('a'));
  ASSERT_TRUE(propose(command).ok());
  ASSERT_EQ(told<v1::AllocationsHealthChanged>().size(), 1U);
}

TEST_F(Rows, DeletedIsGone) {
  create(running());
  v1::DeploymentsDeleted command;
  command.add_deployment_ids(kDeployment);
  ASSERT_TRUE(propose(command).ok());
  EXPECT_TRUE(deployment().id().empty());
}

}  // namespace
}  // namespace drover::deployments
