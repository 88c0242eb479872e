#include <gtest/gtest.h>

#include "drover/api/node_pools.pb.h"
#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/node_pool.pb.h"
#include "node_pools.pb.h"
#include "rpc.h"
#include "rules.h"
#include "sdk/testing/fake_host.h"
#include "tables.h"

namespace drover::node_pools {
namespace {

v1::NodePool pool_named(const std::string& name) {
  v1::NodePool pool;
  pool.set_name(name);
  return pool;
}

TEST(PoolRules, SayWhatIsWrong) {
  const struct {
    const char* name;
    const char* algorithm;
    size_t description;
    const char* error;
  } cases[] = {
      {"prod-eng_2", "", 256, ""},
      {"prod", "spread", 0, ""},
      {"", "", 0, "invalid name \"\""},
      {"a b", "", 0, "invalid name \"a b\""},
      {"é", "", 0, "invalid name"},
      {"prod", "best", 0, "invalid scheduler algorithm \"best\""},
      {"prod", "", 257, "description longer than 256 characters"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    v1::NodePool pool = pool_named(c.name);
    pool.mutable_scheduler_configuration()->set_scheduler_algorithm(c.algorithm);
    pool.set_description(std::string(c.description, 'x'));
    const Status status = check_pool(pool);
    EXPECT_EQ(status.ok(), *c.error == '\0') << status.message();
    EXPECT_NE(status.message().find(c.error), std::string::npos) << status.message();
  }
  EXPECT_FALSE(check_pool(pool_named(std::string(129, 'x'))).ok());
  v1::NodePool short_lived = pool_named("prod");
  short_lived.set_node_identity_ttl(59'000'000'000);
  EXPECT_EQ(check_pool(short_lived).message(), "invalid node pool: node_identity_ttl must be at least 1m");
  short_lived.set_node_identity_ttl(60'000'000'000);
  EXPECT_TRUE(check_pool(short_lived).ok());
  for (const v1::NodePool& pool : built_in_pools()) EXPECT_TRUE(check_pool(pool).ok() && is_built_in(pool.name()));
}

class Pools : public ::testing::Test {
 protected:
  Pools() {
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    // Their plugins come later.
    nodes_ = Table<v1::Node>(host_.rows().add_table(nodes_table().spec()));
    jobs_ = Table<v1::Job>(host_.rows().add_table(jobs_table().spec()));
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    v1::NodePoolsEnsured built_in;
    for (v1::NodePool& pool : built_in_pools()) *built_in.add_node_pools() = std::move(pool);
    EXPECT_TRUE(host_.propose(built_in, SteadyTime::max()).ok());
  }

  std::string apply(const v1::NodePool& pool, const std::string& path_name = "") {
    v1::ApplyNodePoolRequest request;
    *request.mutable_node_pool() = pool;
    request.set_name(path_name);
    return host_.answer<v1::ApplyNodePoolResponse>("/drover.v1.NodePools/Apply", request).status().to_string();
  }
  std::string erase(const std::string& name) {
    v1::NodePoolRequest request;
    request.set_name(name);
    return host_.answer<v1::DeleteNodePoolResponse>("/drover.v1.NodePools/Delete", request).status().to_string();
  }
  Result<v1::NodePoolResponse> get(const std::string& name) {
    v1::NodePoolRequest request;
    request.set_name(name);
    return host_.answer<v1::NodePoolResponse>("/drover.v1.NodePools/Get", request);
  }
  std::string names(QueryOptions query = {}, ReplyMeta* meta = nullptr) {
    const auto answer = host_.answer<v1::ListNodePoolsResponse>("/drover.v1.NodePools/List", v1::ListNodePoolsRequest(),
                                                                std::move(query), meta);
    if (!answer) return answer.status().message();
    std::string text;
    for (const v1::NodePool& pool : answer->node_pools()) text += (text.empty() ? "" : " ") + pool.name();
    return text;
  }
  void add_node(const std::string& pool) {
    host_.commit([&](WriteTransaction& rows) {
      v1::Node node;
      node.set_id("nnnnnnnnnnnnnnnn");
      node.set_node_pool(pool);
      EXPECT_TRUE(nodes_.put(rows, node).ok());
    });
  }
  void add_job(const std::string& pool, v1::JobStatus status) {
    host_.commit([&](WriteTransaction& rows) {
      v1::Job job;
      job.set_namespace_("default");
      job.set_id("web");
      job.set_node_pool(pool);
      job.set_status(status);
      EXPECT_TRUE(jobs_.put(rows, job).ok());
    });
  }

  drover::testing::FakeHost host_;
  Tables tables_;
  Table<v1::Node> nodes_;
  Table<v1::Job> jobs_;
  Rpc rpc_{tables_};
};

TEST_F(Pools, AreCreatedChangedAndDeleted) {
  v1::NodePool pool = pool_named("prod");
  pool.set_description("first");
  EXPECT_EQ(apply(pool), "ok");
  const auto first = get("prod");
  ASSERT_TRUE(first.ok());
  pool.set_description("second");
  pool.set_create_index(77);  // the servers' own
  EXPECT_EQ(apply(pool, "prod"), "ok");
  const auto second = get("prod");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->node_pool().description(), "second");
  EXPECT_EQ(second->node_pool().create_index(), first->node_pool().create_index());
  EXPECT_GT(second->node_pool().modify_index(), first->node_pool().modify_index());
  EXPECT_EQ(erase("prod"), "ok");
  EXPECT_EQ(get("prod").status().to_string(), "not_found: node pool not found");
  EXPECT_EQ(erase("prod"), "not_found: node pool not found");
}

TEST_F(Pools, OfThePathOrTheBody) {
  EXPECT_EQ(apply(pool_named("a"), "b"), "invalid_argument: Node pool name does not match request path");
  EXPECT_EQ(apply(pool_named(""), "b"), "ok");
  EXPECT_EQ(names(), "all b default");
}

TEST_F(Pools, ThatEveryClusterHasStayAsTheyAre) {
  EXPECT_EQ(apply(pool_named("default")), "invalid_argument: modifying node pool \"default\" is not allowed");
  EXPECT_EQ(erase("all"), "invalid_argument: deleting node pool \"all\" is not allowed");
  EXPECT_EQ(names(), "all default");
}

TEST_F(Pools, ComeWithTheirNodesAndStayWhatTheyWere) {
  v1::NodePool described = pool_named("gpu");
  described.set_description("cards");
  EXPECT_EQ(apply(described), "ok");
  v1::NodePoolsEnsured command;
  *command.add_node_pools() = pool_named("gpu");
  *command.add_node_pools() = pool_named("new");
  ASSERT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  EXPECT_EQ(names(), "all default gpu new");
  EXPECT_EQ(get("gpu")->node_pool().description(), "cards");
}

TEST_F(Pools, AreNotDeletedWhileTheyAreUsed) {
  EXPECT_EQ(apply(pool_named("prod")), "ok");
  EXPECT_EQ(apply(pool_named("prod2")), "ok");
  add_node("prod");
  EXPECT_EQ(erase("prod"),
            "invalid_argument: node pool \"prod\" has nodes; move them to another pool before you delete it");
  EXPECT_EQ(erase("prod2"), "ok");
  add_node("");
  add_job("prod", v1::JOB_STATUS_PENDING);
  EXPECT_EQ(erase("prod"),
            "invalid_argument: node pool \"prod\" has non-terminal jobs, such as \"web\" in namespace \"default\"");
  add_job("prod", v1::JOB_STATUS_DEAD);
  EXPECT_EQ(erase("prod"), "ok");
}

TEST_F(Pools, AreNotDeletedByTheLogWhenANodeCameMeanwhile) {
  EXPECT_EQ(apply(pool_named("prod")), "ok");
  add_node("prod");
  v1::NodePoolDeleted command;
  command.set_name("prod");
  EXPECT_FALSE(host_.propose(command, SteadyTime::max()).ok());
  EXPECT_TRUE(get("prod").ok());
}

TEST_F(Pools, AreListedByPrefixFilterAndPage) {
  for (const char* name : {"prod-a", "prod-b", "test"}) {
    v1::NodePool pool = pool_named(name);
    (*pool.mutable_meta())["env"] = std::string(name).substr(0, 4);
    EXPECT_EQ(apply(pool), "ok");
  }
  QueryOptions query;
  query.prefix = "prod";
  EXPECT_EQ(names(query), "prod-a prod-b");
  query = {};
  query.filter = "Meta.env == test";
  EXPECT_EQ(names(query), "test");
  query = {};
  query.per_page = 2;
  ReplyMeta meta;
  EXPECT_EQ(names(query, &meta), "all default");
  EXPECT_EQ(meta.next_token, "prod-a");
  query.next_token = meta.next_token;
  EXPECT_EQ(names(query, &meta), "prod-a prod-b");
  EXPECT_EQ(meta.next_token, "test");
  query.reverse = true;
  query.next_token = "default";
  EXPECT_EQ(names(query), "default all");
}

}  // namespace
}  // namespace drover::node_pools
