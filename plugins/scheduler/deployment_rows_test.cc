// What the scheduler's commands tell deployments: what was placed, and how it does.
#include <gtest/gtest.h>

#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "scheduler.pb.h"
#include "sdk/testing/memory_rows.h"
#include "tables.h"
#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

class DeploymentRows : public ::testing::Test {
 protected:
  void SetUp() override {
    rows_.add_table(jobs_table().spec());
    rows_.add_table(job_versions_table().spec());
    const TableId nodes = rows_.add_table(nodes_table().spec());
    ASSERT_TRUE(declare_tables(rows_, tables_).ok());
    ASSERT_TRUE(Table<v1::Node>(nodes).put(rows_, make_node("n1")).ok());
  }
  v1::Allocation deployed(int index, bool canary = false) {
    v1::Allocation alloc = make_alloc(make_job(), index, "n1");
    alloc.set_deployment_id(id_of("deployment"));
    if (canary) alloc.mutable_deployment_status()->set_canary(true);
    return alloc;
  }
  void place(const std::vector<v1::Allocation>& allocs) {
    v1::PlanApplied command;
    for (const v1::Allocation& alloc : allocs) *command.add_placed() = alloc;
    command.set_time(100);
    ASSERT_TRUE(rows_.apply(command, ++index_).ok());
  }
  void report(const v1::Allocation& alloc, std::optional<bool> healthy, int64_t when = 0) {
    v1::AllocationsReported command;
    v1::Allocation& one = *command.add_allocations();
    one.set_id(alloc.id());
    one.set_client_status(v1::CLIENT_STATUS_RUNNING);
    if (healthy) {
      one.mutable_deployment_status()->set_healthy(*healthy);
      one.mutable_deployment_status()->set_timestamp(when);
    }
    command.set_time(200);
    ASSERT_TRUE(rows_.apply(command, ++index_).ok());
  }
  v1::DeploymentProgressed last() { return rows_.told<v1::DeploymentProgressed>().back(); }
  size_t told() { return rows_.told<v1::DeploymentProgressed>().size(); }
  v1::Allocation row(const v1::Allocation& alloc) { return tables_.allocs.get(rows_, alloc.id()).value(); }

  drover::testing::MemoryRows rows_;
  Tables tables_;
  uint64_t index_ = 10;
};

TEST_F(DeploymentRows, HearWhatAPlanPlaced) {
  place({deployed(0), deployed(1), deployed(2, /*canary=*/true)});
  ASSERT_EQ(told(), 1U);
  EXPECT_EQ(last().deployment_id(), id_of("deployment"));
  EXPECT_EQ(last().group(), "app");
  EXPECT_EQ(last().placed(), 3);
  ASSERT_EQ(last().placed_canaries_size(), 1);
  EXPECT_EQ(last().placed_canaries(0), deployed(2).id());
}

TEST_F(DeploymentRows, HearOfHealthOnceAndOfItsLoss) {
  const v1::Allocation alloc = deployed(0, /*canary=*/true);
  place({alloc});
  report(alloc, {});
  EXPECT_EQ(told(), 1U) << "nothing is known yet";
  report(alloc, true, 150);
  EXPECT_EQ(last().healthy(), 1);
  EXPECT_EQ(last().healthy_at(), 150);
  EXPECT_TRUE(row(alloc).deployment_status().healthy());
  EXPECT_TRUE(row(alloc).deployment_status().canary()) << "a report does not end its time as a canary";
  report(alloc, true, 170);
  EXPECT_EQ(told(), 2U) << "it was healthy already";
  report(alloc, false, 180);
  EXPECT_EQ(last().healthy(), -1);
  EXPECT_EQ(last().unhealthy(), 1);
}

TEST_F(DeploymentRows, DoNotHearOfAllocationsWithoutADeployment) {
  v1::Allocation alloc = deployed(0);
  alloc.clear_deployment_id();
  place({alloc});
  report(alloc, true);
  EXPECT_EQ(told(), 0U);
}

TEST_F(DeploymentRows, AnUpdateInPlaceComesToTheNewDeploymentWithoutHealth) {
  const v1::Allocation alloc = deployed(0);
  place({alloc});
  report(alloc, true);
  v1::PlanApplied command;
  v1::AllocationDelta& delta = *command.add_changed();
  delta.set_id(alloc.id());
  delta.set_deployment_id(id_of("next"));
  delta.set_job_version(1);
  ASSERT_TRUE(rows_.apply(command, ++index_).ok());
  EXPECT_EQ(row(alloc).deployment_id(), id_of("next"));
  EXPECT_FALSE(row(alloc).deployment_status().has_healthy());
  EXPECT_EQ(last().deployment_id(), id_of("next"));
  EXPECT_EQ(last().placed(), 1);
}

TEST_F(DeploymentRows, TheOperatorDecidesAboutHealthAndPromotion) {
  const v1::Allocation good = deployed(0), bad = deployed(1), canary = deployed(2, /*canary=*/true);
  place({good, bad, canary});
  v1::AllocationsHealthChanged command;
  command.add_healthy_ids(good.id());
  command.add_unhealthy_ids(bad.id());
  command.add_promoted_ids(canary.id());
  command.set_time(300);
  ASSERT_TRUE(rows_.apply(command, ++index_).ok());
  EXPECT_TRUE(row(good).deployment_status().healthy());
  EXPECT_FALSE(row(bad).deployment_status().healthy());
  EXPECT_FALSE(row(canary).deployment_status().canary());
  EXPECT_EQ(last().healthy(), 1);
  EXPECT_EQ(last().unhealthy(), 1);
  command.add_healthy_ids(id_of("nobody"));
  EXPECT_EQ(rows_.apply(command, ++index_).status().code(), Code::not_found);
}

TEST_F(DeploymentRows, APlanMakesItsDeploymentBeforeItIsToldOfIt) {
  v1::PlanApplied command;
  command.add_deployments()->set_id(id_of("deployment"));
  command.add_deployment_updates()->set_deployment_id(id_of("before"));
  *command.add_placed() = deployed(0);
  command.set_time(400);
  ASSERT_TRUE(rows_.apply(command, ++index_).ok());
  const auto updated = rows_.told<v1::DeploymentsUpdated>();
  ASSERT_EQ(updated.size(), 1U);
  EXPECT_EQ(updated[0].created(0).id(), id_of("deployment"));
  EXPECT_EQ(updated[0].updates(0).deployment_id(), id_of("before"));
  EXPECT_EQ(updated[0].time(), 400);
  EXPECT_EQ(last().placed(), 1);
}

TEST_F(DeploymentRows, AReportFromANodeThatWasAwayIsNoted) {
  const v1::Allocation alloc = deployed(0);
  place({alloc});
  report(alloc, {});
  EXPECT_TRUE(rows_.told<v1::NodeCaughtUp>().empty());
  v1::Node node = make_node("n1");
  node.set_status(v1::NODE_STATUS_INITIALIZING);
  ASSERT_TRUE(Table<v1::Node>(tables_.nodes).put(rows_, node).ok());
  report(alloc, {});
  ASSERT_EQ(rows_.told<v1::NodeCaughtUp>().size(), 1U);
  EXPECT_EQ(rows_.told<v1::NodeCaughtUp>()[0].node_id(), id_of("n1"));
}

}  // namespace
}  // namespace drover::scheduler
