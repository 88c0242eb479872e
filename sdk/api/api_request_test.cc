#include "drover/api_request.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <memory>

#include "drover/api/jobs.pb.h"
#include "drover/api/members.pb.h"
#include "drover/api/methods.h"
#include "drover/api/nodes.pb.h"
#include "drover/api/operator.pb.h"
#include "drover/api/system.pb.h"
#include "drover/api/volumes.pb.h"
#include "drover/api_descriptors.h"

namespace drover {
namespace {

TEST(ApiRequest, FillsThePathAndTheQuery) {
  v1::DeregisterJobRequest request;
  request.set_job_id("a/b c");
  request.set_purge(true);
  request.set_eval_priority(70);
  const ApiRequest asked = api_request(v1::Jobs::Deregister::kName, request);

  EXPECT_EQ(asked.verb, "DELETE");
  EXPECT_EQ(asked.path, "/v1/job/a%2Fb%20c");
  EXPECT_EQ(asked.parameters, (QueryParameters{{"eval_priority", "70"}, {"purge", "true"}}));
  EXPECT_EQ(asked.body, "");
}

TEST(ApiRequest, WhatMustNotBeInAnAddressIsInAHeader) {
  v1::DeleteSnapshotRequest request;
  request.set_plugin_id("p");
  request.set_snapshot_id("s");
  EXPECT_TRUE(api_request(v1::Volumes::DeleteSnapshot::kName, request).headers.empty());
  (*request.mutable_secrets())["key"] = "x=y";
  (*request.mutable_secrets())["a"] = "1";
  const ApiRequest asked = api_request(v1::Volumes::DeleteSnapshot::kName, request);
  EXPECT_EQ(asked.headers, (std::map<std::string, std::string>{{"X-Nomad-CSI-Secrets", "a=1,key=x=y"}}));
  EXPECT_EQ(asked.parameters, (QueryParameters{{"plugin_id", "p"}, {"snapshot_id", "s"}}));
}

TEST(ApiRequest, AListHasAParameterForEach) {
  v1::JoinRequest request;
  request.add_address("one:4648");
  request.add_address("two:4648");
  const ApiRequest asked = api_request(v1::ServerMembership::Join::kName, request);

  EXPECT_EQ(asked.verb, "PUT");
  EXPECT_EQ(asked.parameters, (QueryParameters{{"address", "one:4648"}, {"address", "two:4648"}}));
}

TEST(ApiRequest, TheBodyIsTheRequestOrAFieldOfIt) {
  v1::NodeEligibilityRequest whole;
  whole.set_node_id(std::string(16, '\x11'));
  whole.set_eligibility("eligible");
  const ApiRequest first = api_request(v1::Nodes::Eligibility::kName, whole);
  EXPECT_EQ(first.path, "/v1/node/11111111-1111-1111-1111-111111111111/eligibility");
  EXPECT_EQ(first.body, R"({"NodeID":"11111111-1111-1111-1111-111111111111","Eligibility":"eligible"})");
  EXPECT_TRUE(first.parameters.empty());

  v1::SetAutopilotRequest part;
  part.mutable_configuration()->set_min_quorum(3);
  part.set_cas(0);
  const ApiRequest second = api_request(v1::OperatorAutopilot::SetConfiguration::kName, part);
  EXPECT_NE(second.body.find(R"("MinQuorum":3)"), std::string::npos);
  EXPECT_EQ(second.parameters, (QueryParameters{{"cas", "0"}}));
}

TEST(ApiRequest, ReadsAWholeAnswerAFieldAndNone) {
  v1::LeaderResponse leader;
  EXPECT_TRUE(read_api_answer(v1::ClusterStatus::Leader::kName, R"("10.0.0.1:4647")", leader).ok());
  EXPECT_EQ(leader.leader(), "10.0.0.1:4647");
  v1::RegisterJobResponse registered;
  EXPECT_TRUE(read_api_answer(v1::Jobs::Register::kName, R"({"JobModifyIndex":7})", registered).ok());
  EXPECT_EQ(registered.job_modify_index(), 7u);
  v1::GarbageCollectResponse nothing;
  EXPECT_TRUE(read_api_answer(v1::SystemMaintenance::GarbageCollect::kName, "", nothing).ok());
  EXPECT_FALSE(read_api_answer(v1::Jobs::Register::kName, "<html>", registered).ok());
  v1::ListJobsResponse newer;
  EXPECT_TRUE(read_api_answer(v1::Jobs::List::kName, R"([{"ID":"a","Status":"paused","Mood":"good"}])", newer).ok());
  EXPECT_EQ(newer.jobs(0).id(), "a");
}

TEST(ApiRequest, EveryMethodOfTheApiCanBeAsked) {
  google::protobuf::FileDescriptorSet files;
  ASSERT_TRUE(files.ParseFromString(std::string(api_descriptors())));
  int methods = 0;
  for (const auto& file : files.file()) {
    if (!file.name().starts_with("drover/api/")) continue;
    for (const auto& service : file.service()) {
      for (const auto& method : service.method()) {
        SCOPED_TRACE(service.name() + "." + method.name());
        if (!method.options().HasExtension(http)) continue;  // between plugins
        const auto* type =
            google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(method.input_type().substr(1));
        const std::unique_ptr<google::protobuf::Message> request(
            google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
        const ApiRequest asked = api_request(file.package() + "." + service.name() + "." + method.name(), *request);
        EXPECT_TRUE(asked.path.starts_with("/v1/") || asked.path.starts_with("/.well-known/")) << asked.path;
        EXPECT_EQ(asked.path.find('{'), std::string::npos) << asked.path;
        EXPECT_NE(asked.verb, "");
        ++methods;
      }
    }
  }
  EXPECT_GT(methods, 40);
}

}  // namespace
}  // namespace drover
