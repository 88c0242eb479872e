#include "feasibility.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::make_job;
using testing::make_node;

TEST(Feasibility, NamesTheReason) {
  v1::Job job = make_job();
  v1::Constraint& constraint = *job.add_constraints();
  constraint.set_l_target("${attr.kernel.name}");
  constraint.set_operand("=");
  constraint.set_r_target("windows");
  EXPECT_EQ(Feasibility(job, job.task_groups(0)).check(make_node("n1")), "${attr.kernel.name} = windows");

  v1::Node driverless = make_node("n2");
  driverless.mutable_drivers()->at("mock").set_healthy(false);
  const v1::Job plain = make_job();
  EXPECT_EQ(Feasibility(plain, plain.task_groups(0)).check(driverless), "missing drivers");

  v1::Job bridged = make_job();
  bridged.mutable_task_groups(0)->add_networks()->set_mode("bridge");
  EXPECT_EQ(Feasibility(bridged, bridged.task_groups(0)).check(make_node("n3")), "missing network");
}

TEST(Feasibility, AsksOnceAClassUnlessAConstraintEscapesIt) {
  v1::Job job = make_job();
  v1::Constraint& constraint = *job.add_constraints();
  constraint.set_l_target("${node.unique.name}");
  constraint.set_operand("=");
  constraint.set_r_target("n1");
  v1::Node first = make_node("n1");
  v1::Node second = make_node("n2");
  second.set_computed_class(first.computed_class());
  Feasibility feasibility(job, job.task_groups(0));

  EXPECT_TRUE(feasibility.escaped());
  EXPECT_EQ(feasibility.check(first), "");
  EXPECT_NE(feasibility.check(second), "");
}

TEST(Feasibility, F4ADriverIsDetectedAndHealthy) {
  struct Case {
    const char* name;
    std::function<void(v1::Node&)> change;
    const char* reason;
  };
  const auto only_attribute = [](const char* value) {
    return [value](v1::Node& node) {
      node.clear_drivers();
      (*node.mutable_attributes())["driver.mock"] = value;
    };
  };
  const Case cases[] = {
      {"healthy", [](v1::Node&) {}, ""},
      {"unhealthy", [](v1::Node& node) { node.mutable_drivers()->at("mock").set_healthy(false); }, "missing drivers"},
      {"gone", [](v1::Node& node) { node.mutable_drivers()->at("mock").set_detected(false); }, "missing drivers"},
      {"an attribute only", only_attribute("1"), ""},
      {"an attribute, true", only_attribute("True"), ""},
      {"an attribute that is no boolean", only_attribute("x"), "missing drivers"},
      {"neither", [](v1::Node& node) { node.clear_drivers(); }, "missing drivers"}};
  const v1::Job job = make_job();
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Node node = make_node("n1");
    c.change(node);
    EXPECT_EQ(Feasibility(job, job.task_groups(0)).check(node), c.reason);
  }
}

TEST(Feasibility, F7TheFirstNetworkMustBeThere) {
  struct Case {
    const char* name;
    const char* mode;
    const char* host_network;
    const char* reason;
  };
  const Case cases[] = {
      {"the host's", "host", "", ""},
      {"none", "none", "", ""},
      {"no mode is the host's", "", "", ""},
      {"a bridge", "bridge", "", "missing network"},
      {"an alias", "host", "public", ""},
      {"an alias by a value of the node", "host", "${meta.net}", ""},
      {"no such alias", "host", "private", "missing host network \"private\" for port \"http\""},
      {"no such value", "host", "${meta.none}", "invalid host network \"${meta.none}\" template for port \"http\""}};
  v1::Node node = make_node("n1");
  (*node.mutable_meta())["net"] = "public";
  v1::NodeAddress& address = *node.mutable_node_resources()->add_node_networks()->add_addresses();
  address.set_alias("public");
  address.set_address("192.168.0.1");
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Job job = make_job();
    v1::NetworkResource& network = *job.mutable_task_groups(0)->add_networks();
    network.set_mode(c.mode);
    v1::Port& port = *network.add_dynamic_ports();
    port.set_label("http");
    port.set_host_network(c.host_network);
    EXPECT_EQ(Feasibility(job, job.task_groups(0)).check(node), c.reason);
  }
}

TEST(Feasibility, F5AHostVolumeIsThereAndMayBeWrittenIfItShall) {
  v1::Node node = make_node("n1");
  (*node.mutable_host_volumes())["data"].set_name("data");
  (*node.mutable_host_volumes())["certs"].set_read_only(true);
  const char* const missing = "missing compatible host volumes";
  const struct {
    const char* name;
    const char* type;
    const char* source;
    bool read_only;
    const char* reason;
  } cases[] = {{"there", "host", "data", false, ""},
               {"there, to be read", "host", "data", true, ""},
               {"not there", "host", "none", true, missing},
               {"read-only, to be read", "host", "certs", true, ""},
               {"read-only, to be written", "host", "certs", false, missing},
               {"of another type", "csi", "none", false, ""}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Job job = make_job();
    v1::VolumeRequest& volume = (*job.mutable_task_groups(0)->mutable_volumes())["v"];
    volume.set_type(c.type);
    volume.set_source(c.source);
    volume.set_read_only(c.read_only);
    EXPECT_EQ(Feasibility(job, job.task_groups(0)).check(node), c.reason);
  }
}

TEST(Feasibility, F5OfEachAllocationTheHostVolumeIsItsOwn) {
  v1::Node node = make_node("n1");
  (*node.mutable_host_volumes())["data[3]"].set_name("data[3]");
  v1::Job job = make_job();
  v1::VolumeRequest& volume = (*job.mutable_task_groups(0)->mutable_volumes())["v"];
  volume.set_type("host");
  volume.set_source("data");
  volume.set_per_alloc(true);
  Feasibility feasibility(job, job.task_groups(0));
  EXPECT_EQ(feasibility.check(node), "missing compatible host volumes");
  EXPECT_TRUE(feasibility.ask_for("web.app[3]"));
  EXPECT_EQ(feasibility.check(node), "");
  EXPECT_FALSE(feasibility.ask_for("web.app[3]")) << "as before";
  EXPECT_TRUE(feasibility.ask_for("web.app[4]"));
  EXPECT_EQ(feasibility.check(node), "missing compatible host volumes");
}

TEST(Feasibility, TheJobsConstraintsComeBeforeDriversAndTheGroupsAfter) {
  v1::Constraint never;
  never.set_l_target("a");
  never.set_operand("=");
  never.set_r_target("b");
  v1::Node node = make_node("n1");
  node.clear_drivers();
  v1::Job job = make_job();
  *job.mutable_task_groups(0)->add_constraints() = never;
  EXPECT_EQ(Feasibility(job, job.task_groups(0)).check(node), "missing drivers");
  *job.add_constraints() = never;
  EXPECT_EQ(Feasibility(job, job.task_groups(0)).check(node), "a = b");
}

TEST(Feasibility, F11AClassThatTheJobRefusesIsRefusedForEveryGroup) {
  v1::Job job = make_job();
  v1::Constraint& constraint = *job.add_constraints();
  constraint.set_l_target("${attr.kernel.name}");
  constraint.set_operand("=");
  constraint.set_r_target("windows");
  Feasibility feasibility(job, job.task_groups(0));
  feasibility.check(make_node("n1"));
  EXPECT_EQ(feasibility.classes(), (std::map<std::string, bool>{{"v1:n1", false}}));
}

}  // namespace
}  // namespace drover::scheduler
