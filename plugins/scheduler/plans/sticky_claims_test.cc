#include "plans/sticky_claims.h"

#include <gtest/gtest.h>

#include "drover/v1/host_volume.pb.h"
#include "scheduler.pb.h"
#include "testing/shell.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

class StickyClaims : public testing::ShellTest {
 protected:
  StickyClaims() {
    v1::VolumeRequest& request = (*job_.mutable_task_groups(0)->mutable_volumes())["v"];
    request.set_type("host");
    request.set_source("data");
    request.set_sticky(true);
    put(job_);
    v1::Node node = make_node("n1");
    v1::HostVolume& offered = (*node.mutable_host_volumes())["data"];
    offered.set_name("data");
    offered.set_id(id_of("vol"));
    put(node);
    v1::Node plain = make_node("n2");
    (*plain.mutable_host_volumes())["data"].set_name("data");
    put(plain);
    for (const char* name : {"n1", "n2"}) *command_.add_placed() = make_alloc(job_, 0, name);
  }
  void put_volume() {
    v1::DynamicHostVolume volume;
    volume.set_id(id_of("vol"));
    volume.set_namespace_("default");
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(host_volumes_.put(rows, volume).ok()); });
  }
  v1::HostVolumesClaimed claims() { return sticky_claims_of(command_, *host_.snapshot(), tables_); }

  v1::Job job_ = make_job();
  v1::PlanApplied command_;
};

TEST_F(StickyClaims, AreOfDynamicVolumesOnly) {
  EXPECT_EQ(claims().claims_size(), 0) << "the cluster keeps none";
  put_volume();
  const v1::HostVolumesClaimed found = claims();
  ASSERT_EQ(found.claims_size(), 1) << "the other node's is of its configuration";
  const v1::HostVolumeClaim& claim = found.claims(0);
  EXPECT_EQ(claim.id().size(), 16U);
  EXPECT_EQ(claim.volume_id(), id_of("vol"));
  EXPECT_EQ(claim.volume_name(), "data");
  EXPECT_EQ(claim.alloc_id(), command_.placed(0).id());
  EXPECT_EQ(claim.task_group_name(), "app");
}

TEST_F(StickyClaims, OfAJobThatComesWithThePlanToo) {
  put_volume();
  v1::Job next = job_;
  next.set_version(1);
  for (v1::Allocation& alloc : *command_.mutable_placed()) alloc.set_job_version(1);
  EXPECT_EQ(claims().claims_size(), 0) << "of whom nothing is known";
  *command_.mutable_registration()->mutable_job() = next;
  EXPECT_EQ(claims().claims_size(), 1);
  command_.mutable_registration()->mutable_job()->mutable_task_groups(0)->mutable_volumes()->at("v").set_sticky(false);
  EXPECT_EQ(claims().claims_size(), 0);
}

TEST_F(StickyClaims, ArePartOfThePlan) {
  put_volume();
  *command_.mutable_host_volume_claims() = claims();
  ASSERT_TRUE(host_.propose(command_, SteadyTime::max()).ok());
  const auto told = host_.rows().told<v1::HostVolumesClaimed>();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].claims(0).volume_id(), id_of("vol"));
}

}  // namespace
}  // namespace drover::scheduler
