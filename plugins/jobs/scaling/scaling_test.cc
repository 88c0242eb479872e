#include "scaling/scaling.h"

#include "drover/api/scaling.pb.h"
#include "testing/handlers.h"

namespace drover::jobs {
namespace {

constexpr char kBounds[] = R"("Scaling":{"Min":1,"Max":5,"Policy":{"cooldown":"1m"}},)";

v1::ScaleJobRequest to(int64_t count) {
  v1::ScaleJobRequest request;
  request.set_job_id("web");
  request.set_count(count);
  (*request.mutable_target())["Group"] = "g";
  return request;
}

TEST(Scaling, ARequestIsCheckedBeforeItsJob) {
  const struct {
    const char* name;
    std::function<void(v1::ScaleJobRequest& request)> change;
    const char* error;
  } cases[] = {
      {"good", [](auto&) {}, ""},
      {"the same names", [](auto& r) { (*r.mutable_target())["Job"] = "web"; }, ""},
      {"no group", [](auto& r) { r.mutable_target()->clear(); }, "missing task group name for scaling action"},
      {"another job", [](auto& r) { (*r.mutable_target())["Job"] = "db"; }, "job ID in payload did not match URL"},
      {"another namespace", [](auto& r) { (*r.mutable_target())["Namespace"] = "dev"; },
       "namespace in payload did not match header"},
      {"below nothing", [](auto& r) { r.set_count(-1); }, "scaling action count can't be negative"},
      {"a count with an error", [](auto& r) { r.set_error(true); },
       "scaling action should not contain count if error is true"},
      {"an error", [](auto& r) { r.set_error(true), r.clear_count(); }, ""},
      {"too many", [](auto& r) { r.set_count(int64_t{1} << 31); },
       "new scaling count is too large for TaskGroup.Count (int): 2147483648"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    v1::ScaleJobRequest request = to(3);
    c.change(request);
    EXPECT_EQ(c.error, check_scale_request(request, "default").message());
  }
}

TEST(Scaling, TheNewestEventsOfAGroupStay) {
  v1::JobScalingEvents events;
  for (int i = 1; i <= kTrackedScalingEvents + 2; ++i) {
    v1::ScalingEvent event;
    event.set_time(i);
    add_event(events, i == 1 ? "other" : "g", event);
  }
  EXPECT_EQ(1, events.groups().at("other").events_size());
  const auto& kept = events.groups().at("g").events();
  ASSERT_EQ(kTrackedScalingEvents, kept.size());
  EXPECT_EQ(kTrackedScalingEvents + 2, kept[0].time());
  EXPECT_EQ(3, kept[kTrackedScalingEvents - 1].time());
}

class Scales : public testing::Handlers {
 protected:
  Result<v1::RegisterJobResponse> scale(const v1::ScaleJobRequest& request) {
    return ask<v1::RegisterJobResponse>("Scale", request);
  }
  v1::JobScaleStatus status() {
    v1::JobRequest request;
    request.set_job_id("web");
    const auto answer = ask<v1::JobScaleStatusResponse>("ScaleStatus", request);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer ? answer->status() : v1::JobScaleStatus();
  }
  std::vector<v1::ScalingPolicyStub> policies(const std::string& of_job = "") {
    v1::ListScalingPoliciesRequest request;
    request.set_job(of_job);
    const auto answer = host_.answer<v1::ListScalingPoliciesResponse>("/drover.v1.Scaling/ListPolicies", request);
    return {answer->policies().begin(), answer->policies().end()};
  }
};

TEST_F(Scales, InBoundsItIsANewVersionWithAnEvaluationAndAnEvent) {
  register_job(described("", kBounds));
  v1::TagJobVersionRequest tag;
  tag.set_job_id("web");
  tag.set_name("golden");
  EXPECT_TRUE(ask<v1::TagJobVersionResponse>("TagVersion", tag).ok());
  v1::ScaleJobRequest request = to(5);
  request.set_message("busy");
  request.set_meta(R"({"load":0.9})");
  const auto answer = scale(request);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(1U, job()->version());
  EXPECT_FALSE(job()->has_version_tag()) << "the name stays with the version that has it";
  EXPECT_EQ(5, job()->task_groups(0).count());
  EXPECT_EQ(answer->job_modify_index(), job()->job_modify_index());
  EXPECT_EQ("job-scaling", host_.rows().told<v1::EvalsUpdated>().back().evaluations(0).triggered_by());
  const v1::GroupScaleStatus group = status().task_groups().at("g");
  EXPECT_EQ(5, group.desired());
  ASSERT_EQ(1, group.events_size());
  const v1::ScalingEvent& event = group.events(0);
  EXPECT_EQ(2, event.previous_count());
  EXPECT_EQ(5, event.count());
  EXPECT_EQ("busy", event.message());
  EXPECT_EQ(R"({"load":0.9})", event.meta());
  EXPECT_EQ(answer->eval_id(), event.eval_id());
  EXPECT_EQ(answer->job_modify_index(), event.create_index());
}

TEST_F(Scales, OutOfBoundsNothingChanges) {
  register_job(described("", kBounds));
  EXPECT_EQ("group count was less than scaling policy minimum: 0 < 1", scale(to(0)).status().message());
  EXPECT_EQ("group count was greater than scaling policy maximum: 6 > 5", scale(to(6)).status().message());
  v1::ScaleJobRequest other = to(3);
  (*other.mutable_target())["Group"] = "x";
  EXPECT_EQ("task group \"x\" specified for scaling does not exist in job", scale(other).status().message());
  other.set_job_id("db");
  EXPECT_EQ("job \"db\" not found", scale(other).status().message());
  EXPECT_EQ(0U, job()->version());
  EXPECT_EQ(0, status().task_groups().at("g").events_size());
}

TEST_F(Scales, WithoutACountItIsAnEventOnly) {
  register_job(described());
  v1::ScaleJobRequest request = to(0);
  request.clear_count();
  request.set_error(true);
  request.set_message("the metrics are gone");
  const auto answer = scale(request);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ("", answer->eval_id());
  EXPECT_EQ(0U, job()->version());
  const v1::GroupScaleStatus group = status().task_groups().at("g");
  ASSERT_EQ(1, group.events_size());
  EXPECT_TRUE(group.events(0).error());
  EXPECT_FALSE(group.events(0).has_count());
  EXPECT_EQ(2, group.events(0).previous_count());
}

TEST_F(Scales, AnActiveDeploymentOfThisJobBlocks) {
  register_job(described());
  const auto deploy = [&](v1::DeploymentStatus status, uint64_t job_create_index) {
    v1::Deployment row;
    row.set_id("dddddddddddddddd");
    row.set_namespace_("default");
    row.set_job_id("web");
    row.set_job_create_index(job_create_index);
    row.set_status(status);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(deployments_.put(rows, row).ok()); });
  };
  deploy(v1::DEPLOYMENT_STATUS_PAUSED, job()->create_index());
  EXPECT_EQ("job scaling blocked due to active deployment", scale(to(3)).status().message());
  deploy(v1::DEPLOYMENT_STATUS_PAUSED, job()->create_index() + 1);
  EXPECT_TRUE(scale(to(3)).ok());
  deploy(v1::DEPLOYMENT_STATUS_SUCCESSFUL, job()->create_index());
  EXPECT_TRUE(scale(to(4)).ok());
}

TEST_F(Scales, OnlyTheJobThatTheCallerKnows) {
  register_job(described());
  v1::ScaleJobRequest request = to(3);
  request.set_enforce_index(true);
  request.set_job_modify_index(job()->job_modify_index() + 7);
  EXPECT_NE(std::string::npos, scale(request).status().message().find("job exists with conflicting job modify index"));
  request.set_job_modify_index(job()->job_modify_index());
  EXPECT_TRUE(scale(request).ok());
}

TEST_F(Scales, TheStatusCountsTheAllocationsThatAreNotOver) {
  register_job(described());
  host_.commit([&](WriteTransaction& rows) {
    const auto add = [&](char id, v1::ClientStatus status, std::optional<bool> healthy) {
      v1::Allocation alloc;
      alloc.set_id(std::string(16, id));
      alloc.set_namespace_("default");
      alloc.set_job_id("web");
      alloc.set_task_group("g");
      alloc.set_client_status(status);
      if (healthy) alloc.mutable_deployment_status()->set_healthy(*healthy);
      EXPECT_TRUE(allocs_.put(rows, alloc).ok());
    };
    add('a', v1::CLIENT_STATUS_RUNNING, true);
    add('b', v1::CLIENT_STATUS_RUNNING, false);
    add('c', v1::CLIENT_STATUS_PENDING, std::nullopt);
    add('d', v1::CLIENT_STATUS_FAILED, false);
  });
  const v1::GroupScaleStatus group = status().task_groups().at("g");
  EXPECT_EQ(2, group.desired());
  EXPECT_EQ(3, group.placed());
  EXPECT_EQ(2, group.running());
  EXPECT_EQ(1, group.healthy());
  EXPECT_EQ(1, group.unhealthy());
}

TEST_F(Scales, PoliciesFollowTheirJob) {
  register_job(described("", kBounds));
  ASSERT_EQ(1U, policies().size());
  const v1::ScalingPolicyStub first = policies("web")[0];
  EXPECT_TRUE(first.enabled());
  EXPECT_EQ("horizontal", first.type());
  EXPECT_EQ("g", first.target().at("Group"));
  EXPECT_EQ(job()->task_groups(0).scaling().id(), first.id());
  EXPECT_TRUE(policies("db").empty());

  v1::ScalingPolicyRequest request;
  request.set_id(first.id());
  const auto whole = host_.answer<v1::ScalingPolicyResponse>("/drover.v1.Scaling/GetPolicy", request);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_EQ(5, whole->policy().max());
  EXPECT_EQ(R"({"cooldown":"1m"})", whole->policy().policy());

  register_job(described("\"Priority\":60,", kBounds));
  EXPECT_EQ(serialize(first), serialize(policies()[0])) << "the policy is the same";
  deregister("web");
  EXPECT_EQ(first.id(), policies()[0].id());
  EXPECT_FALSE(policies()[0].enabled());
  register_job(described("\"Priority\":70,"));
  EXPECT_TRUE(policies().empty());
  register_job(described("", kBounds));
  deregister("web", true);
  EXPECT_TRUE(policies().empty());
  request.set_id("none");
  EXPECT_EQ("policy not found",
            host_.answer<v1::ScalingPolicyResponse>("/drover.v1.Scaling/GetPolicy", request).status().message());
}

}  // namespace
}  // namespace drover::jobs
