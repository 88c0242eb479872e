#include "plans/exact_plan.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "drover/v1/trial.pb.h"
#include "leader.h"
#include "testing/shell.h"
#include "trial_rpc.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

TEST(ExactPlan, IdentifiersFollowFromTheEvaluation) {
  auto one = ids_after(id_of("eval")), same = ids_after(id_of("eval")), other = ids_after(id_of("other"));
  std::set<std::string> all;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = one();
    EXPECT_EQ(id.size(), 16U);
    EXPECT_EQ(id, same());
    EXPECT_TRUE(all.insert(id).second);
    EXPECT_TRUE(all.insert(other()).second);
  }
}

v1::PlannedChange change_of(const char* name, const char* action, const char* node) {
  v1::PlannedChange change;
  change.set_group("app");
  change.set_name(name);
  change.set_action(action);
  change.set_node_id(id_of(node));
  change.set_node_name(node);
  return change;
}

TEST(ExactPlan, DifferencesAreNamed) {
  const std::vector<v1::PlannedChange> planned = {change_of("web.app[0]", "place", "n1"),
                                                  change_of("web.app[1]", "place", "n2")};
  std::vector<v1::PlannedChange> now = {planned[1], planned[0]};
  EXPECT_TRUE(differences(planned, now).empty()) << "the order says nothing";
  now[0] = change_of("web.app[1]", "place", "n3");
  EXPECT_EQ(differences(planned, now),
            (std::vector<std::string>{"no longer: place web.app[1] on n2", "instead: place web.app[1] on n3"}));
}

// A server that leads, with a stand-in for what the plugin jobs does with a registration.
class ExactRun : public testing::ShellTest {
 protected:
  ExactRun() {
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(rpc_.start(host_, columns_, exact_runs_, {}).ok());
    EXPECT_TRUE(host_.rows()
                    .command("drover.v1.JobRegistered",
                             [this](std::string_view bytes, ApplyContext& context) -> Result<std::string> {
                               DROVER_TRY(auto command, parse_message<v1::JobRegistered>(bytes));
                               v1::Job job = command.job();
                               const auto known = jobs_.get(context.rows(), job_key(job.namespace_(), job.id()));
                               if (command.enforce_index() &&
                                   (known ? known->job_modify_index() : 0) != command.job_modify_index()) {
                                 return aborted("Enforcing job modify index");
                               }
                               job.set_create_index(known ? known->create_index() : context.index());
                               job.set_job_modify_index(context.index());
                               DROVER_RETURN_IF_ERROR(jobs_.put(context.rows(), job));
                               return std::string();
                             })
                    .ok());
    EXPECT_TRUE(host_.rows()
                    .command("drover.v1.DeploymentsUpdated",
                             [](std::string_view, ApplyContext&) -> Result<std::string> { return std::string(); })
                    .ok());
    for (const char* name : {"n1", "n2", "n3"}) put(make_node(name));
  }
  std::jthread lead() {
    std::jthread leader([this](std::stop_token stop) { Leader(host_, tables_, columns_, exact_runs_, {}).run(stop); });
    // It is open once a run is refused for another reason.
    v1::ExactRunRequest probe;
    *probe.mutable_job() = make_job("everywhere");
    *probe.mutable_registration()->mutable_job() = probe.job();
    probe.mutable_registration()->set_job_modify_index(99);
    probe.set_eval_id(id_of("probe"));
    while (apply(probe).status().code() == Code::unavailable) std::this_thread::yield();
    return leader;
  }
  v1::ExactRunRequest planned(const v1::Job& job, uint64_t known_index = 0) {
    v1::TrialRequest request;
    *request.mutable_job() = job;
    request.set_known_index(known_index);
    const auto trial = host_.answer<v1::TrialResponse>("/drover.v1.Trials/Run", request);
    EXPECT_TRUE(trial.ok()) << trial.status().message();
    v1::ExactRunRequest run;
    *run.mutable_job() = job;
    *run.mutable_registration()->mutable_job() = job;
    run.mutable_registration()->set_job_modify_index(known_index);
    run.set_eval_id(trial->eval_id());
    *run.mutable_changes() = trial->changes();
    return run;
  }
  Result<v1::ExactRunResponse> apply(const v1::ExactRunRequest& request) {
    return host_.answer<v1::ExactRunResponse>("/drover.v1.Trials/Apply", request);
  }

  SharedColumns columns_{host_, tables_};
  ExactRuns exact_runs_;
  TrialRpc rpc_{tables_};
};

TEST_F(ExactRun, JobAndPlanComeInOneEntry) {
  const auto leader = lead();
  const v1::Job job = make_job("service", 3);
  const auto run = planned(job);
  ASSERT_EQ(run.changes_size(), 3);
  const auto done = apply(run);
  ASSERT_TRUE(done.ok()) << done.status().message();
  const auto allocs = allocs_of(job);
  ASSERT_EQ(allocs.size(), 3U);
  for (const v1::Allocation& alloc : allocs) {
    EXPECT_EQ(alloc.create_index(), done->index());
    EXPECT_EQ(alloc.job_create_index(), done->index());
    EXPECT_EQ(alloc.eval_id(), run.eval_id());
  }
  std::multiset<std::string> wanted, got;
  for (const v1::PlannedChange& change : run.changes()) wanted.insert(change.name() + change.node_id());
  for (const v1::Allocation& alloc : allocs) got.insert(alloc.name() + alloc.node_id());
  EXPECT_EQ(got, wanted);
  EXPECT_EQ(done->job_modify_index(), done->index());
  const auto eval = tables_.evals.get(*host_.snapshot(), run.eval_id());
  ASSERT_TRUE(eval);
  EXPECT_EQ(eval->status(), v1::EVAL_STATUS_COMPLETE);

  const auto again = apply(run);
  EXPECT_EQ(again.status().code(), Code::failed_precondition) << "once is enough";
  EXPECT_EQ(allocs_of(job).size(), 3U);
}

TEST_F(ExactRun, WhatWouldBeDoneOtherwiseNowIsNotDone) {
  const auto leader = lead();
  const v1::Job job = make_job("service", 1);
  const auto run = planned(job);
  const std::string node = run.changes(0).node_id();
  host_.commit([&](WriteTransaction& rows) { nodes_.erase(rows, node); });
  const auto done = apply(run);
  EXPECT_EQ(done.status().code(), Code::failed_precondition);
  EXPECT_NE(done.status().message().find("no longer: place web.app[0] on " + run.changes(0).node_name()),
            std::string::npos)
      << done.status().message();
  EXPECT_TRUE(allocs_of(job).empty());
  EXPECT_FALSE(jobs_.get(*host_.snapshot(), job_key(job.namespace_(), job.id())));
}

TEST_F(ExactRun, AJobThatHasChangedIsAskedAboutAnew) {
  const auto leader = lead();
  const v1::Job job = make_job("service", 1);
  const auto run = planned(job);
  put(job);
  EXPECT_EQ(apply(run).status().code(), Code::aborted);
  EXPECT_TRUE(allocs_of(job).empty());
}

TEST_F(ExactRun, TheLogHasTheLastWord) {
  const auto leader = lead();
  const v1::Job job = make_job("service", 1);
  const auto run = planned(job);
  host_.refuse("drover.v1.PlansPacked", unavailable("the log is closed"));
  EXPECT_EQ(apply(run).status().code(), Code::unavailable);
  EXPECT_FALSE(jobs_.get(*host_.snapshot(), job_key(job.namespace_(), job.id())));
  host_.refuse("drover.v1.PlansPacked", ok_status());
  EXPECT_TRUE(apply(run).ok()) << "the job is free again";
}

TEST_F(ExactRun, AnIncompleteQuestionIsRefused) {
  v1::ExactRunRequest request = planned(make_job());
  EXPECT_EQ(apply(request).status().code(), Code::unavailable) << "nobody leads";
  request.set_eval_id("short");
  EXPECT_EQ(apply(request).status().code(), Code::invalid_argument);
  request.mutable_registration()->mutable_job()->set_id("other");
  EXPECT_EQ(apply(request).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace drover::scheduler
