#include <gtest/gtest.h>

#include "deployments/deployment_text.h"
#include "drover/api/allocations.pb.h"
#include "drover/v1/deployment.pb.h"

namespace drover::cli {
namespace {

v1::Deployment deployment() {
  v1::Deployment deployment;
  deployment.set_id("0123456789abcdef");
  deployment.set_job_id("web");
  deployment.set_job_version(3);
  deployment.set_status(v1::DEPLOYMENT_STATUS_RUNNING);
  deployment.set_status_description("Deployment is running");
  v1::DeploymentState& group = (*deployment.mutable_task_groups())["front"];
  group.set_desired_total(4);
  group.set_placed_allocs(2);
  group.set_healthy_allocs(1);
  return deployment;
}

TEST(DeploymentText, ShowsOnlyTheColumnsThatAGroupNeeds) {
  EXPECT_EQ(deployment_text(deployment(), true, false),
            "ID          = 30313233\n"
            "Job ID      = web\n"
            "Job Version = 3\n"
            "Status      = running\n"
            "Description = Deployment is running\n"
            "\n"
            "Deployed\n"
            "Task Group  Desired  Placed  Healthy  Unhealthy\n"
            "front       4        2       1        0\n");
}

TEST(DeploymentText, ShowsCanariesRevertsAndDeadlines) {
  v1::Deployment whole = deployment();
  v1::DeploymentState& front = (*whole.mutable_task_groups())["front"];
  front.set_desired_canaries(1);
  front.set_auto_revert(true);
  front.set_progress_deadline(600'000'000'000);
  front.set_require_progress_by(1'700'000'000'000'000'000);
  (*whole.mutable_task_groups())["back"].set_desired_total(1);
  EXPECT_EQ(deployment_text(whole, false, false),
            "ID          = 30313233\n"
            "Status      = running\n"
            "Description = Deployment is running\n"
            "\n"
            "Deployed\n"
            "Task Group  Auto Revert  Promoted  Desired  Canaries  Placed  Healthy  Unhealthy  Progress Deadline\n"
            "back        false        N/A       1        N/A       0       0        0          N/A\n"
            "front       true         false     4        1         2       1        0          2023-11-14T22:13:20Z\n");
}

TEST(DeploymentText, AListShowsShortIdentifiersUnlessVerbose) {
  EXPECT_EQ(deployment_row(deployment(), false),
            (std::vector<std::string>{"30313233", "web", "3", "running", "Deployment is running"}));
  EXPECT_EQ(deployment_row(deployment(), true)[0], "30313233-3435-3637-3839-616263646566");
}

TEST(DeploymentText, HealthIsUnsetUntilSomebodyDecides) {
  v1::AllocationListStub alloc;
  EXPECT_EQ(health_of(alloc), "unset");
  alloc.mutable_deployment_status()->set_healthy(true);
  EXPECT_EQ(health_of(alloc), "healthy");
  alloc.mutable_deployment_status()->set_healthy(false);
  EXPECT_EQ(health_of(alloc), "unhealthy");
}

}  // namespace
}  // namespace drover::cli
