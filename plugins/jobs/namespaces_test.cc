// Jobs and their namespaces.
#include <gtest/gtest.h>

#include "drover/api/plan.pb.h"
#include "drover/v1/namespace.pb.h"
#include "sdk/testing/permissions.h"
#include "testing/handlers.h"

namespace drover::jobs {
namespace {

constexpr const char* kNowhere = "1 error occurred:\n\t* job \"web\" is in nonexistent namespace \"gone\"\n";

class JobNamespaces : public testing::Handlers {
 protected:
  JobNamespaces() : namespaces_(host_.rows().add_table(namespaces_table().spec())) {  // its plugin may come later
    put("prod", "");
    put("strict", R"("EnabledTaskDrivers":["exec","docker"],"DisabledNetworkModes":["host","cni/wild"])");
  }
  void put(const std::string& name, const std::string& capabilities) {
    v1::Namespace row;
    EXPECT_TRUE(json_to_message(R"({"Name":")" + name + R"(","Capabilities":{)" + capabilities + "}}", row).ok());
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(namespaces_.put(rows, row).ok()); });
  }
  void remove(const std::string& name) {
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(namespaces_.erase(rows, namespace_key(name))); });
  }
  static v1::Job in(const std::string& name_space) { return described(R"("Namespace":")" + name_space + R"(",)"); }
  template <typename Request, typename Response>
  std::string said(const std::string& method, const v1::Job& job, const std::string& called = "default") {
    Request request;
    *request.mutable_job() = job;
    return host_.answer<Response>("/drover.v1.Jobs/" + method, request, {.name_space = called}).status().to_string();
  }
  std::string registered(const v1::Job& job, const std::string& called = "default") {
    return said<v1::RegisterJobRequest, v1::RegisterJobResponse>("Register", job, called);
  }
  std::string validated(const v1::Job& job, const std::string& called = "default") {
    v1::ValidateJobRequest request;
    *request.mutable_job() = job;
    const auto answer =
        host_.answer<v1::ValidateJobResponse>("/drover.v1.Jobs/Validate", request, {.name_space = called});
    return answer ? answer->error() : answer.status().to_string();
  }
  std::optional<v1::Job> job_in(const std::string& name_space) {
    return tables_.jobs.get(*host_.snapshot(), job_key(name_space, "web"));
  }

  Table<v1::Namespace> namespaces_;
};

TEST_F(JobNamespaces, AJobIsInANamespaceThatIsThere) {
  EXPECT_EQ(registered(in("prod")), "ok");
  EXPECT_EQ(registered(in("default")), "ok");
  EXPECT_EQ(registered(in("gone")), std::string("invalid_argument: ") + kNowhere);
  EXPECT_EQ(registered(in("prod"), "gone"), std::string("invalid_argument: ") + kNowhere);
  EXPECT_EQ(registered(in("prod"), "*"),
            "invalid_argument: 1 error occurred:\n\t* namespace: \"*\" is no name of a namespace: "
            "1 to 128 letters, digits and -\n");
  EXPECT_EQ((said<v1::PlanJobRequest, v1::PlanJobResponse>("Plan", in("gone"))),
            std::string("invalid_argument: ") + kNowhere);
  EXPECT_EQ(validated(in("gone")), kNowhere);
  EXPECT_EQ(validated(in("gone"), "prod"), "");
}

TEST_F(JobNamespaces, OneIdIsAJobInEach) {
  v1::Job job = in("prod");
  job.set_priority(70);
  EXPECT_EQ(registered(job), "ok");
  EXPECT_EQ(registered(in("default")), "ok");
  EXPECT_EQ(job_in("prod")->priority(), 70);
  EXPECT_EQ(job_in("default")->priority(), 50);
  deregister("web");
  EXPECT_TRUE(job_in("default")->stop());
  EXPECT_FALSE(job_in("prod")->stop());
}

TEST_F(JobNamespaces, TheLogDecidesWhenANamespaceGoesMeanwhile) {
  v1::JobRegistered command;
  *command.mutable_job() = in("prod");
  remove("prod");
  EXPECT_EQ(host_.propose(command, SteadyTime::max()).status().to_string(),
            "invalid_argument: job \"web\" is in nonexistent namespace \"prod\"");
  EXPECT_FALSE(job_in("prod"));
}

TEST_F(JobNamespaces, WhatIsLeftInANamespaceThatWentIsNotEvaluated) {
  EXPECT_EQ(registered(in("prod")), "ok");
  remove("prod");
  v1::EvaluateJobRequest request;
  request.set_path_job_id("web");
  const auto answer =
      host_.answer<v1::RegisterJobResponse>("/drover.v1.Jobs/Evaluate", request, {.name_space = "prod"});
  EXPECT_EQ(answer.status().message(), "job \"web\" is in nonexistent namespace \"prod\"");
}

TEST_F(JobNamespaces, AJobUsesWhatItsNamespaceLetsIt) {
  v1::Job job = in("strict");
  const std::string refused =
      "1 error occurred:\n\t* used task driver \"raw_exec\" is not allowed in namespace \"strict\"\n";
  EXPECT_EQ(registered(job), "invalid_argument: " + refused);
  EXPECT_EQ((said<v1::PlanJobRequest, v1::PlanJobResponse>("Plan", job)), "invalid_argument: " + refused);
  EXPECT_EQ(validated(job), refused);
  job.mutable_task_groups(0)->mutable_tasks(0)->set_driver("exec");
  EXPECT_EQ(registered(job), "ok");
  job.mutable_task_groups(0)->add_networks();
  EXPECT_EQ(validated(job),
            "1 error occurred:\n\t* used group network mode \"host\" is not allowed in namespace \"strict\"\n");
}

TEST_F(JobNamespaces, GoingBackIsCheckedAsRegistering) {
  v1::Job job = in("prod");
  EXPECT_EQ(registered(job), "ok");
  job.mutable_task_groups(0)->mutable_tasks(0)->set_driver("exec");
  EXPECT_EQ(registered(job), "ok");
  put("prod", R"("DisabledTaskDrivers":["raw_exec"])");
  v1::RevertJobRequest request;
  request.set_job_id("web");
  request.set_path_job_id("web");
  const auto answer = host_.answer<v1::RegisterJobResponse>("/drover.v1.Jobs/Revert", request, {.name_space = "prod"});
  EXPECT_NE(answer.status().message().find("used task driver \"raw_exec\" is not allowed"), std::string::npos)
      << answer.status().message();
}

TEST_F(JobNamespaces, RightsAreThoseInTheJobsOwnNamespace) {
  host_.call_as({Identity::Kind::token, "of prod", std::make_shared<drover::testing::OnlyIn>("prod")});
  EXPECT_EQ(registered(in("prod")), "ok");  // although the call names none
  EXPECT_EQ(validated(in("prod")), "");
  for (const char* other : {"default", "strict", "gone"}) {
    EXPECT_EQ(registered(in(other)), "permission_denied: Permission denied") << other;
    EXPECT_EQ(validated(in(other)), "permission_denied: Permission denied") << other;
  }
  EXPECT_EQ(registered(in("prod"), "strict"), "permission_denied: Permission denied");
}

}  // namespace
}  // namespace drover::jobs
