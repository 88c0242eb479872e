#include "dispatch/dispatch.h"

#include "testing/handlers.h"

namespace drover::jobs {
namespace {

constexpr int64_t kNow = 1'700'000'000'900'000'000;

v1::Job parent(const std::string& payload = "optional") {
  v1::Job job;
  job.set_id("batch/render");
  job.set_priority(50);
  job.mutable_parameterized_job()->set_payload(payload);
  job.mutable_parameterized_job()->add_meta_required("who");
  job.mutable_parameterized_job()->add_meta_optional("size");
  (*job.mutable_meta())["size"] = "small";
  (*job.mutable_meta())["color"] = "red";
  return job;
}

v1::DispatchJobRequest request(const std::string& payload = "") {
  v1::DispatchJobRequest request;
  request.set_payload(payload);
  (*request.mutable_meta())["who"] = "me";
  return request;
}

TEST(Dispatch, TheParentSaysWhatItTakes) {
  const struct {
    const char* name;
    const char* payload;
    std::function<void(v1::Job& parent, v1::DispatchJobRequest& request)> change;
    const char* error;
  } cases[] = {
      {"as it is wanted", "optional", [](auto&, auto&) {}, ""},
      {"a payload where one may be", "optional", [](auto&, auto& r) { r.set_payload("x"); }, ""},
      {"no payload", "required", [](auto&, auto&) {}, "Payload is not provided but required by parameterized job"},
      {"a payload", "forbidden", [](auto&, auto& r) { r.set_payload("x"); },
       "Payload provided but forbidden by parameterized job"},
      {"the largest payload", "required", [](auto&, auto& r) { r.set_payload(std::string(kMaxPayload, 'x')); }, ""},
      {"a payload too large", "required", [](auto&, auto& r) { r.set_payload(std::string(kMaxPayload + 1, 'x')); },
       "Payload exceeds maximum size; 16385 > 16384"},
      {"metadata that nobody asked for", "optional",
       [](auto&, auto& r) { (*r.mutable_meta())["b"] = (*r.mutable_meta())["a"] = ""; },
       "Dispatch request included unpermitted metadata keys: [a b]"},
      {"metadata that is missing", "optional", [](auto&, auto& r) { r.mutable_meta()->clear(); },
       "Dispatch did not provide required meta keys: [who]"},
      {"another kind of job", "optional", [](auto& p, auto&) { p.clear_parameterized_job(); },
       "Specified job \"batch/render\" is not a parameterized job"},
      {"a child", "optional", [](auto& p, auto&) { p.set_dispatched(true); },
       "Specified job \"batch/render\" is not a parameterized job"},
      {"a stopped job", "optional", [](auto& p, auto&) { p.set_stop(true); },
       "Specified job \"batch/render\" is stopped"},
      {"the highest priority", "optional", [](auto&, auto& r) { r.set_priority(100); }, ""},
      {"a priority above it", "optional", [](auto&, auto& r) { r.set_priority(101); },
       "priority must be between 1 and 100"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Job job = parent(c.payload);
    v1::DispatchJobRequest asked = request();
    c.change(job, asked);
    EXPECT_EQ(c.error, check_dispatch(job, asked, 100).message());
  }
}

TEST(Dispatch, TheChildIsTheParentWithItsOwnInput) {
  v1::DispatchJobRequest asked = request("data");
  (*asked.mutable_meta())["size"] = "large";
  asked.set_idempotency_token("once");
  const v1::Job child = dispatched_child(parent(), asked, kNow, "abcd1234");
  EXPECT_EQ("batch/render/dispatch-1700000000-abcd1234", child.id());
  EXPECT_EQ(child.id(), child.name());
  EXPECT_EQ("batch/render", child.parent_id());
  EXPECT_TRUE(child.dispatched());
  EXPECT_TRUE(child.has_parameterized_job());
  EXPECT_EQ("data", child.payload());
  EXPECT_EQ("once", child.dispatch_idempotency_token());
  EXPECT_EQ("large", child.meta().at("size"));
  EXPECT_EQ("red", child.meta().at("color"));
  EXPECT_EQ(50, child.priority());

  asked.set_id_prefix_template("night");
  asked.set_priority(70);
  const v1::Job named = dispatched_child(parent(), asked, kNow, "abcd1234");
  EXPECT_EQ("batch/render/dispatch-night-1700000000-abcd1234", named.id());
  EXPECT_EQ(70, named.priority());
}

class Dispatching : public testing::Handlers {
 protected:
  Dispatching() {
    const auto answer = register_job(described(R"("Type":"batch","ParameterizedJob":{},)"));
    EXPECT_EQ("", answer.eval_id()) << "the parent itself is never scheduled";
  }
  Result<v1::DispatchJobResponse> dispatch(const std::string& token = "", const std::string& id = "web") {
    v1::DispatchJobRequest request;
    request.set_path_job_id(id);
    request.set_payload("data");
    request.set_idempotency_token(token);
    return ask<v1::DispatchJobResponse>("Dispatch", request);
  }
  void set_status(const std::string& id, bool live, bool open) {
    v1::JobStatusChanged command;
    command.set_namespace_("default");
    command.set_job_id(id);
    command.set_has_live_allocs(live);
    command.set_has_open_evals(open);
    command.set_has_any(true);
    EXPECT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  }
  // pending/running/dead
  std::string children() {
    v1::JobRequest request;
    request.set_job_id("web");
    const auto summary = ask<v1::JobSummaryResponse>("Summary", request);
    const v1::JobChildrenSummary& children = summary->summary().children();
    return std::to_string(children.pending()) + "/" + std::to_string(children.running()) + "/" +
           std::to_string(children.dead());
  }
};

TEST_F(Dispatching, MakesAChildWithAnEvaluation) {
  EXPECT_EQ(v1::JOB_STATUS_RUNNING, job()->status());
  const auto answer = dispatch();
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  const auto child = job(answer->dispatched_job_id());
  ASSERT_TRUE(child);
  EXPECT_EQ("data", child->payload());
  EXPECT_EQ(v1::JOB_STATUS_PENDING, child->status());
  EXPECT_EQ(child->create_index(), answer->job_create_index());
  EXPECT_EQ(child->create_index(), answer->eval_create_index());
  const auto told = host_.rows().told<v1::EvalsUpdated>();
  ASSERT_EQ(1U, told.size());
  EXPECT_EQ(answer->eval_id(), told[0].evaluations(0).id());
  EXPECT_EQ("job-register", told[0].evaluations(0).triggered_by());
  EXPECT_EQ(child->id(), told[0].evaluations(0).job_id());
}

TEST_F(Dispatching, ATokenGivesTheSameChildTwice) {
  const auto first = dispatch("once"), second = dispatch("once"), other = dispatch("twice");
  EXPECT_EQ(first->dispatched_job_id(), second->dispatched_job_id());
  EXPECT_EQ(first->job_create_index(), second->job_create_index());
  EXPECT_EQ("", second->eval_id());
  EXPECT_NE(first->dispatched_job_id(), other->dispatched_job_id());
  EXPECT_EQ(2U, host_.rows().told<v1::EvalsUpdated>().size());
}

TEST_F(Dispatching, RefusesWhatIsNotThere) {
  EXPECT_EQ("parameterized job not found", dispatch("", "other").status().message());
  v1::DispatchJobRequest request;
  request.set_path_job_id("web");
  request.set_job_id("other");
  EXPECT_EQ("Job ID does not match", ask<v1::DispatchJobResponse>("Dispatch", request).status().message());
  EXPECT_EQ("", deregister("web").eval_id());
  EXPECT_EQ(v1::JOB_STATUS_DEAD, job()->status());
  EXPECT_EQ("Specified job \"web\" is stopped", dispatch().status().message());
}

TEST_F(Dispatching, AChildOfAParentThatStoppedMeanwhileIsRefusedWhenItIsApplied) {
  v1::JobRegistered command;
  *command.mutable_job() = described(R"("Namespace":"default","ParentID":"web",)");
  command.mutable_job()->set_id("web/dispatch-1");
  deregister("web");
  EXPECT_EQ("job \"web/dispatch-1\" is not started: its parent \"web\" is stopped",
            host_.propose(command, SteadyTime::max()).status().message());
  deregister("web", true);
  EXPECT_EQ("job \"web/dispatch-1\" is not started: its parent \"web\" is gone",
            host_.propose(command, SteadyTime::max()).status().message());
}

TEST_F(Dispatching, TheParentKnowsHowItsChildrenAre) {
  EXPECT_EQ("0/0/0", children());
  const std::string a = dispatch()->dispatched_job_id(), b = dispatch()->dispatched_job_id();
  EXPECT_EQ("2/0/0", children());
  set_status(a, true, false);
  EXPECT_EQ("1/1/0", children());
  set_status(a, false, false);
  set_status(b, true, false);
  EXPECT_EQ("0/1/1", children());
  deregister(b);
  set_status(b, false, false);
  EXPECT_EQ("0/0/2", children());
  deregister(a, true);
  EXPECT_EQ("0/0/1", children());
  v1::JobsDeleted command;
  command.add_jobs()->set_namespace_("default");
  command.mutable_jobs(0)->set_id(b);
  EXPECT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  EXPECT_EQ("0/0/0", children());
}

TEST_F(Dispatching, ANewVersionOfTheParentKeepsTheNumbersAndAPurgedOneCountsThemAnew) {
  const std::string child = dispatch()->dispatched_job_id();
  register_job(described(R"("Type":"batch","ParameterizedJob":{},"Priority":60,)"));
  EXPECT_EQ("1/0/0", children());
  deregister("web", true);
  set_status(child, true, false);
  register_job(described(R"("Type":"batch","ParameterizedJob":{},)"));
  EXPECT_EQ("0/1/0", children());
}

TEST_F(Dispatching, ADeadChildStaysDeadWhenWhatItHadIsForgotten) {
  const std::string child = dispatch()->dispatched_job_id();
  set_status(child, false, false);
  v1::JobStatusChanged command;
  command.set_namespace_("default");
  command.set_job_id(child);
  EXPECT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  EXPECT_EQ(v1::JOB_STATUS_DEAD, job(child)->status());
}

}  // namespace
}  // namespace drover::jobs
