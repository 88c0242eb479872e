#include "watcher.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "testing/state.h"

namespace drover::deployments {
namespace {

using namespace std::chrono_literals;
using testing::kDeployment;

constexpr int64_t kMillisecond = 1'000'000;

class Watching : public testing::StateTest {
 protected:
  Watching() {
    // The scheduler's part.
    const auto transition = [this](std::string_view bytes, ApplyContext& context) -> Result<std::string> {
      DROVER_TRY(const v1::AllocationsTransitioned command, parse_message<v1::AllocationsTransitioned>(bytes));
      for (const std::string& id : command.alloc_ids()) {
        v1::Allocation alloc = *allocs_.get(context.rows(), id);
        alloc.mutable_desired_transition()->MergeFrom(command.transition());
        DROVER_RETURN_IF_ERROR(allocs_.put(context.rows(), alloc));
      }
      for (v1::Evaluation eval : command.evaluations()) {
        eval.set_create_index(context.index());
        DROVER_RETURN_IF_ERROR(evals_.put(context.rows(), eval));
      }
      return std::string();
    };
    EXPECT_TRUE(host_.rows().command("drover.v1.AllocationsTransitioned", transition).ok());
  }
  std::jthread lead() {
    return std::jthread([this](std::stop_token stop) { Watcher(host_, tables_).run(stop); });
  }
  bool eventually_is(v1::DeploymentStatus status) {
    return host_.eventually([&](const ReadView& view) {
      const auto row = tables_.deployments.get(view, kDeployment);
      return row && row->status() == status;
    });
  }
  size_t evaluations() { return evals_.list(*host_.snapshot(), kPrimary, KeyRange::all()).size(); }
  bool eventually_evaluated(size_t times) {
    return host_.eventually(
        [&](const ReadView& view) { return evals_.list(view, kPrimary, KeyRange::all()).size() >= times; });
  }
  // Later, and something happens, so that the watcher looks at the clock.
  void advance(std::chrono::nanoseconds by) {
    host_.forward_clock().advance(by);
    host_.commit([&](WriteTransaction& rows) {
      v1::Evaluation eval;
      eval.set_id("nudgenudgenudge!");
      eval.set_job_id("nobody");
      EXPECT_TRUE(evals_.put(rows, eval).ok());
      evals_.erase(rows, eval.id());
    });
  }
};

TEST_F(Watching, NewHealthHasTheJobLookedAtOnce) {
  create(running());
  const auto leader = lead();
  put(alloc('a', true, 5));
  ASSERT_TRUE(eventually_evaluated(1));
  const auto evals = evals_.list(*host_.snapshot(), kPrimary, KeyRange::all());
  EXPECT_EQ(evals[0].deployment_id(), kDeployment);
  EXPECT_EQ(evals[0].triggered_by(), "deployment-watcher");
  put(alloc('b', true, evals[0].create_index() + 1));  // within a second: together with what comes
  put(alloc('c', true, evals[0].create_index() + 1));
  ASSERT_TRUE(eventually_evaluated(2));
  EXPECT_EQ(evaluations(), 2U);
}

TEST_F(Watching, AnUnhealthyOneIsMarkedForReplacement) {
  create(running());
  put(alloc('a', false));
  const auto leader = lead();
  EXPECT_TRUE(host_.eventually(
      [&](const ReadView& view) { return allocs_.get(view, id_of('a'))->desired_transition().reschedule(); }));
  EXPECT_EQ(evaluations(), 1U);
}

TEST_F(Watching, ALateOneFailsAlsoUnderANewLeader) {
  v1::Deployment late = running();
  v1::DeploymentState& group = (*late.mutable_task_groups())["front"];
  group.set_auto_revert(true);
  group.set_require_progress_by(host_.clock().wall_ns() + 500 * kMillisecond);
  create(late);
  { const auto first = lead(); }
  const auto second = lead();
  ASSERT_TRUE(eventually_is(v1::DEPLOYMENT_STATUS_FAILED));
  EXPECT_EQ(deployment().status_description(), "Failed due to progress deadline - rolling back to job version 1");
}

TEST_F(Watching, HealthyCanariesArePromoted) {
  v1::Deployment canaries = running();
  v1::DeploymentState& group = (*canaries.mutable_task_groups())["front"];
  group.set_auto_promote(true);
  group.set_desired_canaries(1);
  group.add_placed_canaries(id_of('a'));
  create(canaries);
  const auto leader = lead();
  put(alloc('a', true));
  EXPECT_TRUE(host_.eventually([&](const ReadView& view) {
    return tables_.deployments.get(view, kDeployment)->task_groups().at("front").promoted();
  }));
}

TEST_F(Watching, WhatCouldNotBeWrittenIsTriedAgain) {
  create(running());
  host_.refuse("drover.v1.AllocationsTransitioned", unavailable("No cluster leader"));
  const auto leader = lead();
  put(alloc('a', false));
  ASSERT_TRUE(host_.wait_until_refused(1));
  host_.refuse("drover.v1.AllocationsTransitioned", ok_status());
  advance(5s);
  EXPECT_TRUE(eventually_evaluated(1));
}

TEST_F(Watching, BeginsAnewWhenTheFeedFellBehind) {
  create(running());
  const auto leader = lead();
  host_.resync();
  put(alloc('a', true, 5));
  EXPECT_TRUE(eventually_evaluated(1));
}

}  // namespace
}  // namespace drover::deployments
