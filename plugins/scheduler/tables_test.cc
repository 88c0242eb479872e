#include "tables.h"
#include "scheduler.pb.h"

#include <gtest/gtest.h>

#include "drover/keys.h"
#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "node_rpc.h"
#include "sdk/testing/memory_rows.h"
#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

class SchedulerTables : public ::testing::Test {
 protected:
  void SetUp() override {
    rows_.add_table(jobs_table().spec());
    rows_.add_table(job_versions_table().spec());
    const TableId nodes = rows_.add_table(nodes_table().spec());
    ASSERT_TRUE(declare_tables(rows_, tables_).ok());
    ASSERT_TRUE(Table<v1::Node>(nodes).put(rows_, make_node("n1")).ok());
  }

  v1::Evaluation eval(const std::string& id, v1::EvalStatus status) {
    v1::Evaluation eval;
    eval.set_id(id_of(id));
    eval.set_namespace_("default");
    eval.set_job_id("web");
    eval.set_status(status);
    return eval;
  }
  void place(const v1::Allocation& alloc, uint64_t index) {
    v1::PlanApplied command;
    *command.add_placed() = alloc;
    command.set_time(static_cast<int64_t>(index) * 100);
    ASSERT_TRUE(rows_.apply(command, index).ok());
  }
  v1::Allocation alloc(const std::string& id) { return tables_.allocs.get(rows_, id).value(); }

  drover::testing::MemoryRows rows_;
  Tables tables_;
  const v1::Job job_ = make_job();
};

TEST_F(SchedulerTables, StampEvaluationsAndKeepTheirCreation) {
  v1::EvalsUpdated command;
  *command.add_evaluations() = eval("e", v1::EVAL_STATUS_PENDING);
  command.set_time(500);
  ASSERT_TRUE(rows_.apply(command, 5).ok());
  command.mutable_evaluations(0)->set_status(v1::EVAL_STATUS_COMPLETE);
  command.set_time(600);
  ASSERT_TRUE(rows_.apply(command, 6).ok());

  const auto row = tables_.evals.get(rows_, id_of("e"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->create_index(), 5U);
  EXPECT_EQ(row->modify_index(), 6U);
  EXPECT_EQ(row->create_time(), 500);
  EXPECT_EQ(row->modify_time(), 600);
  const auto told = rows_.told<v1::JobStatusChanged>();  // each time that it means something else
  ASSERT_EQ(told.size(), 2U);
  EXPECT_TRUE(told[0].has_open_evals());
  EXPECT_FALSE(told[1].has_open_evals());
  EXPECT_TRUE(told[1].has_any());
}

// Although its tasks still take their time to end.
TEST_F(SchedulerTables, AJobDiesWhenNoAllocationIsWantedAnyMore) {
  const v1::Allocation one = make_alloc(job_, 0, "n1", v1::CLIENT_STATUS_RUNNING);
  place(one, 7);
  EXPECT_TRUE(rows_.told<v1::JobStatusChanged>().back().has_live_allocs());
  v1::PlanApplied stop;
  stop.add_changed()->set_id(one.id());
  stop.mutable_changed(0)->set_desired_status(v1::DESIRED_STATUS_STOP);
  ASSERT_TRUE(rows_.apply(stop, 8).ok());
  EXPECT_FALSE(rows_.told<v1::JobStatusChanged>().back().has_live_allocs());
  EXPECT_EQ(alloc(one.id()).client_status(), v1::CLIENT_STATUS_RUNNING);
}

TEST_F(SchedulerTables, KeepOneBlockedEvaluationOfAJob) {
  v1::EvalsUpdated command;
  *command.add_evaluations() = eval("old", v1::EVAL_STATUS_BLOCKED);
  ASSERT_TRUE(rows_.apply(command, 5).ok());
  *command.mutable_evaluations(0) = eval("new", v1::EVAL_STATUS_BLOCKED);
  ASSERT_TRUE(rows_.apply(command, 6).ok());
  const auto old = tables_.evals.get(rows_, id_of("old"));
  EXPECT_EQ(old->status(), v1::EVAL_STATUS_CANCELED);
  EXPECT_EQ(old->status_description(), "existing blocked evaluation exists for job \"web\"");

  *command.mutable_evaluations(0) = eval("done", v1::EVAL_STATUS_COMPLETE);
  ASSERT_TRUE(rows_.apply(command, 7).ok());
  EXPECT_EQ(tables_.evals.get(rows_, id_of("new"))->status(), v1::EVAL_STATUS_CANCELED);
}

TEST_F(SchedulerTables, CountAJobAnewWhereItsNumbersAreWrong) {
  const v1::Allocation one = make_alloc(job_, 0, "n1", v1::CLIENT_STATUS_RUNNING);
  ASSERT_TRUE(tables_.allocs.put(rows_, one).ok());  // as in a state that was saved before numbers were kept
  v1::JobCounts wrong;
  wrong.set_namespace_("default");
  wrong.set_job_id("gone");
  wrong.set_allocations(7);
  ASSERT_TRUE(tables_.counts.put(rows_, wrong).ok());

  v1::JobsRecounted command;
  ASSERT_TRUE(rows_.apply(command, 9).ok());

  const auto counts = tables_.counts.get(rows_, job_key("default", "web"));
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->allocations(), 1);
  EXPECT_EQ(counts->live_allocations(), 1);
  ASSERT_EQ(counts->groups_size(), 1);
  EXPECT_EQ(counts->groups(0).running(), 1);
  EXPECT_FALSE(tables_.counts.get(rows_, job_key("default", "gone")));
  ASSERT_EQ(rows_.told<v1::JobStatusChanged>().size(), 2U);
  EXPECT_TRUE(rows_.told<v1::JobStatusChanged>().back().has_live_allocs());
}

TEST_F(SchedulerTables, FindRowsByTheirIndexes) {
  const v1::Allocation one = make_alloc(job_, 0, "n1");
  place(one, 7);
  EXPECT_EQ(tables_.allocs.list(rows_, kAllocsByNode, of_id(id_of("n1"))).size(), 1U);
  EXPECT_EQ(tables_.allocs.list(rows_, kAllocsByJob, of_job("default", "web")).size(), 1U);
  EXPECT_EQ(tables_.allocs.list(rows_, kAllocsByCreation, KeyRange::prefix(KeyBuilder().number(7).view())).size(), 1U);
  v1::EvalsDeleted deleted;
  deleted.add_alloc_ids(one.id());
  ASSERT_TRUE(rows_.apply(deleted, 8).ok());
  EXPECT_TRUE(tables_.allocs.list(rows_, kAllocsByNode, of_id(id_of("n1"))).empty());
}

TEST_F(SchedulerTables, LinkAnAllocationToItsSuccessor) {
  const v1::Allocation first = make_alloc(job_, 0, "n1");
  place(first, 7);
  v1::Allocation second = make_alloc(job_, 1, "n1");
  second.set_previous_allocation(first.id());
  place(second, 8);
  EXPECT_EQ(alloc(first.id()).next_allocation(), second.id());
  EXPECT_EQ(alloc(first.id()).alloc_modify_index(), 8U);
  EXPECT_EQ(alloc(second.id()).create_index(), 8U);
  EXPECT_EQ(alloc(second.id()).create_time(), 800);
}

TEST_F(SchedulerTables, TakeReportsWithoutTouchingWhatServersDecide) {
  const v1::Allocation one = make_alloc(job_, 0, "n1", v1::CLIENT_STATUS_PENDING);
  place(one, 7);
  EXPECT_TRUE(rows_.told<v1::JobStatusChanged>().back().has_live_allocs());
  v1::AllocationsReported command;
  v1::Allocation& report = *command.add_allocations();
  report.set_id(one.id());
  report.set_client_status(v1::CLIENT_STATUS_FAILED);
  report.set_desired_status(v1::DESIRED_STATUS_STOP);
  report.set_job_id("other");
  command.set_time(900);
  ASSERT_TRUE(rows_.apply(command, 9).ok());

  const v1::Allocation row = alloc(one.id());
  EXPECT_EQ(row.client_status(), v1::CLIENT_STATUS_FAILED);
  EXPECT_EQ(row.desired_status(), v1::DESIRED_STATUS_RUN);
  EXPECT_EQ(row.job_id(), "web");
  EXPECT_EQ(row.modify_index(), 9U);
  EXPECT_EQ(row.alloc_modify_index(), 7U);
  EXPECT_EQ(row.modify_time(), 900);
  EXPECT_FALSE(rows_.told<v1::JobStatusChanged>().back().has_live_allocs());
  ASSERT_EQ(rows_.told<v1::ServicesForgotten>().size(), 1U);
  EXPECT_EQ(rows_.told<v1::ServicesForgotten>()[0].alloc_ids(0), one.id());
  ASSERT_TRUE(rows_.apply(command, 10).ok());  // it had ended before
  EXPECT_EQ(rows_.told<v1::ServicesForgotten>().size(), 1U);
}

TEST_F(SchedulerTables, LeaveOutReportsOfANodeThatIsDown) {
  const v1::Allocation one = make_alloc(job_, 0, "n1"), two = make_alloc(job_, 1, "n2");
  place(one, 7);
  place(two, 7);
  v1::Node down = make_node("n1");
  down.set_status(v1::NODE_STATUS_DOWN);
  ASSERT_TRUE(Table<v1::Node>(tables_.nodes).put(rows_, down).ok());
  ASSERT_TRUE(Table<v1::Node>(tables_.nodes).put(rows_, make_node("n2")).ok());
  v1::AllocationsReported command;
  command.add_allocations()->set_id(one.id());
  *command.add_evaluations() = eval("e", v1::EVAL_STATUS_PENDING);
  v1::AllocationsReportedAnswer answer;
  ASSERT_TRUE(answer.ParseFromString(*rows_.apply(command, 9)));
  ASSERT_EQ(answer.refused_size(), 1);
  EXPECT_EQ(answer.refused(0).node_id(), id_of("n1"));
  EXPECT_EQ(answer.refused(0).status(), v1::NODE_STATUS_DOWN);
  EXPECT_EQ(alloc(one.id()).modify_index(), 7U);
  EXPECT_FALSE(tables_.evals.get(rows_, id_of("e"))) << "nothing was written";

  // Beside it, another node's report counts.
  command.add_allocations()->set_id(two.id());
  ASSERT_TRUE(answer.ParseFromString(*rows_.apply(command, 10)));
  ASSERT_EQ(answer.refused_size(), 1);
  EXPECT_EQ(answer.refused(0).at(), 0U);
  EXPECT_EQ(alloc(one.id()).modify_index(), 7U);
  EXPECT_EQ(alloc(two.id()).modify_index(), 10U);
  EXPECT_TRUE(tables_.evals.get(rows_, id_of("e")));
}

TEST_F(SchedulerTables, ApplyDeltasButKeepTheEndThatANodeReported) {
  const v1::Allocation one = make_alloc(job_, 0, "n1", v1::CLIENT_STATUS_COMPLETE);
  place(one, 7);
  v1::PlanApplied command;
  v1::AllocationDelta& delta = *command.add_changed();
  delta.set_id(one.id());
  delta.set_desired_status(v1::DESIRED_STATUS_STOP);
  delta.set_desired_description("why");
  delta.set_client_status(v1::CLIENT_STATUS_LOST);
  command.add_changed()->set_id(id_of("unknown"));
  ASSERT_TRUE(rows_.apply(command, 8).ok());
  EXPECT_EQ(alloc(one.id()).desired_status(), v1::DESIRED_STATUS_STOP);
  EXPECT_EQ(alloc(one.id()).desired_description(), "why");
  EXPECT_EQ(alloc(one.id()).client_status(), v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ(alloc(one.id()).alloc_modify_index(), 8U);
}

TEST_F(SchedulerTables, MarkTransitions) {
  const v1::Allocation one = make_alloc(job_, 0, "n1");
  place(one, 7);
  v1::AllocationsTransitioned command;
  command.add_alloc_ids(one.id());
  command.mutable_transition()->set_migrate(true);
  *command.add_evaluations() = eval("e", v1::EVAL_STATUS_PENDING);
  ASSERT_TRUE(rows_.apply(command, 8).ok());
  EXPECT_TRUE(alloc(one.id()).desired_transition().migrate());
  EXPECT_TRUE(tables_.evals.get(rows_, id_of("e")));
}

v1::Allocation reporting(v1::ClientStatus status) {
  v1::Allocation report;
  report.set_client_status(status);
  return report;
}

TEST(Reports, CallForAnotherLookOnlyWhenNeeded) {
  struct Case {
    const char* name;
    v1::ClientStatus before, now;
    const char* type;
    const char* trigger;
  };
  const Case cases[] = {
      {"starts", v1::CLIENT_STATUS_PENDING, v1::CLIENT_STATUS_RUNNING, "service", ""},
      {"is back", v1::CLIENT_STATUS_UNKNOWN, v1::CLIENT_STATUS_RUNNING, "service", "reconnect"},
      {"ended while away", v1::CLIENT_STATUS_UNKNOWN, v1::CLIENT_STATUS_FAILED, "batch", "reconnect"},
      {"fails", v1::CLIENT_STATUS_RUNNING, v1::CLIENT_STATUS_FAILED, "service", "alloc-failure"},
      {"says it again", v1::CLIENT_STATUS_FAILED, v1::CLIENT_STATUS_FAILED, "service", ""},
      {"service ends", v1::CLIENT_STATUS_RUNNING, v1::CLIENT_STATUS_COMPLETE, "service", "alloc-failure"},
      {"batch is done", v1::CLIENT_STATUS_RUNNING, v1::CLIENT_STATUS_COMPLETE, "batch", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const v1::Job job = make_job(c.type);
    EXPECT_EQ(trigger_for(make_alloc(job, 0, "n1", c.before), reporting(c.now), &job), c.trigger);
  }
  const v1::Job job = make_job();
  EXPECT_EQ(trigger_for(make_alloc(job, 0, "n1"), reporting(v1::CLIENT_STATUS_COMPLETE), nullptr), "job-deregister");
}

TEST(Reports, AFailureCallsForAnotherLookWhileAttemptsAreLeft) {
  v1::Job job = make_job("batch");
  v1::ReschedulePolicy& policy = *job.mutable_task_groups(0)->mutable_reschedule_policy();
  policy.set_unlimited(false);
  policy.set_attempts(1);
  policy.set_interval(1'000);
  v1::Allocation before = make_alloc(job, 0, "n1", v1::CLIENT_STATUS_RUNNING);
  v1::Allocation report = reporting(v1::CLIENT_STATUS_FAILED);
  (*report.mutable_task_states())["web"].set_finished_at(2'000);
  EXPECT_EQ(trigger_for(before, report, &job), "alloc-failure");
  before.mutable_reschedule_tracker()->add_events()->set_reschedule_time(1'500);
  EXPECT_EQ(trigger_for(before, report, &job), "");
  (*report.mutable_task_states())["web"].set_finished_at(5'000);  // the attempt is out of the interval
  EXPECT_EQ(trigger_for(before, report, &job), "alloc-failure");
}

}  // namespace
}  // namespace drover::scheduler
