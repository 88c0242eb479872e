#include "feasibility.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace drover::scheduler
