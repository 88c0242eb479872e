#include "nodes/pool_file.h"

#include <gtest/gtest.h>

#include "drover/json.h"
#include "drover/v1/node_pool.pb.h"

namespace drover::cli {
namespace {

TEST(PoolFile, SaysWhatAPoolIs) {
  const auto pool = read_pool_file("pool.hcl", R"(
    node_pool "gpu" {
      description = "Machines with cards"
      meta { team = "ml" }
      node_identity_ttl = "1h"
      scheduler_config {
        scheduler_algorithm             = "spread"
        memory_oversubscription_enabled = false
      }
    })");
  ASSERT_TRUE(pool.ok()) << pool.status().message();
  EXPECT_EQ(
      message_to_json(*pool),
      R"({"Name":"gpu","Description":"Machines with cards","Meta":{"team":"ml"},"SchedulerConfiguration":)"
      R"({"SchedulerAlgorithm":"spread","MemoryOversubscriptionEnabled":false},"CreateIndex":0,"ModifyIndex":0,)"
      R"("NodeIdentityTTL":3600000000000})");
}

TEST(PoolFile, WhatItLeavesOutIsAsForAll) {
  const auto pool = read_pool_file("pool.hcl", R"(node_pool "gpu" {})");
  ASSERT_TRUE(pool.ok()) << pool.status().message();
  EXPECT_FALSE(pool->has_scheduler_configuration());
  EXPECT_EQ(pool->name(), "gpu");
}

TEST(PoolFile, ExamplesCanBeRead) {
  const auto hcl = read_pool_file("example", kPoolExample);
  ASSERT_TRUE(hcl.ok()) << hcl.status().message();
  const auto json = read_pool_json(kPoolExampleJson);
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ(message_to_json(*hcl), message_to_json(*json));
}

TEST(PoolFile, ErrorsNameTheirPlace) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"node_pool \"a\" {\n  descriptoin = \"x\"\n}", "pool.hcl:2"},
      {"node_pool \"a\" { scheduler_config { scheduler_algorithm = \"best\" } }", "binpack"},
      {"node_pool \"a\" {}\nnode_pool \"b\" {}", "describes 2 node pools"},
      {"", "describes 0 node pools"},
      {"node_pool {", "pool.hcl:1"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const auto pool = read_pool_file("pool.hcl", c.text);
    ASSERT_FALSE(pool.ok());
    EXPECT_NE(pool.status().message().find(c.error), std::string::npos) << pool.status().message();
  }
}

}  // namespace
}  // namespace drover::cli
