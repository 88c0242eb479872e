#include "collect.h"

#include <gtest/gtest.h>

#include "drover/keys.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "sdk/testing/memory_rows.h"

namespace drover::gc {
namespace {

constexpr int64_t kHour = 3'600'000'000'000;
const std::string kEval = "eeeeeeeeeeeeeeee";
const std::string kNode = "nnnnnnnnnnnnnnnn";

// One running service, a node that went down long ago, an old evaluation, and its one allocation.
class Collecting : public ::testing::Test {
 protected:
  Collecting() {
    tables_.jobs = rows_.add_table(jobs_table().spec());
    tables_.nodes = rows_.add_table(nodes_table().spec());
    tables_.evals = rows_.add_table(evals_table().spec());
    tables_.allocs = rows_.add_table(allocs_table().spec());
    tables_.deployments = rows_.add_table(deployments_table().spec());
    job_.set_id("web");
    job_.set_namespace_("default");
    job_.set_type("service");
    job_.set_status(v1::JOB_STATUS_RUNNING);
    v1::TaskGroup& group = *job_.add_task_groups();
    group.set_name("app");
    group.mutable_reschedule_policy()->set_attempts(1);
    group.mutable_reschedule_policy()->set_interval(24 * kHour);
    eval_.set_id(kEval);
    eval_.set_namespace_("default");
    eval_.set_job_id("web");
    eval_.set_type("service");
    eval_.set_status(v1::EVAL_STATUS_COMPLETE);
    alloc_.set_id("aaaaaaaaaaaaaaaa");
    alloc_.set_eval_id(kEval);
    alloc_.set_node_id(kNode);
    alloc_.set_namespace_("default");
    alloc_.set_job_id("web");
    alloc_.set_task_group("app");
    node_.set_id(kNode);
    node_.set_status(v1::NODE_STATUS_DOWN);
  }

  Garbage collect_at(int64_t now) {
    EXPECT_TRUE(Table<v1::Job>(tables_.jobs).put(rows_, job_).ok());
    EXPECT_TRUE(Table<v1::Evaluation>(tables_.evals).put(rows_, eval_).ok());
    EXPECT_TRUE(Table<v1::Allocation>(tables_.allocs).put(rows_, alloc_).ok());
    EXPECT_TRUE(Table<v1::Node>(tables_.nodes).put(rows_, node_).ok());
    return collect(rows_, tables_, {}, now);
  }

  drover::testing::MemoryRows rows_;
  Tables tables_;
  v1::Job job_;
  v1::Evaluation eval_;
  v1::Allocation alloc_;
  v1::Node node_;
};

TEST_F(Collecting, LooksAtWhatIsWantedAndAtWhatRuns) {
  const struct {
    const char* name;
    v1::DesiredStatus desired;
    v1::ClientStatus client;
    bool eval_goes, node_goes;
  } cases[] = {
      {"runs", v1::DESIRED_STATUS_RUN, v1::CLIENT_STATUS_RUNNING, false, false},
      {"waits", v1::DESIRED_STATUS_RUN, v1::CLIENT_STATUS_PENDING, false, false},
      {"is done", v1::DESIRED_STATUS_RUN, v1::CLIENT_STATUS_COMPLETE, true, true},
      {"is lost", v1::DESIRED_STATUS_STOP, v1::CLIENT_STATUS_LOST, true, true},
      {"was stopped before it began", v1::DESIRED_STATUS_STOP, v1::CLIENT_STATUS_PENDING, true, true},
      {"is stopped and still runs", v1::DESIRED_STATUS_STOP, v1::CLIENT_STATUS_RUNNING, false, true},
      {"was evicted", v1::DESIRED_STATUS_EVICT, v1::CLIENT_STATUS_COMPLETE, true, true},
      {"failed and is tried again", v1::DESIRED_STATUS_RUN, v1::CLIENT_STATUS_FAILED, false, true},
      {"failed and was stopped", v1::DESIRED_STATUS_STOP, v1::CLIENT_STATUS_FAILED, true, true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    alloc_.set_desired_status(c.desired);
    alloc_.set_client_status(c.client);
    const Garbage garbage = collect_at(48 * kHour);
    EXPECT_EQ(garbage.evals.size(), c.eval_goes ? 1U : 0U);
    EXPECT_EQ(garbage.allocs.size(), c.eval_goes ? 1U : 0U);
    EXPECT_EQ(garbage.nodes.size(), c.node_goes ? 1U : 0U);
  }
}

TEST_F(Collecting, AFailedAllocationStaysWhileItsAttemptsCount) {
  alloc_.set_desired_status(v1::DESIRED_STATUS_RUN);
  alloc_.set_client_status(v1::CLIENT_STATUS_FAILED);
  alloc_.mutable_reschedule_tracker()->add_events()->set_reschedule_time(kHour);
  EXPECT_TRUE(collect_at(25 * kHour).allocs.empty());
  EXPECT_EQ(collect_at(26 * kHour).allocs.size(), 1U);
  job_.mutable_task_groups(0)->mutable_reschedule_policy()->set_unlimited(true);
  EXPECT_TRUE(collect_at(26 * kHour).allocs.empty());
  alloc_.set_next_allocation("bbbbbbbbbbbbbbbb");
  EXPECT_EQ(collect_at(26 * kHour).allocs.size(), 1U);
  alloc_.clear_next_allocation();
  job_.set_stop(true);
  EXPECT_EQ(collect_at(26 * kHour).allocs.size(), 1U);
}

TEST_F(Collecting, AnAllocationGoesThatOutlivedItsEvaluation) {
  alloc_.set_client_status(v1::CLIENT_STATUS_COMPLETE);
  alloc_.set_modify_time(kHour);
  (void)collect_at(0);
  Table<v1::Evaluation>(tables_.evals).erase(rows_, kEval);
  const struct {
    const char* name;
    const char* type;
    v1::ClientStatus client;
    int64_t now;
    bool goes;
  } cases[] = {
      {"is old", "service", v1::CLIENT_STATUS_COMPLETE, 2 * kHour, true},
      {"is not old", "service", v1::CLIENT_STATUS_COMPLETE, 2 * kHour - 1, false},
      {"runs", "service", v1::CLIENT_STATUS_RUNNING, 9 * kHour, false},
      {"its batch job lives", "batch", v1::CLIENT_STATUS_COMPLETE, 99 * kHour, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    job_.set_type(c.type);
    alloc_.set_client_status(c.client);
    ASSERT_TRUE(Table<v1::Job>(tables_.jobs).put(rows_, job_).ok());
    ASSERT_TRUE(Table<v1::Allocation>(tables_.allocs).put(rows_, alloc_).ok());
    EXPECT_EQ(collect(rows_, tables_, {}, c.now).allocs.size(), c.goes ? 1U : 0U);
  }
}

TEST_F(Collecting, ADeploymentGoesWhenItIsOverOldAndNothingOfItLives) {
  const struct {
    const char* name;
    v1::DeploymentStatus status;
    v1::ClientStatus client;
    bool is_its_own;
    int64_t now;
    bool goes;
  } cases[] = {
      {"is over", v1::DEPLOYMENT_STATUS_SUCCESSFUL, v1::CLIENT_STATUS_COMPLETE, true, 2 * kHour, true},
      {"has failed", v1::DEPLOYMENT_STATUS_FAILED, v1::CLIENT_STATUS_FAILED, true, 2 * kHour, true},
      {"is not old", v1::DEPLOYMENT_STATUS_SUCCESSFUL, v1::CLIENT_STATUS_COMPLETE, true, 2 * kHour - 1, false},
      {"goes on", v1::DEPLOYMENT_STATUS_PAUSED, v1::CLIENT_STATUS_COMPLETE, true, 9 * kHour, false},
      {"runs still", v1::DEPLOYMENT_STATUS_SUCCESSFUL, v1::CLIENT_STATUS_RUNNING, true, 9 * kHour, false},
      {"another's runs", v1::DEPLOYMENT_STATUS_CANCELLED, v1::CLIENT_STATUS_RUNNING, false, 9 * kHour, true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Deployment deployment;
    deployment.set_id("dddddddddddddddd");
    deployment.set_namespace_("default");
    deployment.set_job_id("web");
    deployment.set_status(c.status);
    deployment.set_modify_time(kHour);
    ASSERT_TRUE(Table<v1::Deployment>(*tables_.deployments).put(rows_, deployment).ok());
    alloc_.set_desired_status(v1::DESIRED_STATUS_RUN);
    alloc_.set_client_status(c.client);
    alloc_.set_deployment_id(c.is_its_own ? deployment.id() : "");
    EXPECT_EQ(collect_at(c.now).deployments.size(), c.goes ? 1U : 0U);
  }
}

}  // namespace
}  // namespace drover::gc
