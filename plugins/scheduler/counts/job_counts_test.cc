#include "counts/job_counts.h"

#include <gtest/gtest.h>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/job_counts.pb.h"

namespace drover::scheduler {
namespace {

v1::Evaluation eval(const std::string& id, v1::EvalStatus status, uint64_t created = 1) {
  v1::Evaluation eval;
  eval.set_id(id);
  eval.set_status(status);
  eval.set_create_index(created);
  return eval;
}

std::string text(const v1::JobCounts& counts) { return counts.ShortDebugString(); }

TEST(JobCounts, FollowAnAllocationThroughItsLife) {
  v1::Allocation alloc;
  alloc.set_task_group("app");
  alloc.set_job_create_index(7);
  alloc.set_client_status(v1::CLIENT_STATUS_PENDING);
  v1::JobCounts counts;
  CountedAlloc(alloc).add_to(counts, 1);
  EXPECT_EQ(text(counts),
            "allocations: 1 live_allocations: 1 groups { job_create_index: 7 name: \"app\" starting: 1 }");

  CountedAlloc(alloc).add_to(counts, -1);
  alloc.set_client_status(v1::CLIENT_STATUS_FAILED);
  CountedAlloc(alloc).add_to(counts, 1);
  EXPECT_EQ(text(counts), "allocations: 1 groups { job_create_index: 7 name: \"app\" failed: 1 }");

  CountedAlloc(alloc).add_to(counts, -1);
  EXPECT_EQ(text(counts), "") << "nothing is left of it";
}

TEST(JobCounts, AnAllocationThatServersStopLivesNoMore) {
  v1::Allocation alloc;
  alloc.set_client_status(v1::CLIENT_STATUS_RUNNING);
  alloc.set_desired_status(v1::DESIRED_STATUS_STOP);
  v1::JobCounts counts;
  CountedAlloc(alloc).add_to(counts, 1);
  EXPECT_EQ(counts.live_allocations(), 0);
  EXPECT_EQ(counts.groups(0).running(), 1);
}

TEST(JobCounts, KeepWhichEvaluationsAreBlocked) {
  v1::JobCounts counts;
  CountedEval(eval("a", v1::EVAL_STATUS_BLOCKED)).add_to(counts, 1);
  CountedEval(eval("b", v1::EVAL_STATUS_PENDING)).add_to(counts, 1);
  EXPECT_EQ(text(counts), "evaluations: 2 open_evaluations: 2 blocked_evaluations: \"a\"");

  CountedEval(eval("a", v1::EVAL_STATUS_BLOCKED)).add_to(counts, -1);
  CountedEval(eval("a", v1::EVAL_STATUS_CANCELED)).add_to(counts, 1);
  EXPECT_EQ(text(counts), "evaluations: 2 open_evaluations: 1");
}

TEST(JobCounts, WhatIsQueuedIsWhatTheNewestEvaluationLeftOver) {
  v1::JobCounts counts;
  v1::Evaluation newer = eval("n", v1::EVAL_STATUS_COMPLETE, 9), older = eval("o", v1::EVAL_STATUS_COMPLETE, 5);
  (*newer.mutable_queued_allocations())["app"] = 3;
  (*older.mutable_queued_allocations())["app"] = 8;
  take_queued(counts, newer);
  take_queued(counts, older);
  take_queued(counts, eval("b", v1::EVAL_STATUS_BLOCKED, 10));  // has not looked
  EXPECT_EQ(counts.queued().at("app"), 3);
  EXPECT_EQ(counts.queued_index(), 9u);

  take_queued(counts, eval("all", v1::EVAL_STATUS_COMPLETE, 11));
  EXPECT_TRUE(counts.queued().empty());
}

}  // namespace
}  // namespace drover::scheduler
