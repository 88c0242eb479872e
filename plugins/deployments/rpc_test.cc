#include "rpc.h"

#include <gtest/gtest.h>

#include "drover/api/deployments.pb.h"
#include "drover/json.h"
#include "testing/state.h"

namespace drover::deployments {
namespace {

using testing::kDeployment;

class Handlers : public testing::StateTest {
 protected:
  Handlers() {
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    rpc_.start(host_);
  }
  template <typename Response = v1::DeploymentUpdateResponse, typename Request>
  Result<Response> ask(const std::string& method, const Request& request, QueryOptions query = {}) {
    return host_.answer<Response>("/drover.v1.Deployments/" + method, request, std::move(query));
  }
  template <typename Request>
  static Request about(const std::string& id = kDeployment) {
    Request request;
    request.set_path_deployment_id(id);
    request.set_deployment_id(id);
    return request;
  }
  static v1::FailDeploymentRequest failing() {
    v1::FailDeploymentRequest request;
    request.set_deployment_id(kDeployment);
    return request;
  }
  void reverting() {
    v1::Deployment deployment = running();
    (*deployment.mutable_task_groups())["front"].set_auto_revert(true);
    create(deployment);
  }
  Rpc rpc_{tables_};
};

TEST_F(Handlers, WhatIsNotThereIsNotFound) {
  v1::DeploymentRequest request;
  request.set_deployment_id(kDeployment);
  for (const Status& status : {ask<v1::DeploymentResponse>("Get", request).status(), ask("Fail", failing()).status(),
                               ask("Pause", about<v1::PauseDeploymentRequest>()).status()}) {
    EXPECT_EQ(status.code(), Code::not_found);
    EXPECT_EQ(status.message(), "deployment not found");
  }
}

TEST_F(Handlers, ListsByCreationAndPrefixAndOfAJobTheNewestFirst) {
  create(running("bbbbbbbbbbbbbbbb"));
  create(running("aaaaaaaaaaaaaaaa"));
  const auto list = [&](QueryOptions query) {
    std::string ids;
    const auto answer = ask<v1::ListDeploymentsResponse>("List", v1::ListDeploymentsRequest(), std::move(query));
    for (const v1::Deployment& each : answer->deployments()) ids += each.id()[0];
    return ids;
  };
  EXPECT_EQ(list({}), "ba");
  EXPECT_EQ(list({.prefix = "61"}), "a");
  EXPECT_EQ(list({.name_space = "other"}), "");
  EXPECT_EQ(list({.per_page = 1}), "b");

  v1::OfJobRequest of_job;
  of_job.set_job_id("web");
  const auto all = ask<v1::ListDeploymentsResponse>("OfJob", of_job);
  ASSERT_EQ(all->deployments_size(), 2);
  EXPECT_EQ(all->deployments(0).id(), "aaaaaaaaaaaaaaaa");
  EXPECT_EQ(ask<v1::DeploymentResponse>("LatestOfJob", of_job)->deployment().id(), "aaaaaaaaaaaaaaaa");
}

TEST_F(Handlers, AJobWithoutOneHasNull) {
  v1::OfJobRequest request;
  request.set_job_id("web");
  EXPECT_EQ(message_to_json(*ask<v1::DeploymentResponse>("LatestOfJob", request)), R"({"Deployment":null})");
  EXPECT_EQ(message_to_json(*ask<v1::ListDeploymentsResponse>("OfJob", request)), R"({"Deployments":[]})");
}

TEST_F(Handlers, ThoseOfAnEarlierJobAreShownOnlyWhenAskedFor) {
  v1::Deployment earlier = running();
  earlier.set_job_create_index(0);
  create(earlier);
  v1::OfJobRequest request;
  request.set_job_id("web");
  EXPECT_EQ(ask<v1::ListDeploymentsResponse>("OfJob", request)->deployments_size(), 0);
  request.set_all(true);
  EXPECT_EQ(ask<v1::ListDeploymentsResponse>("OfJob", request)->deployments_size(), 1);
}

TEST_F(Handlers, AllocationsAreThoseOfTheDeployment) {
  create(running());
  put(alloc('a', true));
  v1::Allocation other = alloc('b');
  other.clear_deployment_id();
  put(other);
  v1::DeploymentRequest request;
  request.set_deployment_id(kDeployment);
  const auto answer = ask<v1::AllocationStubsResponse>("Allocations", request);
  ASSERT_EQ(answer->allocations_size(), 1);
  EXPECT_EQ(answer->allocations(0).job_type(), "service");
  EXPECT_TRUE(answer->allocations(0).deployment_status().healthy());
}

TEST_F(Handlers, PausingMakesNoEvaluationAndResumingDoes) {
  create(running());
  auto request = about<v1::PauseDeploymentRequest>();
  request.set_pause(true);
  auto answer = ask("Pause", request);
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->eval_id().empty());
  EXPECT_EQ(answer->deployment_modify_index(), deployment().modify_index());
  EXPECT_EQ(deployment().status(), v1::DEPLOYMENT_STATUS_PAUSED);
  EXPECT_EQ(deployment().status_description(), "Deployment is paused");
  request.set_pause(false);
  answer = ask("Pause", request);
  EXPECT_EQ(deployment().status(), v1::DEPLOYMENT_STATUS_RUNNING);
  const auto evals = told<v1::EvalsUpdated>();
  ASSERT_EQ(evals.size(), 1U);
  const v1::Evaluation& eval = evals[0].evaluations(0);
  EXPECT_EQ(eval.id(), answer->eval_id());
  EXPECT_EQ(eval.triggered_by(), "deployment-watcher");
  EXPECT_EQ(eval.deployment_id(), kDeployment);
  EXPECT_EQ(eval.priority(), 60);
}

TEST_F(Handlers, FailingGoesBackToTheStableVersion) {
  reverting();
  const auto answer = ask("Fail", failing());
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->reverted_job_version(), 1U);
  EXPECT_EQ(deployment().status_description(), "Deployment marked as failed - rolling back to job version 1");
  ASSERT_EQ(told<v1::JobRegistered>().size(), 1U);
  EXPECT_FALSE(told<v1::JobRegistered>()[0].job().stable());
}

TEST_F(Handlers, FailingWithoutAutoRevertLeavesTheJob) {
  create(running());
  EXPECT_FALSE(ask("Fail", failing())->has_reverted_job_version());
  EXPECT_EQ(deployment().status_description(), "Deployment marked as failed");
  EXPECT_TRUE(told<v1::JobRegistered>().empty());
}

TEST_F(Handlers, WhatIsOverStaysAsItIs) {
  create(running());
  ASSERT_TRUE(ask("Fail", failing()).ok());
  auto pause = about<v1::PauseDeploymentRequest>();
  EXPECT_EQ(ask("Pause", pause).status().message(), "can't resume terminal deployment");
  pause.set_pause(true);
  EXPECT_EQ(ask("Pause", pause).status().message(), "can't pause terminal deployment");
  auto promote = about<v1::PromoteDeploymentRequest>();
  promote.set_all(true);
  EXPECT_EQ(ask("Promote", promote).status().message(), "can't promote terminal deployment");
  EXPECT_EQ(ask("Fail", failing()).status().message(), "can't fail terminal deployment");
  EXPECT_EQ(ask("Unblock", about<v1::UnblockDeploymentRequest>()).status().message(),
            "can't unblock terminal deployment");
  auto health = about<v1::SetAllocHealthRequest>();
  health.add_healthy_allocation_ids(id_of('a'));
  EXPECT_EQ(ask("SetAllocHealth", health).status().message(),
            "can't set health of allocations for a terminal deployment");
}

TEST_F(Handlers, AnIdentifierInTheBodyMustBeThatOfThePath) {
  create(running());
  auto request = about<v1::PauseDeploymentRequest>();
  request.set_path_deployment_id("oooooooooooooooo");
  EXPECT_EQ(ask("Pause", request).status().message(), "Deployment ID does not match");
  request.clear_deployment_id();
  EXPECT_EQ(ask("Pause", request).status().message(), "DeploymentID must be specified");
}

TEST_F(Handlers, PromotingNamesAllOrGroups) {
  create(running());
  auto request = about<v1::PromoteDeploymentRequest>();
  EXPECT_EQ(ask("Promote", request).status().code(), Code::invalid_argument);
  request.add_groups("back");
  EXPECT_EQ(ask("Promote", request).status().message(), "Groups: the deployment has no task group \"back\"");
  request.set_groups(0, "front");
  EXPECT_TRUE(ask("Promote", request).ok());
  request.set_all(true);
  EXPECT_EQ(ask("Promote", request).status().code(), Code::invalid_argument);
}

TEST_F(Handlers, UnblockingIsForSeveralRegions) {
  create(running());
  auto request = about<v1::UnblockDeploymentRequest>();
  EXPECT_EQ(ask("Unblock", request).status().message(), "can't unblock running deployment");
  auto pause = about<v1::PauseDeploymentRequest>();
  pause.set_pause(true);
  ASSERT_TRUE(ask("Pause", pause).ok());
  EXPECT_NE(ask("Unblock", request).status().message().find("several regions"), std::string::npos);
}

TEST_F(Handlers, UnhealthyByHandFailsAtOnce) {
  reverting();
  put(alloc('a'));
  auto request = about<v1::SetAllocHealthRequest>();
  EXPECT_EQ(ask("SetAllocHealth", request).status().message(),
            "must specify at least one healthy/unhealthy allocation ID");
  request.add_healthy_allocation_ids(id_of('a'));
  ASSERT_TRUE(ask("SetAllocHealth", request).ok());
  EXPECT_EQ(deployment().status(), v1::DEPLOYMENT_STATUS_RUNNING);
  request.clear_healthy_allocation_ids();
  request.add_unhealthy_allocation_ids(id_of('a'));
  EXPECT_EQ(ask("SetAllocHealth", request)->reverted_job_version(), 1U);
  EXPECT_EQ(deployment().status(), v1::DEPLOYMENT_STATUS_FAILED);
  EXPECT_EQ(deployment().status_description(), "Failed due to unhealthy allocations - rolling back to job version 1");
}

}  // namespace
}  // namespace drover::deployments
