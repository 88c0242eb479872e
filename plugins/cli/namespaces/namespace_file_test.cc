#include "namespaces/namespace_file.h"

#include <gtest/gtest.h>

#include "drover/api/namespaces.pb.h"
#include "drover/json.h"

namespace drover::cli {
namespace {

constexpr const char* kFile = R"(
  name        = "prod"
  description = "What customers see"

  meta {
    owner = "web"
  }
  capabilities {
    enabled_task_drivers   = ["docker", "exec"]
    disabled_task_drivers  = ["raw_exec"]
    disabled_network_modes = ["host"]
  }
)";

TEST(NamespaceFile, SaysWhatANamespaceIs) {
  const auto spec = read_namespace_file("prod.hcl", kFile);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const auto same = read_namespace_json(R"({"Name":"prod","Description":"What customers see","Meta":{"owner":"web"},
      "Capabilities":{"EnabledTaskDrivers":["docker","exec"],"DisabledTaskDrivers":["raw_exec"],
                      "DisabledNetworkModes":["host"]}})");
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_EQ(message_to_json(*spec), message_to_json(*same));
}

TEST(NamespaceFile, WhatItLeavesOutIsNotSaid) {
  const auto spec = read_namespace_file("prod.hcl", R"(name = "prod")");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_FALSE(spec->has_capabilities());
  EXPECT_TRUE(spec->meta().empty());
}

TEST(NamespaceFile, ErrorsNameTheirPlace) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"name = \"a\"\ndescriptoin = \"x\"", "ns.hcl:2"},
      {"name = \"a\"\ncapabilities {\n  enabled_drivers = [\"exec\"]\n}", "ns.hcl:3"},
      {"name = \"a\"\nnode_pool_config {\n  default = \"gpu\"\n}", "Node Pools Governance is unlicensed."},
      {"name = \"a\"\nvault {\n  default = \"v\"\n}", "Multi-Cluster Vault is unlicensed."},
      {"name = \"a\"\nconsul {\n  default = \"c\"\n}", "Multi-Cluster Consul is unlicensed."},
      {"description = \"x\"", "ns.hcl: says no name"},
      {"name = ", "ns.hcl:1"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const auto spec = read_namespace_file("ns.hcl", c.text);
    ASSERT_FALSE(spec.ok());
    EXPECT_NE(spec.status().message().find(c.error), std::string::npos) << spec.status().message();
  }
  EXPECT_FALSE(read_namespace_json("{").ok());
  EXPECT_FALSE(read_namespace_json(R"({"Name":7})").ok());
}

}  // namespace
}  // namespace drover::cli
