#include "server/rules.h"

#include <gtest/gtest.h>

#include <functional>

#include "drover/api/host_volumes.pb.h"
#include "drover/v1/host_volume.pb.h"

namespace drover::host_volumes {
namespace {

using Said = v1::DescribedHostVolume;

Said said() {
  Said said;
  said.set_name("data");
  said.set_namespace_("default");
  return said;
}

void add_mode(Said& said, const char* access, const char* attachment) {
  said.add_requested_capabilities()->set_access_mode(access);
  said.mutable_requested_capabilities()->rbegin()->set_attachment_mode(attachment);
}

TEST(HostVolumeRules, WhatIsWrongIsNamed) {
  struct Case {
    const char* wrong;  // empty: nothing
    std::function<void(Said&)> edit;
    Purpose purpose = Purpose::creating;
  };
  const Case cases[] = {
      {"", [](Said&) {}},
      {"missing name", [](Said& s) { s.clear_name(); }},
      {"name has control characters", [](Said& s) { s.set_name("a\nb"); }},
      {"name is longer than 128 bytes", [](Said& s) { s.set_name(std::string(129, 'a')); }},
      {"invalid plugin ID \"../x\": it is the name of a file", [](Said& s) { s.set_plugin_id("../x"); }},
      {"invalid plugin ID \"..\": it is the name of a file", [](Said& s) { s.set_plugin_id(".."); }},
      {"a capacity is below zero", [](Said& s) { s.set_requested_capacity_min_bytes(-1); }},
      {"capacity_max (5) must be larger than capacity_min (6)",
       [](Said& s) {
         s.set_requested_capacity_max_bytes(5);
         s.set_requested_capacity_min_bytes(6);
       }},
      {"invalid access mode: \"multi-node-multi-writer\"",
       [](Said& s) { add_mode(s, "multi-node-multi-writer", "file-system"); }},
      {"invalid attachment mode: \"\"", [](Said& s) { add_mode(s, "single-node-writer", ""); }},
      {"invalid constraint distinct_hosts: host volumes of the same name are always on distinct hosts",
       [](Said& s) { s.add_constraints()->set_operand("distinct_hosts"); }},
      {"cannot register volume: node ID is required; cannot register volume: host path is required", [](Said&) {},
       Purpose::registering},
      {"host path must be an absolute path",
       [](Said& s) {
         s.set_node_id(std::string(16, 'n'));
         s.set_host_path("srv");
       },
       Purpose::registering},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.wrong);
    Said given = said();
    c.edit(given);
    const Status status = check_volume(given, c.purpose);
    EXPECT_EQ(status.message(), *c.wrong ? "volume validation failed: " + std::string(c.wrong) : "");
  }
}

TEST(HostVolumeRules, ANewOneHasTheUsual) {
  const v1::DynamicHostVolume made = new_volume(said(), Purpose::creating);
  EXPECT_EQ(made.plugin_id(), "mkdir");
  ASSERT_EQ(made.requested_capabilities_size(), 1);
  EXPECT_EQ(made.requested_capabilities(0).access_mode(), "single-node-writer");
  EXPECT_EQ(made.requested_capabilities(0).attachment_mode(), "file-system");
  Said there = said();
  there.set_host_path("/srv");
  there.set_capacity_bytes(9);
  const v1::DynamicHostVolume known = new_volume(there, Purpose::registering);
  EXPECT_TRUE(known.is_registered());
  EXPECT_EQ(known.plugin_id(), "");
  EXPECT_EQ(known.host_path(), "/srv");
  EXPECT_EQ(known.capacity(), 9);
}

TEST(HostVolumeRules, AChangeKeepsItsPlace) {
  v1::DynamicHostVolume row = new_volume(said(), Purpose::creating);
  row.set_node_id(std::string(16, 'n'));
  row.set_node_pool("default");
  row.set_capacity(100);
  Said next = said();
  next.set_requested_capacity_max_bytes(200);
  (*next.mutable_parameters())["mode"] = "0755";
  const auto changed = changed_volume(row, next, Purpose::creating);
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_EQ(changed->requested_capacity_max(), 200);
  EXPECT_EQ(changed->parameters().at("mode"), "0755");
  EXPECT_EQ(changed->requested_capabilities_size(), 1) << "as before";

  next.set_name("other");
  next.set_node_id(std::string(16, 'o'));
  next.set_node_pool("gpu");
  next.set_plugin_id("lvm");
  next.set_requested_capacity_max_bytes(99);
  EXPECT_EQ(
      changed_volume(row, next, Purpose::creating).status(),
      invalid_argument("validating volume update failed: name cannot be updated; node ID cannot be updated; node pool "
                       "cannot be updated; plugin ID cannot be updated; capacity_max (99) cannot be less than "
                       "existing provisioned capacity (100)"));
  EXPECT_EQ(changed_volume(row, said(), Purpose::registering).status(),
            invalid_argument("validating volume update failed: it was created, and is created again rather than "
                             "registered"));
}

}  // namespace
}  // namespace drover::host_volumes
