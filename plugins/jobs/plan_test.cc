#include <gtest/gtest.h>

#include <algorithm>

#include "canonical.h"
#include "drover/api/jobs.pb.h"
#include "drover/api/plan.pb.h"
#include "drover/json.h"
#include "drover/scheduler.h"
#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/job_counts.pb.h"
#include "drover/v1/scheduler_config.pb.h"
#include "drover/v1/trial.pb.h"
#include "rpc.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/permissions.h"
#include "tables.h"

namespace drover::jobs {
namespace {

// The handlers over a state in memory; the scheduler is what the test says.
class Plans : public ::testing::Test {
 protected:
  Plans() {
    host_.rows().add_table(job_counts_table().spec());
    config_ = Table<v1::SchedulerConfiguration>(host_.rows().add_table(scheduler_config_table().spec()));
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(rpc_.start(host_).ok());
    host_.answer_calls_with([this](const CallContext& context, const std::string& bytes) -> Result<std::string> {
      EXPECT_EQ(context.method, "/drover.v1.Trials/Run");
      asked_namespace_ = context.query.name_space;
      asked_.emplace_back().ParseFromString(bytes);
      if (!failures_.empty()) {
        const Status failure = failures_.back();
        failures_.pop_back();
        return failure;
      }
      return answer_.SerializeAsString();
    });
  }

  static v1::Job job(const std::string& command = "/bin/a", int count = 2) {
    v1::Job job;
    EXPECT_TRUE(json_to_message(R"({"ID":"web","TaskGroups":[{"Name":"g","Count":)" + std::to_string(count) +
                                    R"(,"Tasks":[{"Name":"t","Driver":"raw_exec","Config":{"command":")" + command +
                                    R"("}}]}]})",
                                job)
                    .ok());
    return job;
  }
  void register_job(const v1::Job& job) {
    v1::RegisterJobRequest request;
    *request.mutable_job() = job;
    const auto answer = host_.answer<v1::RegisterJobResponse>("/drover.v1.Jobs/Register", request);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
  }
  Result<v1::PlanJobResponse> plan(const v1::Job& job, bool diff = true) {
    v1::PlanJobRequest request;
    *request.mutable_job() = job;
    request.set_diff(diff);
    const uint64_t before = host_.snapshot()->index();
    auto answer = host_.answer<v1::PlanJobResponse>("/drover.v1.Jobs/Plan", request);
    EXPECT_EQ(host_.snapshot()->index(), before) << "a plan writes nothing";
    return answer;
  }

  drover::testing::FakeHost host_;
  Table<v1::SchedulerConfiguration> config_;
  Tables tables_;
  Rpc rpc_{tables_};
  std::string asked_namespace_;
  std::vector<v1::TrialRequest> asked_;
  std::vector<Status> failures_;  // the last one first; then the answer
  v1::TrialResponse answer_;
};

TEST_F(Plans, ANewJobIsTriedAsItWouldBeStored) {
  (*answer_.mutable_groups())["g"].mutable_updates()->set_place(2);
  (*answer_.mutable_failed_tg_allocs())["g"].set_nodes_exhausted(3);
  answer_.add_created_evals()->set_triggered_by("queued-allocs");
  const auto answer = plan(job());
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_EQ(asked_.size(), 1U);
  EXPECT_EQ(asked_[0].known_index(), 0U);
  EXPECT_EQ(asked_[0].job().version(), 0U);
  EXPECT_EQ(asked_[0].job().type(), "service");  // with its defaults
  EXPECT_EQ(asked_namespace_, "default");
  EXPECT_EQ(answer->annotations().desired_tg_updates().at("g").place(), 2U);
  EXPECT_EQ(answer->failed_tg_allocs().at("g").nodes_exhausted(), 3);
  ASSERT_EQ(answer->created_evals_size(), 1);
  EXPECT_EQ(answer->job_modify_index(), 0U);
  EXPECT_EQ(answer->diff().type(), v1::DIFF_TYPE_ADDED);
  EXPECT_EQ(answer->diff().task_groups(0).updates().at("create"), 2U);
  for (const v1::ObjectDiff& object : answer->diff().objects()) EXPECT_NE(object.name(), "Update");
  for (const v1::ObjectDiff& object : answer->diff().task_groups(0).objects()) EXPECT_NE(object.name(), "Consul");
  EXPECT_EQ(answer->warnings(), "");
  EXPECT_FALSE(plan(job(), false)->has_diff());
}

TEST_F(Plans, WhatMakesRoomIsNamedWhereTheCallerMayReadIt) {
  v1::Job low = job();
  low.set_id("low");
  low.set_type("batch");
  register_job(low);
  const auto preempt = [&](const char* id, const char* job_id, const char* name_space) {
    v1::Allocation& alloc = *answer_.add_preempted();
    alloc.set_id(std::string(16, id[0]));
    alloc.set_job_id(job_id);
    alloc.set_namespace_(name_space);
    alloc.set_task_group("g");
    v1::Evaluation& eval = *answer_.add_created_evals();
    eval.set_job_id(job_id);
    eval.set_namespace_(name_space);
    eval.set_triggered_by("preemption");
  };
  preempt("a", "low", "default");
  preempt("b", "gone", "default");
  preempt("c", "secret", "hidden");

  const auto all = plan(job());
  ASSERT_TRUE(all.ok()) << all.status().message();
  ASSERT_EQ(all->annotations().preempted_allocs_size(), 3);
  EXPECT_EQ(all->annotations().unnamed_preemptions(), 0U);
  EXPECT_EQ(all->annotations().preempted_allocs(0).job_id(), "low");
  EXPECT_EQ(all->annotations().preempted_allocs(0).job_type(), "batch");
  EXPECT_EQ(all->annotations().preempted_allocs(1).job_type(), "");
  EXPECT_EQ(all->created_evals_size(), 3);

  host_.call_as({Identity::Kind::token, "t", std::make_shared<drover::testing::OnlyIn>("default")});
  const auto some = plan(job());
  ASSERT_TRUE(some.ok()) << some.status().message();
  ASSERT_EQ(some->annotations().preempted_allocs_size(), 2);
  EXPECT_EQ(some->annotations().unnamed_preemptions(), 1U);
  EXPECT_EQ(some->created_evals_size(), 2);
  EXPECT_EQ(some->SerializeAsString().find("secret"), std::string::npos);
}

TEST_F(Plans, AJobOfAnotherRegionIsNeitherPlannedNorRegistered) {
  host_.agent_info().region = "eu";
  v1::Job elsewhere = job();
  elsewhere.set_region("mars");
  v1::RegisterJobRequest request;
  *request.mutable_job() = elsewhere;
  const std::string refused = "No path to region \"mars\", which the job names; this is the region \"eu\"";
  EXPECT_EQ(plan(elsewhere).status().message(), refused);
  EXPECT_EQ(host_.answer<v1::RegisterJobResponse>("/drover.v1.Jobs/Register", request).status().message(), refused);
  EXPECT_TRUE(asked_.empty());
  elsewhere.clear_region();
  ASSERT_TRUE(plan(elsewhere).ok());
  EXPECT_EQ(asked_.back().job().region(), "eu");
}

TEST_F(Plans, AnExistingJobIsTriedWithTheVersionItWouldGet) {
  register_job(job());
  const auto stored = tables_.jobs.get(*host_.snapshot(), job_key("default", "web"));
  ASSERT_TRUE(stored);
  ASSERT_TRUE(plan(job()).ok());
  EXPECT_EQ(asked_.back().known_index(), stored->job_modify_index());
  EXPECT_EQ(asked_.back().job().version(), 0U) << "the same description is the same version";

  v1::TrialGroup& group = (*answer_.mutable_groups())["g"];
  group.mutable_updates()->set_destructive_update(2);
  group.add_replacing_tasks("t");
  const auto answer = plan(job("/bin/b"));
  EXPECT_EQ(asked_.back().job().version(), 1U);
  EXPECT_EQ(asked_.back().job().create_index(), stored->create_index());
  EXPECT_EQ(answer->job_modify_index(), stored->job_modify_index());
  const v1::TaskGroupDiff& diff = answer->diff().task_groups(0);
  EXPECT_EQ(diff.updates().at("create/destroy update"), 2U);
  ASSERT_EQ(diff.tasks_size(), 1);
  EXPECT_EQ(diff.tasks(0).annotations(0), "forces create/destroy update");
}

TEST_F(Plans, WhatOnlyServersKnowIsNotTakenFromAClient) {
  v1::Job sent = job();
  sent.set_stop(true);
  sent.set_stable(true);
  sent.set_parent_id("other");
  sent.set_dispatched(true);
  sent.set_dispatch_idempotency_token("once");
  sent.set_nomad_token_id("token");
  sent.set_status_description("fine");
  sent.set_status(v1::JOB_STATUS_DEAD);
  sent.set_version(7);
  sent.mutable_version_tag()->set_name("golden");
  register_job(sent);
  const auto stored = tables_.jobs.get(*host_.snapshot(), job_key("default", "web"));
  register_job(job());
  const auto plain = tables_.jobs.get(*host_.snapshot(), job_key("default", "web"));
  ASSERT_TRUE(stored && plain);
  EXPECT_EQ(stored->version(), plain->version()) << "the second is the same description";
  EXPECT_FALSE(stored->stop() || stored->stable() || stored->dispatched() || stored->has_version_tag());
  EXPECT_EQ("", stored->parent_id() + stored->dispatch_idempotency_token() + stored->nomad_token_id());
  EXPECT_EQ("", stored->status_description());
  EXPECT_EQ(v1::JOB_STATUS_PENDING, stored->status());
}

TEST_F(Plans, AStoppedJobIsTriedAsRunning) {
  register_job(job());
  v1::DeregisterJobRequest stop;
  stop.set_job_id("web");
  ASSERT_TRUE(host_.answer<v1::DeregisterJobResponse>("/drover.v1.Jobs/Deregister", stop).ok());
  ASSERT_TRUE(plan(job()).ok());
  EXPECT_FALSE(asked_.back().job().stop());
  EXPECT_EQ(asked_.back().job().version(), 2U);
}

TEST_F(Plans, AJobThatIsNotThereIsStoppedAsAsked) {
  v1::DeregisterJobRequest stop;
  stop.set_job_id("nobody");
  const auto answer = host_.answer<v1::DeregisterJobResponse>("/drover.v1.Jobs/Deregister", stop);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ("", answer->eval_id());
}

TEST_F(Plans, AJobThatChangesInBetweenIsLookedAtAgain) {
  failures_ = {aborted("changed"), aborted("changed")};
  EXPECT_TRUE(plan(job()).ok());
  EXPECT_EQ(asked_.size(), 3U);
  failures_ = {aborted("changed"), aborted("changed"), aborted("changed")};
  EXPECT_EQ(plan(job()).status().code(), Code::aborted);
}

TEST_F(Plans, WithoutASchedulerThePlanComparesAndSaysSo) {
  register_job(job());
  failures_ = {unimplemented("unknown method /drover.v1.Trials/Run")};
  const auto answer = plan(job("/bin/b"));
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->has_annotations());
  EXPECT_EQ(answer->warnings(),
            "the plan compares only, nothing was placed: the plugin scheduler is not loaded on the leading server");
  EXPECT_EQ(answer->diff().type(), v1::DIFF_TYPE_EDITED);
  EXPECT_TRUE(answer->diff().task_groups(0).updates().empty());

  answer_.set_refusal("nobody schedules that");
  EXPECT_EQ(plan(job())->warnings(), "the plan compares only, nothing was placed: nobody schedules that");
}

TEST_F(Plans, TakeJobsOfTheTypesThatPluginsSchedule) {
  v1::Job unusual = job();
  unusual.set_type("everywhere");
  EXPECT_NE(plan(unusual).status().message().find("type: job type \"everywhere\" is unknown"), std::string::npos);

  int scheduler = 0;  // nobody calls it here
  ASSERT_TRUE(host_.rows().extension(std::string(Scheduler::kExtensionPoint), "everywhere", &scheduler).ok());
  ASSERT_TRUE(rpc_.start(host_).ok());
  EXPECT_TRUE(plan(unusual).ok());
}

TEST_F(Plans, RefusesWhatRegisteringRefuses) {
  v1::Job periodic = job();  // of a type that ends never
  periodic.mutable_periodic()->set_spec("@daily");
  v1::RegisterJobRequest request;
  *request.mutable_job() = periodic;
  const auto refused = host_.answer<v1::RegisterJobResponse>("/drover.v1.Jobs/Register", request).status();
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_EQ(plan(periodic).status().message(), refused.message());
}

TEST_F(Plans, OfAPeriodicJobSayWhenItIsLaunched) {
  v1::Job periodic = job();
  periodic.set_type("batch");
  periodic.mutable_periodic()->set_spec("0 0 1 1 * 2090");
  EXPECT_EQ(plan(periodic)->next_periodic_launch(), 3'786'912'000'000'000'000);
  periodic.mutable_periodic()->set_enabled(false);
  EXPECT_EQ(plan(periodic)->next_periodic_launch(), 0);
}

TEST_F(Plans, AnswerWithTheIndexThatTheySaw) {
  register_job(job());
  v1::PlanJobRequest request;
  *request.mutable_job() = job();
  ReplyMeta meta;
  ASSERT_TRUE(host_.answer<v1::PlanJobResponse>("/drover.v1.Jobs/Plan", request, {}, &meta).ok());
  EXPECT_EQ(meta.index, host_.snapshot()->index());
}

// As a client does that asks jobs/parse for the canonical job and registers the answer.
TEST_F(Plans, AJobInTheClientsFormIsTheSameVersion) {
  register_job(job());
  v1::Job filled = job();
  fill_in_for_clients(filled);
  v1::Job sent;
  ASSERT_TRUE(json_to_message(message_to_json(filled), sent).ok());
  register_job(sent);
  EXPECT_EQ(tables_.jobs.get(*host_.snapshot(), job_key("default", "web"))->version(), 0U);
}

TEST_F(Plans, AnEvaluationIsOfTheJobOfItsPath) {
  register_job(job());
  v1::EvaluateJobRequest request;
  request.set_path_job_id("web");
  request.set_job_id("bat");
  const auto refused = host_.answer<v1::RegisterJobResponse>("/drover.v1.Jobs/Evaluate", request);
  EXPECT_EQ(refused.status().to_string(), "invalid_argument: JobID not same as job name");
  const auto apply = [](std::string_view, ApplyContext&) -> Result<std::string> { return std::string(); };
  ASSERT_TRUE(host_.rows().command("drover.v1.EvalsUpdated", apply).ok());
  for (const char* named : {"web", ""}) {
    request.set_job_id(named);
    const auto answer = host_.answer<v1::RegisterJobResponse>("/drover.v1.Jobs/Evaluate", request);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
  }
}

TEST_F(Plans, ARegistrationIsRefusedWhileTheOperatorHasSwitchedThemOff) {
  host_.call_as({Identity::Kind::token, "a client's", std::make_shared<drover::testing::AllButManagement>()});
  for (const bool rejects : {true, false}) {
    v1::SchedulerConfiguration row;
    row.set_reject_job_registration(rejects);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(config_.put(rows, row).ok()); });
    v1::RegisterJobRequest request;
    *request.mutable_job() = job();
    const auto answer = host_.answer<v1::RegisterJobResponse>("/drover.v1.Jobs/Register", request);
    EXPECT_EQ(answer.status().to_string(),
              rejects ? "permission_denied: Job registration, dispatch, and scale are disabled by the scheduler "
                        "configuration"
                      : "ok");
  }
}

TEST_F(Plans, ARegistrationNeedsTheRightToWhatTheJobSays) {
  class NoVolumes final : public drover::testing::AllButManagement {
    bool may_mount(std::string_view, bool writes) const override { return !writes; }
  };
  const auto submit = [&](const v1::Job& job) {
    v1::RegisterJobRequest request;
    *request.mutable_job() = job;
    return host_.answer<v1::RegisterJobResponse>("/drover.v1.Jobs/Register", request).status().message();
  };
  host_.call_as({Identity::Kind::token, "t", std::make_shared<drover::testing::OnlyIn>("default")});
  v1::Job elsewhere = job();
  elsewhere.set_namespace_("prod");
  EXPECT_EQ(submit(elsewhere), "Permission denied");
  EXPECT_EQ(submit(job()), "");
  host_.call_as({Identity::Kind::token, "t", std::make_shared<NoVolumes>()});
  v1::Job with_volume = job();
  v1::VolumeRequest& volume = (*with_volume.mutable_task_groups(0)->mutable_volumes())["v"];
  volume.set_name("v");
  volume.set_type("host");
  volume.set_source("data");
  EXPECT_EQ(submit(with_volume), "Permission denied");
  volume.set_read_only(true);
  EXPECT_EQ(submit(with_volume), "");
}

TEST_F(Plans, OtherErrorsArePassedOn) {
  failures_ = {permission_denied("Permission denied")};
  EXPECT_EQ(plan(job()).status().code(), Code::permission_denied);
  v1::Job wrong = job();
  wrong.mutable_task_groups(0)->mutable_tasks(0)->clear_driver();
  EXPECT_EQ(plan(wrong).status().code(), Code::invalid_argument);
  EXPECT_EQ(asked_.size(), 1U) << "a job that is not valid is not tried";
}

TEST(AsRegistered, NumbersVersionsAndKeepsWhatIsTheSame) {
  v1::Job job;
  job.set_id("web");
  const v1::Job first = as_registered(job, nullptr, 7, 100);
  EXPECT_EQ(first.version(), 0U);
  EXPECT_EQ(first.create_index(), 7U);
  EXPECT_EQ(first.submit_time(), 100);
  EXPECT_EQ(first.status(), v1::JOB_STATUS_PENDING);

  v1::Job running = first;
  running.set_status(v1::JOB_STATUS_RUNNING);
  const v1::Job same = as_registered(job, &running, 9, 200);
  EXPECT_EQ(same.version(), 0U);
  EXPECT_EQ(same.submit_time(), 100);
  EXPECT_EQ(same.job_modify_index(), 9U);

  job.set_priority(70);
  const v1::Job next = as_registered(job, &running, 9, 200);
  EXPECT_EQ(next.version(), 1U);
  EXPECT_EQ(next.create_index(), 7U);
  EXPECT_EQ(next.modify_index(), 9U);
  EXPECT_EQ(next.status(), v1::JOB_STATUS_RUNNING);
  EXPECT_EQ(next.submit_time(), 200);
}

}  // namespace
}  // namespace drover::jobs
