#include "rpc.h"

#include <gtest/gtest.h>

#include "drover/json.h"
#include "drover/keys.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node_pool.pb.h"
#include "drover/v1/node_service.pb.h"
#include "registry.h"
#include "sdk/testing/fake_host.h"
#include "tables.h"

namespace drover::nodes {
namespace {

const std::string kNode = "0123456789abcdef";
const std::string kSecret = "fedcba9876543210";

// The handlers over a state in memory with one node, on which one allocation runs.
class NodeHandlers : public ::testing::Test {
 protected:
  NodeHandlers() {
    const Table<v1::Allocation> alloc_rows(host_.rows().add_table(allocs_table().spec()));
    host_.rows().add_table(jobs_table().spec());
    host_.rows().add_table(job_versions_table().spec());
    pools_ = Table<v1::NodePool>(host_.rows().add_table(node_pools_table().spec()));
    EXPECT_TRUE(declare_tables(host_.rows(), nodes_).ok());
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(registry_.declare(host_.rows()).ok());
    EXPECT_TRUE(introductions_.start(host_, {}).ok());
    EXPECT_TRUE(rpc_.start(host_).ok());
    EXPECT_TRUE(registry_.start(host_, {}).ok());
    host_.commit([&](WriteTransaction& rows) {
      v1::Node node;
      node.set_id(kNode);
      node.set_secret_id(kSecret);
      node.set_scheduling_eligibility("ineligible");
      node.set_modify_index(1);
      node.mutable_node_resources()->mutable_cpu()->set_cpu_shares(4000);
      node.mutable_node_resources()->mutable_memory()->set_memory_mb(8192);
      node.mutable_node_resources()->mutable_disk()->set_disk_mb(100'000);
      node.mutable_reserved_resources()->mutable_cpu()->set_cpu_shares(500);
      EXPECT_TRUE(nodes_.put(rows, node).ok());
      v1::Allocation alloc;
      alloc.set_id("aaaaaaaaaaaaaaaa");
      alloc.set_node_id(kNode);
      alloc.set_namespace_("default");
      alloc.set_job_id("web");
      alloc.set_client_status(v1::CLIENT_STATUS_RUNNING);
      EXPECT_TRUE(alloc_rows.put(rows, alloc).ok());
    });
  }

  Result<v1::NodeUpdateResponse> change(const std::string& method, const auto& request) {
    return host_.answer<v1::NodeUpdateResponse>("/drover.v1.Nodes/" + method, request);
  }
  Result<v1::NodeUpdateResponse> set_eligibility(const std::string& eligibility) {
    v1::NodeEligibilityRequest request;
    request.set_node_id(kNode);
    request.set_eligibility(eligibility);
    return change("Eligibility", request);
  }
  static v1::Node known_node() {
    v1::Node node;
    node.set_id(kNode);
    node.set_secret_id(kSecret);
    node.set_name("one");
    node.set_datacenter("dc1");
    return node;
  }
  // So many evaluations follow when it registers; then it is ready.
  size_t evaluations_after(const v1::Node& node) {
    v1::RegisterNodeRequest request;
    *request.mutable_node() = node;
    const size_t before = evaluations().size();
    EXPECT_TRUE(host_.answer<v1::HeartbeatResponse>("/drover.v1.NodeRegistry/Register", request).ok());
    host_.commit([&](WriteTransaction& rows) {
      auto row = nodes_.get(rows, kNode);
      row->set_status(v1::NODE_STATUS_READY);
      EXPECT_TRUE(nodes_.put(rows, *row).ok());
    });
    return evaluations().size() - before;
  }
  static v1::NodeRequest this_node() {
    v1::NodeRequest request;
    request.set_node_id(kNode);
    return request;
  }
  // The evaluations that their owner was told of beside the node's commands.
  std::vector<v1::Evaluation> evaluations() {
    std::vector<v1::Evaluation> all;
    for (const v1::EvalsUpdated& told : host_.rows().told<v1::EvalsUpdated>()) {
      all.insert(all.end(), told.evaluations().begin(), told.evaluations().end());
    }
    return all;
  }

  drover::testing::FakeHost host_;
  Table<v1::NodePool> pools_;
  Table<v1::Node> nodes_;
  Introductions introductions_;
  Rpc rpc_{nodes_, introductions_};
  Registry registry_{nodes_, introductions_};
};

TEST_F(NodeHandlers, AnEligibleNodeEvaluatesItsJobsAgain) {
  const auto answer = set_eligibility("eligible");
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_EQ(answer->eval_ids_size(), 1);
  EXPECT_EQ(answer->eval_create_index(), answer->node_modify_index());
  ASSERT_EQ(evaluations().size(), 1U);
  EXPECT_EQ(evaluations()[0].id(), answer->eval_ids(0));
  EXPECT_EQ(evaluations()[0].job_id(), "web");
  EXPECT_EQ(evaluations()[0].triggered_by(), "node-update");

  EXPECT_EQ(set_eligibility("ineligible")->eval_ids_size(), 0);
}

TEST_F(NodeHandlers, WhatANodeIsAlreadyChangesNothing) {
  const uint64_t before = host_.snapshot()->index();
  const auto answer = set_eligibility("ineligible");
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(host_.snapshot()->index(), before);
}

TEST_F(NodeHandlers, ANodesPurgeIsOneEntry) {
  const uint64_t before = host_.snapshot()->index();
  const auto answer = change("Purge", this_node());
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(host_.snapshot()->index(), before + 1);
  EXPECT_EQ(host_.proposed(), std::vector<std::string>{"drover.v1.NodesDeleted"});
  EXPECT_FALSE(nodes_.get(*host_.snapshot(), kNode));
  ASSERT_EQ(evaluations().size(), 1U);
  EXPECT_EQ(answer->eval_ids(0), evaluations()[0].id());
  EXPECT_EQ(answer->eval_create_index(), before + 1);
}

TEST_F(NodeHandlers, EvaluateLooksAtTheNodesJobs) {
  std::vector<std::string> evaluated;
  const auto apply = [&](std::string_view bytes, ApplyContext&) -> Result<std::string> {
    DROVER_TRY(const auto command, parse_message<v1::EvalsUpdated>(bytes));
    for (const v1::Evaluation& eval : command.evaluations()) evaluated.push_back(eval.id());
    return std::string();
  };
  ASSERT_TRUE(host_.rows().command("drover.v1.EvalsUpdated", apply).ok());
  const auto answer = change("Evaluate", this_node());
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_EQ(answer->eval_ids_size(), 1);
  EXPECT_EQ(evaluated, std::vector<std::string>{answer->eval_ids(0)});
  EXPECT_EQ(answer->node_modify_index(), 1U);
  v1::NodeRequest unknown;
  unknown.set_node_id(Uuid::random().bytes());
  EXPECT_EQ(change("Evaluate", unknown).status().to_string(), "not_found: node not found");
}

TEST_F(NodeHandlers, ANodeIsShownWithTheOlderFormsOfItsResources) {
  const auto answer = host_.answer<v1::NodeResponse>("/drover.v1.Nodes/Get", this_node());
  ASSERT_TRUE(answer.ok());
  const std::string json = message_to_json(answer->node());
  for (const char* part :
       {R"("Resources":{"CPU":4000,"Cores":0,"MemoryMB":8192,"MemoryMaxMB":0,"DiskMB":100000,"IOPS":0,)",
        R"("Reserved":{"CPU":500,"Cores":0,"MemoryMB":0,)", R"("LastDrain":null)", R"("HostVolumes":{})",
        R"("HostNetworks":{})", R"("CSIControllerPlugins":{})", R"("CSINodePlugins":{})", R"("Links":{})",
        R"("Cpu":{"CpuShares":500,"ReservedCpuCores":null})", R"("SecretID":"")"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
  }
}

TEST_F(NodeHandlers, OtherHostVolumesHaveItsJobsLookedAtAgain) {
  v1::Node node = known_node();
  evaluations_after(node);
  EXPECT_EQ(evaluations_after(node), 0U) << "as before";
  v1::HostVolume& volume = (*node.mutable_host_volumes())["data"];
  volume.set_name("data");
  EXPECT_EQ(evaluations_after(node), 1U) << "one more";
  volume.set_read_only(true);
  EXPECT_EQ(evaluations_after(node), 1U) << "another one";
  node.clear_host_volumes();
  EXPECT_EQ(evaluations_after(node), 1U) << "none";
}

TEST_F(NodeHandlers, OtherStoragePluginsHaveItsJobsLookedAtAgain) {
  v1::Node node = known_node();
  evaluations_after(node);
  v1::CsiInfo& plugin = (*node.mutable_csi_node_plugins())["disks"];
  plugin.set_plugin_id("disks");
  EXPECT_EQ(evaluations_after(node), 1U) << "one more";
  plugin.set_healthy(true);
  EXPECT_EQ(evaluations_after(node), 1U) << "it is healthy now";
  plugin.set_update_time(7);
  EXPECT_EQ(evaluations_after(node), 0U) << "it said the same later";
  (*node.mutable_csi_controller_plugins())["disks"] = plugin;
  EXPECT_EQ(evaluations_after(node), 1U) << "a controller";
  node.clear_csi_node_plugins();
  EXPECT_EQ(evaluations_after(node), 1U) << "no node plugin";
}

TEST_F(NodeHandlers, OnlyItsOwnSecretProvesANode) {
  const auto prove = [&](const std::string& node, const std::string& secret) {
    v1::NodeProof proof;
    proof.set_node_id(node);
    proof.set_secret_id(secret);
    return host_.answer<v1::NodeProofResponse>("/drover.v1.NodeRegistry/Prove", proof).status().to_string();
  };
  const uint64_t before = host_.snapshot()->index();
  EXPECT_EQ(prove(kNode, kSecret), "ok");
  for (const std::string& wrong : {std::string(), std::string("fedcba9876543211"), kSecret.substr(1), kSecret + "0"}) {
    EXPECT_EQ(prove(kNode, wrong), "permission_denied: the node does not prove who it is") << wrong;
  }
  EXPECT_EQ(prove("another one's id", kSecret), "not_found: node not found");
  EXPECT_EQ(host_.snapshot()->index(), before);
}

TEST_F(NodeHandlers, ANodeBringsItsPoolWithIt) {
  const struct {
    const char* pool;
    const char* error;
    const char* ensured;
  } cases[] = {
      {"", "ok", ""},
      {"default", "ok", ""},
      {"gpu", "ok", "gpu"},
      {"all", "invalid_argument: node is not allowed to register in node pool \"all\"", ""},
      {"a b", "invalid_argument: node is not allowed to register in node pool \"a b\"", ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.pool);
    v1::RegisterNodeRequest request;
    v1::Node& node = *request.mutable_node();
    node.set_id("abcdefghijklmnop");
    node.set_secret_id(kSecret);
    node.set_name("one");
    node.set_datacenter("dc1");
    node.set_node_pool(c.pool);
    const size_t before = host_.rows().told<v1::NodePoolsEnsured>().size();
    EXPECT_EQ(host_.answer<v1::HeartbeatResponse>("/drover.v1.NodeRegistry/Register", request).status().to_string(),
              c.error);
    const auto told = host_.rows().told<v1::NodePoolsEnsured>();
    ASSERT_EQ(told.size() - before, *c.ensured ? 1U : 0U);
    if (*c.ensured) {
      EXPECT_EQ(told.back().node_pools(0).name(), c.ensured);
    }
  }
}

TEST_F(NodeHandlers, APoolsNodesAreListed) {
  host_.commit([&](WriteTransaction& rows) {
    for (const char* name : {"all", "default", "gpu"}) {
      v1::NodePool pool;
      pool.set_name(name);
      EXPECT_TRUE(pools_.put(rows, pool).ok());
    }
    v1::Node node;
    node.set_id("gpugpugpugpugpug");
    node.set_node_pool("gpu");
    EXPECT_TRUE(nodes_.put(rows, node).ok());
  });
  const auto nodes = [&](const std::string& pool) {
    v1::ListNodesOfPoolRequest request;
    request.set_name(pool);
    const auto answer = host_.answer<v1::ListNodesResponse>("/drover.v1.Nodes/OfPool", request);
    if (!answer) return answer.status().to_string();
    std::string ids;
    for (const auto& node : answer->nodes()) ids += node.id().substr(0, 3) + " ";
    return ids;
  };
  EXPECT_EQ(nodes("gpu"), "gpu ");
  EXPECT_EQ(nodes("default"), "012 ");
  EXPECT_EQ(nodes("all"), "012 gpu ");
  EXPECT_EQ(nodes("none"), "not_found: node pool not found");
}

}  // namespace
}  // namespace drover::nodes
