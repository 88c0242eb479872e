// A state in memory with a job, its deployment and its allocations, for the tests of this plugin.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "deployments.pb.h"
#include "drover/schema.h"
#include "drover/v1/evaluation.pb.h"
#include "sdk/testing/fake_host.h"
#include "tables.h"

namespace drover::deployments::testing {

inline const std::string kDeployment = "dddddddddddddddd";
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMinute = 60 * kSecond;

// The job "web": version 2 is deployed, version 1 is stable and another specification.
class StateTest : public ::testing::Test {
 protected:
  StateTest() {
    Declarations& declare = host_.rows();
    jobs_ = *declare_table(declare, jobs_table());
    versions_ = *declare_table(declare, job_versions_table());
    evals_ = *declare_table(declare, evals_table());
    allocs_ = *declare_table(declare, allocs_table());
    EXPECT_TRUE(declare_tables(declare, tables_).ok());
    host_.commit([&](WriteTransaction& rows) {
      v1::Job job;
      job.set_namespace_("default");
      job.set_id("web");
      job.set_type("service");
      job.set_priority(70);
      job.set_create_index(1);
      job.set_version(1);
      job.set_stable(true);
      EXPECT_TRUE(versions_.put(rows, job).ok());
      job.set_version(2);
      job.set_stable(false);
      job.set_name("another");
      EXPECT_TRUE(versions_.put(rows, job).ok());
      EXPECT_TRUE(jobs_.put(rows, job).ok());
    });
  }

  static v1::Deployment running(const std::string& id = kDeployment) {
    v1::Deployment deployment;
    deployment.set_id(id);
    deployment.set_namespace_("default");
    deployment.set_job_id("web");
    deployment.set_job_version(2);
    deployment.set_job_create_index(1);
    deployment.set_status(v1::DEPLOYMENT_STATUS_RUNNING);
    deployment.set_status_description("Deployment is running");
    deployment.set_eval_priority(60);
    v1::DeploymentState& group = (*deployment.mutable_task_groups())["front"];
    group.set_desired_total(2);
    group.set_progress_deadline(10 * kMinute);
    return deployment;
  }
  void create(const v1::Deployment& deployment) {
    v1::DeploymentsUpdated command;
    *command.add_created() = deployment;
    command.set_time(kSecond);
    EXPECT_TRUE(propose(command).ok());
  }
  // "a": sixteen of it.
  static std::string id_of(char letter) { return std::string(16, letter); }
  v1::Allocation alloc(char letter, std::optional<bool> healthy = {}, uint64_t health_index = 1) {
    v1::Allocation alloc;
    alloc.set_id(id_of(letter));
    alloc.set_namespace_("default");
    alloc.set_job_id("web");
    alloc.set_task_group("front");
    alloc.set_deployment_id(kDeployment);
    alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
    alloc.set_client_status(v1::CLIENT_STATUS_RUNNING);
    if (healthy) alloc.mutable_deployment_status()->set_healthy(*healthy);
    if (healthy) alloc.mutable_deployment_status()->set_modify_index(health_index);
    return alloc;
  }
  uint64_t put(const v1::Allocation& alloc) {
    return host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(allocs_.put(rows, alloc).ok()); });
  }
  template <typename Command>
  Status propose(const Command& command) {
    return host_.propose(command, SteadyTime::max()).status();
  }
  v1::Deployment deployment(const std::string& id = kDeployment) {
    return tables_.deployments.get(*host_.snapshot(), id).value_or(v1::Deployment());
  }
  v1::DeploymentState group() { return deployment().task_groups().at("front"); }
  template <typename Command>
  std::vector<Command> told() {
    return host_.rows().told<Command>();
  }

  drover::testing::FakeHost host_;
  Table<v1::Job> jobs_, versions_;
  Table<v1::Evaluation> evals_;
  Table<v1::Allocation> allocs_;
  Tables tables_;
};

}  // namespace drover::deployments::testing
