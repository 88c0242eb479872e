#include "topics.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drover/api/logins.pb.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/acl.pb.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/node_pool.pb.h"
#include "drover/v1/service_registration.pb.h"
#include "sdk/testing/fake_host.h"
#include "testing/batch.h"

namespace drover::events {
namespace {

using Json = nlohmann::json;

const std::string kId = Uuid::parse("11111111-2222-3333-4444-555555555555")->bytes();
const std::string kOther = Uuid::parse("99999999-2222-3333-4444-555555555555")->bytes();

class TopicsTest : public ::testing::Test {
 protected:
  TopicsTest() {
    for (const char* name :
         {"jobs", "evals", "allocs", "deployments", "nodes", "node_pools", "service_registrations", "csi_volumes",
          "csi_claims", "host_volumes", "acl_tokens", "acl_policies", "acl_roles", "acl_auth_methods", "acl_binding_rules", "else"}) {
      tables_[name] = host_.rows().add_table({.name = name, .indexes = {}, .keys = {}});
    }
  }
  TableId table(const char* name) { return tables_.at(name); }
  TestBatch after(const std::string& command) { return {42, "drover.v1." + command}; }
  // "Topic Type Key Namespace [filter keys]" of each event.
  std::string said(const ChangeBatch& batch) {
    const Topics topics(host_);
    std::string all;
    for (const Event& event : topics.events_of(batch)) {
      const Json json = Json::parse(event.json);
      EXPECT_EQ(json["Topic"], event.topic);
      EXPECT_EQ(json["Type"], event.type);
      EXPECT_EQ(json["Key"], event.key);
      EXPECT_EQ(json["Namespace"], event.name_space);
      EXPECT_EQ(json["Index"], 42);
      EXPECT_EQ(json["FilterKeys"], event.filter_keys.empty() ? Json() : Json(event.filter_keys));
      all += (all.empty() ? "" : "; ") + std::string(event.topic) + " " + std::string(event.type) + " " + event.key +
             " " + event.name_space + (event.is_removal ? " removal" : "");
      for (const std::string& key : event.filter_keys) all += " [" + key + "]";
    }
    EXPECT_EQ(topics.concern(batch), !all.empty());
    return all;
  }
  Json payload(const ChangeBatch& batch) {
    const auto events = Topics(host_).events_of(batch);
    return events.size() == 1 ? Json::parse(events[0].json)["Payload"] : Json();
  }

  testing::FakeHost host_;
  std::map<std::string, TableId> tables_;
};

TEST_F(TopicsTest, TheCommandSaysTheTypeAndTheTableTheTopic) {
  v1::Job job;
  job.set_id("web");
  job.set_namespace_("prod");
  v1::Evaluation eval;
  eval.set_id(kId);
  eval.set_namespace_("prod");
  eval.set_job_id("web");
  v1::Allocation alloc;
  alloc.set_id(kOther);
  alloc.set_namespace_("prod");
  alloc.set_job_id("web");
  alloc.set_deployment_id(kId);
  v1::Deployment deployment;
  deployment.set_id(kId);
  deployment.set_namespace_("prod");
  deployment.set_job_id("web");
  v1::Node node;
  node.set_id(kOther);

  EXPECT_EQ(said(after("JobRegistered").wrote(table("jobs"), job).wrote(table("evals"), eval)),
            "Job JobRegistered web prod; Evaluation JobRegistered 11111111-2222-3333-4444-555555555555 prod [web] []");
  EXPECT_EQ(said(after("PlanApplied").wrote(table("allocs"), alloc).wrote(table("deployments"), deployment)),
            "Allocation PlanResult 99999999-2222-3333-4444-555555555555 prod [web] "
            "[11111111-2222-3333-4444-555555555555]; Deployment PlanResult 11111111-2222-3333-4444-555555555555 prod "
            "[web]");
  for (const char* packed : {"PlansApplied", "PlansPacked"}) {
    EXPECT_EQ(said(after(packed).wrote(table("allocs"), alloc)),
              "Allocation PlanResult 99999999-2222-3333-4444-555555555555 prod [web] "
              "[11111111-2222-3333-4444-555555555555]");
  }
  const struct {
    const char* command;
    const char* type;
  } types[] = {{"JobDispatched", "JobRegistered"},
               {"JobScaled", "JobRegistered"},
               {"JobDeregistered", "JobDeregistered"},
               {"AllocationsReported", "AllocationUpdated"},
               {"AllocationsTransitioned", "AllocationUpdateDesiredStatus"},
               {"DeploymentPromoted", "DeploymentPromotion"},
               {"DeploymentsUpdated", "DeploymentStatusUpdate"},
               {"NodeRegistered", "NodeRegistration"},
               {"NodeStatusUpdated", "NodeStreamEvent"},
               {"NodeEligibilityUpdated", "NodeEligibility"},
               {"NodeDrainUpdated", "NodeDrain"}};
  for (const auto& c : types)
    EXPECT_EQ(said(after(c.command).wrote(table("jobs"), job)), "Job " + std::string(c.type) + " web prod");
  EXPECT_EQ(said(after("NodesDeleted").erased(table("nodes"), node)),
            "Node NodeDeregistration 99999999-2222-3333-4444-555555555555 ");
}

TEST_F(TopicsTest, OtherCommandsAndTablesAreNoNews) {
  v1::Job job;
  job.set_id("web");
  EXPECT_EQ(said(after("JobStabilityChanged").wrote(table("jobs"), job)), "");
  EXPECT_EQ(said(TestBatch(42, "").wrote(table("jobs"), job)), "");
  EXPECT_EQ(said(TestBatch(42, "acme.JobRegistered").wrote(table("jobs"), job)), "");
  EXPECT_EQ(said(after("JobRegistered").wrote(table("else"), job)), "");
}

TEST_F(TopicsTest, SaysWhatIsGone) {
  v1::Job job;
  job.set_id("web");
  job.set_namespace_("prod");
  const TestBatch purged = after("JobDeregistered").erased(table("jobs"), job);
  EXPECT_EQ(said(purged), "Job JobDeregistered web prod");
  EXPECT_EQ(payload(purged)["Deleted"], true);
  v1::Evaluation eval;
  eval.set_id(kId);
  eval.set_job_id("web");
  EXPECT_EQ(said(after("EvalsDeleted").erased(table("evals"), eval)),
            "Evaluation EvaluationDeleted 11111111-2222-3333-4444-555555555555  removal [web] []");
}

TEST_F(TopicsTest, RowsOfOneKindAreNamedByWhatBecameOfThem) {
  v1::ServiceRegistration service;
  service.set_id("_nomad-task-1");
  service.set_namespace_("prod");
  service.set_job_id("web");
  service.set_service_name("http");
  EXPECT_EQ(said(after("ServicesSynced").wrote(table("service_registrations"), service)),
            "Service ServiceRegistration _nomad-task-1 prod [web] [http]");
  EXPECT_EQ(said(after("ServicesSynced").erased(table("service_registrations"), service)),
            "Service ServiceDeregistration _nomad-task-1 prod [web] [http]");
  v1::NodePool pool;
  pool.set_name("gpu");
  EXPECT_EQ(said(after("NodePoolApplied").wrote(table("node_pools"), pool)), "NodePool NodePoolUpserted gpu ");
  EXPECT_EQ(said(after("NodePoolDeleted").erased(table("node_pools"), pool)), "NodePool NodePoolDeleted gpu ");
  v1::DynamicHostVolume folder;
  folder.set_id(kId);
  folder.set_namespace_("prod");
  folder.set_name("ssd");
  folder.set_plugin_id("mkdir");
  EXPECT_EQ(said(after("HostVolumeMade").wrote(table("host_volumes"), folder)),
            "HostVolume HostVolumeRegistered 11111111-2222-3333-4444-555555555555 prod [ssd] [mkdir]");
  v1::AclRole role;
  role.set_id(kId);
  role.set_name("ops");
  EXPECT_EQ(said(after("AclRoleApplied").wrote(table("acl_roles"), role)),
            "ACLRole ACLRoleUpserted 11111111-2222-3333-4444-555555555555  [ops]");
  v1::AclBindingRule rule;
  rule.set_id(kId);
  rule.set_auth_method("corp");
  EXPECT_EQ(said(after("AclBindingRuleDeleted").erased(table("acl_binding_rules"), rule)),
            "ACLBindingRule ACLBindingRuleDeleted 11111111-2222-3333-4444-555555555555  [corp]");
}

TEST_F(TopicsTest, NeverTellsASecret) {
  v1::AclToken token;
  token.set_accessor_id(kId);
  token.set_secret_id(kOther);
  token.set_name("ops");
  v1::AclAuthMethod method;
  method.set_name("corp");
  method.set_config(R"({"OIDCClientSecret":"99999999"})");
  v1::Node node;
  node.set_id(kId);
  node.set_secret_id(kOther);
  v1::CsiVolume volume;
  volume.set_id("data");
  volume.mutable_secrets()->set_sealed("99999999");
  (*volume.mutable_parameters())["password"] = "99999999";
  (*volume.mutable_context())["password"] = "99999999";
  volume.mutable_mount_options()->add_mount_flags("password=99999999");
  v1::CsiClaim claim;
  claim.set_volume_id("data");
  claim.mutable_secrets()->set_sealed("99999999");
  (*claim.mutable_publish_context())["password"] = "99999999";
  v1::DynamicHostVolume folder;
  folder.set_id(kId);
  (*folder.mutable_parameters())["password"] = "99999999";
  (*folder.mutable_before()->mutable_parameters())["password"] = "99999999";
  const TestBatch batch = after("NodeRegistered")
                              .wrote(table("acl_tokens"), token)
                              .wrote(table("acl_auth_methods"), method)
                              .wrote(table("nodes"), node)
                              .wrote(table("csi_volumes"), volume)
                              .wrote(table("csi_claims"), claim)
                              .wrote(table("host_volumes"), folder);
  const auto events = Topics(host_).events_of(batch);
  ASSERT_EQ(events.size(), 6U);
  for (const Event& event : events) EXPECT_EQ(event.json.find("99999999"), std::string::npos) << event.json;
  EXPECT_EQ(Json::parse(events[0].json)["Payload"]["ACLToken"]["Name"], "ops");
  EXPECT_EQ(Json::parse(events[3].json)["Payload"]["Volume"]["ID"], "data");
}

TEST_F(TopicsTest, KnowsWhoseRightsChange) {
  v1::AclToken token;
  token.set_accessor_id(kId);
  const Topics topics(host_);
  EXPECT_TRUE(topics.rights_changed(after("AclTokenApplied").wrote(table("acl_tokens"), token)).accessors.empty());
  EXPECT_EQ(topics.rights_changed(after("AclTokensDeleted").erased(table("acl_tokens"), token)).accessors,
            std::vector<std::string>{"11111111-2222-3333-4444-555555555555"});
  EXPECT_FALSE(topics.rights_changed(after("AclTokensDeleted").erased(table("acl_tokens"), token)).is_of_all);
  EXPECT_TRUE(topics.rights_changed(after("AclPolicyApplied").wrote(table("acl_policies"), v1::AclPolicy())).is_of_all);
  EXPECT_TRUE(topics.rights_changed(after("AclRoleDeleted").erased(table("acl_roles"), v1::AclRole())).is_of_all);
}

}  // namespace
}  // namespace drover::events
