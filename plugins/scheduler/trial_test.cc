#include <gtest/gtest.h>

#include "deciding/decide.h"
#include "testing/shell.h"
#include "trial_rpc.h"

namespace drover::scheduler {
namespace {

using testing::make_alloc;
using testing::make_job;
using testing::make_node;

class Trials : public testing::ShellTest {
 protected:
  Trials() {
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(rpc_.start(host_, columns_, exact_runs_, {}).ok());
    put(make_node("n1"));  // eight of 500 MHz
  }
  // Whatever is asked, nothing may be written.
  void TearDown() override { EXPECT_TRUE(host_.proposed().empty()); }

  Result<v1::TrialResponse> run(const v1::Job& job, uint64_t known_index = 0, QueryOptions query = {}) {
    v1::TrialRequest request;
    *request.mutable_job() = job;
    request.set_known_index(known_index);
    const uint64_t before = host_.snapshot()->index();
    auto answer = host_.answer<v1::TrialResponse>("/drover.v1.Trials/Run", request, std::move(query));
    EXPECT_EQ(host_.snapshot()->index(), before);
    return answer;
  }
  // The job as it stands, with two that run.
  v1::Job running(int32_t count = 2) {
    v1::Job job = make_job("service", count);
    put(job);
    for (int i = 0; i < count; ++i) put(make_alloc(job, i, "n1"));
    return job;
  }
  static v1::Job next_version(v1::Job job) {
    job.set_version(job.version() + 1);
    return job;
  }
  // "2 place 1 stop", of the group.
  static std::string counts(const Result<v1::TrialResponse>& answer) {
    if (!answer) return answer.status().message();
    if (!answer->groups().contains("app")) return "no group";
    const v1::DesiredUpdates& updates = answer->groups().at("app").updates();
    std::string text;
    const auto add = [&](uint64_t count, const char* what) {
      if (count > 0) text += (text.empty() ? "" : " ") + std::to_string(count) + " " + what;
    };
    add(updates.ignore(), "ignore");
    add(updates.place(), "place");
    add(updates.migrate(), "migrate");
    add(updates.stop(), "stop");
    add(updates.in_place_update(), "in place");
    add(updates.destructive_update(), "destructive");
    return text;
  }

  SharedColumns columns_{host_, tables_};
  ExactRuns exact_runs_;
  TrialRpc rpc_{tables_};
};

TEST_F(Trials, ANewJobIsPlaced) {
  for (const char* type : {"service", "batch"}) {
    const auto answer = run(make_job(type, 3));
    EXPECT_EQ(counts(answer), "3 place") << type;
    EXPECT_TRUE(answer->failed_tg_allocs().empty());
    EXPECT_TRUE(answer->created_evals().empty());
    EXPECT_EQ(answer->refusal(), "");
  }
}

TEST_F(Trials, ASchedulerOfAnotherPluginIsAskedForItsTypeOfJobs) {
  put(make_node("n2"));
  put(make_node("small", 100));
  const auto answer = run(make_job("everywhere"));
  EXPECT_EQ(counts(answer), "3 place");
  EXPECT_EQ(answer->failed_tg_allocs().at("app").nodes_evaluated(), 1);
  EXPECT_EQ(answer->failed_tg_allocs().at("app").dimension_exhausted().at("cpu"), 1);
  ASSERT_EQ(answer->created_evals_size(), 1);
  EXPECT_EQ(answer->created_evals(0).node_id(), testing::id_of("small"));
}

TEST_F(Trials, WhatDoesNotFitIsExplainedAsInAnEvaluation) {
  v1::Job job = make_job("service", 10);
  const auto answer = run(job);
  EXPECT_EQ(counts(answer), "10 place");
  ASSERT_TRUE(answer->failed_tg_allocs().contains("app"));
  const v1::AllocMetric& metric = answer->failed_tg_allocs().at("app");
  EXPECT_EQ(metric.coalesced_failures(), 1);
  EXPECT_EQ(metric.nodes_exhausted(), 1);
  EXPECT_EQ(metric.dimension_exhausted().at("cpu"), 1);
  ASSERT_EQ(answer->created_evals_size(), 1);
  EXPECT_EQ(answer->created_evals(0).status(), v1::EVAL_STATUS_BLOCKED);
  EXPECT_EQ(answer->created_evals(0).triggered_by(), "queued-allocs");

  v1::Constraint& constraint = *job.add_constraints();
  constraint.set_l_target("${attr.kernel.name}");
  constraint.set_operand("=");
  constraint.set_r_target("plan9");
  const auto filtered = run(job);
  EXPECT_EQ(filtered->failed_tg_allocs().at("app").constraint_filtered().at("${attr.kernel.name} = plan9"), 1);
}

TEST_F(Trials, AnUpdateIsCountedByWhatItForces) {
  const v1::Job job = running();
  const uint64_t known = job.job_modify_index();
  EXPECT_EQ(counts(run(job, known)), "2 ignore");

  v1::Job more = next_version(job);
  more.mutable_task_groups(0)->set_count(5);
  EXPECT_EQ(counts(run(more, known)), "3 place 2 in place");

  v1::Job fewer = next_version(job);
  fewer.mutable_task_groups(0)->set_count(1);
  EXPECT_EQ(counts(run(fewer, known)), "1 stop 1 in place");

  v1::Job other = next_version(job);
  (*other.mutable_task_groups(0)->mutable_tasks(0)->mutable_env())["A"] = "b";
  const auto replaced = run(other, known);
  EXPECT_EQ(counts(replaced), "2 destructive");
  ASSERT_EQ(replaced->groups().at("app").replacing_tasks_size(), 1);
  EXPECT_EQ(replaced->groups().at("app").replacing_tasks(0), "main");

  other.mutable_task_groups(0)->mutable_update()->set_max_parallel(1);
  EXPECT_EQ(counts(run(other, known)), "1 ignore 1 destructive");

  v1::Job gentle = next_version(job);
  gentle.mutable_task_groups(0)->mutable_tasks(0)->set_kill_timeout(7);
  const auto kept = run(gentle, known);
  EXPECT_EQ(counts(kept), "2 in place");
  EXPECT_TRUE(kept->groups().at("app").replacing_tasks().empty());

  v1::Job elsewhere = next_version(job);
  elsewhere.clear_datacenters();
  elsewhere.add_datacenters("dc9");
  EXPECT_EQ(counts(run(elsewhere, known)), "2 destructive");
}

TEST_F(Trials, AllocationsThatMakeRoomAreNamedAsTheyStand) {
  v1::SchedulerConfiguration config = default_configuration();
  config.mutable_preemption_config()->set_service_scheduler_enabled(true);
  host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(tables_.config.put(rows, config).ok()); });
  v1::Job low = make_job("service", 8);
  low.set_priority(20);
  put(low);
  for (int i = 0; i < 8; ++i) put(make_alloc(low, i, "n1"));
  v1::Job high = make_job("service", 2);
  high.set_id("high");
  high.set_priority(90);

  const auto answer = run(high);
  EXPECT_EQ(counts(answer), "2 place");
  EXPECT_EQ(answer->groups().at("app").updates().preemptions(), 2U);
  ASSERT_EQ(answer->preempted_size(), 2);
  for (const v1::Allocation& alloc : answer->preempted()) {
    EXPECT_EQ(alloc.job_id(), low.id());
    EXPECT_EQ(alloc.node_id(), testing::id_of("n1"));
    EXPECT_EQ(alloc.desired_status(), v1::DESIRED_STATUS_RUN) << "as it stands";
  }
  EXPECT_NE(answer->preempted(0).id(), answer->preempted(1).id());

  high.set_priority(25);  // too little more
  EXPECT_TRUE(run(high)->preempted().empty());
}

TEST_F(Trials, AGroupThatIsGoneStopsAndOneOfAnotherNameStarts) {
  const v1::Job job = running();
  v1::Job renamed = next_version(job);
  renamed.mutable_task_groups(0)->set_name("web");
  const auto answer = run(renamed, job.job_modify_index());
  EXPECT_EQ(counts(answer), "2 stop");
  EXPECT_EQ(answer->groups().at("web").updates().place(), 2U);
}

TEST_F(Trials, AStoppedJobStartsAnew) {
  v1::Job job = make_job("service", 2);
  job.set_stop(true);
  put(job);
  v1::Allocation ended = make_alloc(job, 0, "n1", v1::CLIENT_STATUS_COMPLETE);
  ended.set_desired_status(v1::DESIRED_STATUS_STOP);
  put(ended);
  v1::Job again = next_version(job);
  again.set_stop(false);
  EXPECT_EQ(counts(run(again, job.job_modify_index())), "2 place");
}

TEST_F(Trials, WhatIsLostOrDrainedIsCountedAsEvaluationsTreatIt) {
  const v1::Job job = running();
  v1::Allocation moved = make_alloc(job, 0, "n1");
  moved.mutable_desired_transition()->set_migrate(true);
  put(moved);
  EXPECT_EQ(counts(run(job, job.job_modify_index())), "1 ignore 1 migrate");

  v1::Node down = make_node("n1");
  down.set_status(v1::NODE_STATUS_DOWN);
  put(down);
  put(make_node("n2"));
  EXPECT_EQ(counts(run(job, job.job_modify_index())), "2 place 2 stop");
}

TEST_F(Trials, ADecisionOnAJobThatChangedMeanwhileIsNotGiven) {
  const v1::Job job = running();
  EXPECT_EQ(run(job, 3).status().code(), Code::aborted);
  EXPECT_EQ(run(job, 0).status().code(), Code::aborted);
  v1::Job unknown = make_job();
  unknown.set_id("unknown");
  EXPECT_EQ(run(unknown, 3).status().code(), Code::aborted);
}

TEST_F(Trials, TypesThatNobodySchedulesAreRefusedWithTheReason) {
  EXPECT_EQ(run(make_job("system"))->refusal(), "job type \"system\" has no scheduler in this version of drover");
  TrialRpc narrow(tables_);
  drover::testing::MemoryRows& rows = host_.rows();
  ASSERT_TRUE(narrow.declare(rows).ok());
  ASSERT_TRUE(narrow.start(host_, columns_, exact_runs_, [] { return std::set<std::string>{"batch"}; }).ok());
  EXPECT_EQ(run(make_job("service"))->refusal(),
            "the leading server does not schedule jobs of type \"service\" (server.enabled_schedulers)");
  EXPECT_EQ(run(make_job("batch"))->refusal(), "");
}

TEST_F(Trials, AJobOfAnotherNamespaceThanTheCallsIsRefused) {
  EXPECT_EQ(run(make_job(), 0, {.name_space = "other"}).status().code(), Code::invalid_argument);
  EXPECT_EQ(run(v1::Job()).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace drover::scheduler
