#include "testing/handlers.h"

namespace drover::jobs {
namespace {

class Evaluating : public testing::Handlers {
 protected:
  Evaluating() {
    const auto apply = [](std::string_view, ApplyContext&) -> Result<std::string> { return std::string(); };
    EXPECT_TRUE(host_.rows().command("drover.v1.EvalsUpdated", apply).ok());
    const auto transitioned = [this](std::string_view bytes, ApplyContext&) -> Result<std::string> {
      DROVER_TRY(transition_, parse_message<v1::AllocationsTransitioned>(bytes));
      return std::string();
    };
    EXPECT_TRUE(host_.rows().command("drover.v1.AllocationsTransitioned", transitioned).ok());
  }
  Result<v1::RegisterJobResponse> evaluate(bool force) {
    v1::EvaluateJobRequest request;
    request.set_path_job_id("web");
    request.mutable_eval_options()->set_force_reschedule(force);
    return ask<v1::RegisterJobResponse>("Evaluate", request);
  }
  void add(char id, const std::function<void(v1::Allocation&)>& change) {
    v1::Allocation alloc;
    alloc.set_id(std::string(16, id));
    alloc.set_namespace_("default");
    alloc.set_job_id("web");
    alloc.set_task_group("g");
    alloc.set_client_status(v1::CLIENT_STATUS_FAILED);
    change(alloc);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(allocs_.put(rows, alloc).ok()); });
  }

  v1::AllocationsTransitioned transition_;
};

TEST_F(Evaluating, ForcesOnlyWhatFailedAndWasNotReplaced) {
  register_job(described());
  add('a', [](auto&) {});
  add('b', [](auto& alloc) { alloc.set_client_status(v1::CLIENT_STATUS_RUNNING); });
  add('c', [](auto& alloc) { alloc.set_next_allocation(std::string(16, 'a')); });
  add('d', [](auto& alloc) { alloc.mutable_desired_transition()->set_force_reschedule(true); });
  add('e', [](auto& alloc) { alloc.set_task_group("gone"); });
  const auto answer = evaluate(true);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_EQ(1, transition_.alloc_ids_size());
  EXPECT_EQ(std::string(16, 'a'), transition_.alloc_ids(0));
  EXPECT_TRUE(transition_.transition().force_reschedule());
  ASSERT_EQ(1, transition_.evaluations_size());
  EXPECT_EQ(answer->eval_id(), transition_.evaluations(0).id());
  EXPECT_EQ("job-register", transition_.evaluations(0).triggered_by());
}

TEST_F(Evaluating, ForcesNothingThatItsPolicyNeverReplaces) {
  register_job(described("", R"("ReschedulePolicy":{"Attempts":0,"Unlimited":false},)"));
  add('a', [](auto&) {});
  EXPECT_TRUE(evaluate(true).ok());
  EXPECT_TRUE(transition_.alloc_ids().empty());
  EXPECT_EQ("drover.v1.EvalsUpdated", host_.proposed().back());
}

TEST_F(Evaluating, ForcesNothingUnlessAsked) {
  register_job(described());
  add('a', [](auto&) {});
  EXPECT_TRUE(evaluate(false).ok());
  EXPECT_EQ("drover.v1.EvalsUpdated", host_.proposed().back());
}

TEST_F(Evaluating, StopsWithoutDelayWhatRuns) {
  register_job(described());
  add('a', [](auto& alloc) { alloc.set_client_status(v1::CLIENT_STATUS_RUNNING); });
  add('b', [](auto&) {});
  v1::DeregisterJobRequest stop;
  stop.set_job_id("web");
  ASSERT_TRUE(ask<v1::DeregisterJobResponse>("Deregister", stop).ok());
  EXPECT_TRUE(transition_.alloc_ids().empty()) << "nobody asked for it";
  stop.set_no_shutdown_delay(true);
  ASSERT_TRUE(ask<v1::DeregisterJobResponse>("Deregister", stop).ok());
  ASSERT_EQ(1, transition_.alloc_ids_size());
  EXPECT_EQ(std::string(16, 'a'), transition_.alloc_ids(0));
  EXPECT_TRUE(transition_.transition().no_shutdown_delay());
  EXPECT_FALSE(transition_.transition().migrate());
}

TEST_F(Evaluating, AJobThatOnlyStartsChildrenIsNone) {
  register_job(described(R"("Type":"batch","ParameterizedJob":{},)"));
  EXPECT_EQ("can't evaluate parameterized job", evaluate(false).status().message());
  deregister("web", true);
  register_job(described(R"("Type":"batch","Periodic":{"Spec":"@daily"},)"));
  EXPECT_EQ("can't evaluate periodic job", evaluate(false).status().message());
}

}  // namespace
}  // namespace drover::jobs
